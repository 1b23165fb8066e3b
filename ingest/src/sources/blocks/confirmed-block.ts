import { askUntilAgreed } from '@sluice/shared/solana/rpc/quorum/ask-until-agreed.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';

/** Options of `getBlock`. */
export const wholeBlock = {
  encoding: 'json',
  transactionDetails: 'full',
  rewards: false,
  commitment: 'confirmed',
  maxSupportedTransactionVersion: 1,
};
/** A tenth of a block's bytes or less, and every provider of blocks offers it. */
const signaturesOnly = { ...wholeBlock, transactionDetails: 'signatures' };

/** If no answer arrives for this long, one more endpoint is asked. */
const hedgeAfterMs = 500;
/** How long to wait for the others after the first answer. */
const othersWithinMs = 1_000;

/** Errors of a node that serves blocks and says that the slot has none. */
const skippedCodes: ReadonlySet<number> = new Set([-32007, -32009]);
/** Errors of a node that serves blocks and does not have this one: not yet, or not any more. */
const missingCodes: ReadonlySet<number> = new Set([-32001, -32004, -32005, -32014, -32016, ...skippedCodes]);

/** A block at `confirmed`. Its identity is its hash: a slot can have several banks, of which one becomes the block. */
export interface ConfirmedBlock {
  readonly blockhash: string;
  readonly parentSlot: number;
  readonly signatures: ReadonlySet<string>;
}

/**
 * `contradicted`: endpoints show blocks with different hashes or transactions, and no majority shows the same. `skipped`: those that
 * answer say that the slot has no block. `missing`: endpoints serve blocks, but not this one. `refused`: no endpoint serves blocks. `unreachable`: no endpoint answered.
 */
export type BlockVerdict =
  | { readonly kind: 'agreed'; readonly block: ConfirmedBlock; readonly isMajority: boolean; readonly outvoted: number }
  | { readonly kind: 'contradicted' | 'skipped' | 'missing' | 'refused' | 'unreachable' };

/**
 * Reads the confirmed block of a slot. Endpoints vote on its hash and on its transactions together, so an endpoint that shows a block with fewer
 * or more transactions is one vote for another block. Never rejects.
 */
export async function readConfirmedBlock(rpcs: readonly Rpc[], slot: number, signal: AbortSignal): Promise<BlockVerdict> {
  let [refusals, answers] = [0, 0];
  const ask = async (endpoint: number): Promise<ConfirmedBlock | 'skipped' | null> => {
    try {
      const block = readBlock(await rpcs[endpoint]!.call('getBlock', [slot, signaturesOnly], signal));
      answers++;
      return block;
    } catch (error) {
      if (isRefusal(error)) refusals++;
      if (error instanceof RpcError && error.kind === 'answer') answers++;
      return isSkipped(error) ? 'skipped' : null;
    }
  };
  const verdict = await askUntilAgreed({ endpoints: [...rpcs.keys()], ask, agree: isSameAnswer, hedgeAfterMs, othersWithinMs });
  if (verdict.kind === 'agreed') {
    const block = verdict.votes[0]!.value;
    if (block !== 'skipped') return { kind: 'agreed', block, isMajority: verdict.isMajority, outvoted: verdict.outvoted.length };
    // Endpoints that answer with neither may only be a moment behind.
    return { kind: verdict.isMajority || verdict.votes.length === answers ? 'skipped' : 'missing' };
  }
  if (verdict.kind === 'contradicted') return { kind: 'contradicted' };
  return { kind: refusals === rpcs.length ? 'refused' : answers > 0 ? 'missing' : 'unreachable' };
}

function isSameAnswer(one: ConfirmedBlock | 'skipped', other: ConfirmedBlock | 'skipped'): boolean {
  return one === 'skipped' || other === 'skipped' ? one === other : isSameBlock(one, other);
}

/** Null if the answer is not a block with a list of signatures. */
export function readBlock(answer: unknown): ConfirmedBlock | null {
  if (!isRecord(answer)) return null;
  const { blockhash, parentSlot, signatures } = answer;
  if (typeof blockhash !== 'string' || !isSlot(parentSlot) || !Array.isArray(signatures)) return null;
  for (const signature of signatures) if (typeof signature !== 'string') return null;
  return { blockhash, parentSlot, signatures: new Set(signatures as string[]) };
}

export function isSameBlock(one: ConfirmedBlock, other: ConfirmedBlock): boolean {
  if (one === other) return true;
  if (one.blockhash !== other.blockhash || one.parentSlot !== other.parentSlot || one.signatures.size !== other.signatures.size)
    return false;
  for (const signature of one.signatures) if (!other.signatures.has(signature)) return false;
  return true;
}

/** Whether a node said that it serves no blocks. */
export const isRefusal = (error: unknown): boolean => error instanceof RpcError && error.kind === 'answer' && !missingCodes.has(error.code);

/** Whether a node that serves blocks said that it does not have this one. */
export const isMissing = (error: unknown): boolean => error instanceof RpcError && error.kind === 'answer' && missingCodes.has(error.code);

/** Whether a node said that the slot has no block. */
export const isSkipped = (error: unknown): boolean => error instanceof RpcError && error.kind === 'answer' && skippedCodes.has(error.code);
