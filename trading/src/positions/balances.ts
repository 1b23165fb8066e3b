import type { Balances } from '@sluice/followers/positions/wallet-state.ts';
import { isMoney } from '@sluice/followers/positions/wallet-trade.ts';
import { readOwned, type OwnedAccounts } from '@sluice/gateway/reads/wallets/wallet-reader.ts';
import { askUntilAgreed } from '@sluice/shared/solana/rpc/quorum/ask-until-agreed.ts';
import { reachedBy } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { SendNode } from '../nodes/nodes.ts';

const hedgeAfterMs = 300;
const othersWithinMs = 2_500;

export interface BalanceParts {
  readonly nodes: readonly Pick<SendNode, 'rpc'>[];
  /** The newest slot that an answer may have. */
  readonly newestSlot: () => number;
  readonly signal: AbortSignal;
}

/** What a wallet holds at a confirmed slot, without money, on which endpoints agree. `oldest`: the oldest usable slot. Null: they do not agree, or do not answer. */
export async function readBalances(parts: BalanceParts, wallet: string, oldest: number, atMs: number): Promise<Balances | null> {
  const read = await Promise.all([tokenProgram, token2022Program].map((program) => readProgram(parts, wallet, program, oldest)));
  const amounts = new Map<string, bigint>();
  for (const owned of read) {
    if (owned === null) return null;
    for (const { mint, amount } of owned.held) if (!isMoney(mint)) amounts.set(mint, (amounts.get(mint) ?? 0n) + amount);
  }
  const slots = read.map((owned) => owned!.slot);
  return { slot: Math.min(...slots), newestSlot: Math.max(...slots), amounts, atMs };
}

async function readProgram(parts: BalanceParts, wallet: string, programId: string, oldest: number): Promise<OwnedAccounts | null> {
  const { nodes, newestSlot, signal } = parts;
  const options = { encoding: 'base64', commitment: 'confirmed', minContextSlot: oldest };
  const verdict = await askUntilAgreed<OwnedAccounts>({
    endpoints: nodes.map((_, index) => index),
    ask: async (index) => {
      try {
        const answer = await nodes[index]!.rpc.call('getTokenAccountsByOwner', [wallet, { programId }, options], signal);
        const owned = await readOwned(answer, wallet, programId, newestSlot());
        return owned === null || owned.slot < oldest ? null : owned;
      } catch (error) {
        if (error instanceof RpcError) return null;
        throw error;
      }
    },
    agree: (one, other) => textOf(one) === textOf(other),
    hedgeAfterMs,
    othersWithinMs,
  });
  if (verdict.kind !== 'agreed') return null;
  return { ...verdict.votes[0]!.value, slot: reachedBy(verdict.votes.map(({ value }) => value.slot)) };
}

function textOf({ held }: OwnedAccounts): string {
  return held
    .map(({ mint, amount }) => `${mint} ${amount}`)
    .toSorted()
    .join();
}
