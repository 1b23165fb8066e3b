import { setImmediate as turn } from 'node:timers/promises';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Abortable } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { readChainAccount, readContextSlot } from '../chain/rpc-account-reader.ts';

/** How long a node may be behind the oldest usable slot, and the pause before it is asked again. */
const maxBehindMs = 3_000;
const behindPauseMs = 50;
/** Accounts parsed in one turn of the event loop; they take less than two milliseconds. */
const maxAccountsATurn = 256;

/** A wallet's holding of one mint, in all its accounts. */
export interface HeldToken {
  readonly mint: string;
  readonly tokenProgram: string;
  readonly amount: bigint;
  readonly frozenAmount: bigint;
  /** The number of accounts with a balance. */
  readonly accounts: number;
}

export interface WalletRead {
  /** The oldest slot of the three answers. */
  readonly slot: number;
  readonly lamports: bigint;
  readonly held: readonly HeldToken[];
  readonly emptyAccounts: number;
}

/** A wallet's token accounts of one program. */
export type OwnedAccounts = Omit<WalletRead, 'lamports'>;

/** Slots that an answer may have. */
export interface SlotBounds {
  /** A node that is behind it is asked again, for a while. */
  readonly oldest: number;
  readonly newest: number;
}

/**
 * Reads SOL and all token accounts of a wallet, in three simultaneous calls. Null: endpoints answered, but none with a valid answer
 * (complete accounts of this wallet and this program, of a slot within the bounds). Rejects with an `RpcError`.
 */
export async function readWallet(rpc: Rpc, wallet: string, { oldest, newest }: SlotBounds, signal: Abortable): Promise<WalletRead | null> {
  const config = { encoding: 'base64', commitment: 'processed' };
  const endMs = performance.now() + maxBehindMs;
  const accepted = async <T extends { readonly slot: number }>(
    method: string,
    params: readonly unknown[],
    read: (answer: unknown) => T | null | Promise<T | null>,
  ): Promise<T | null> => {
    for (;;) {
      const [usable, behind]: [T[], T[]] = [[], []];
      await rpc.call(method, params, signal, async (answer) => {
        const value = await read(answer);
        if (value === null) return false;
        (value.slot < oldest ? behind : usable).push(value);
        return usable.length > 0;
      });
      if (usable.length > 0 || behind.length === 0 || performance.now() > endMs) return usable[0] ?? null;
      await pause(behindPauseMs, signal, { ref: false });
    }
  };
  const owned = (programId: string): Promise<OwnedAccounts | null> =>
    accepted('getTokenAccountsByOwner', [wallet, { programId }, config], (answer) => readOwned(answer, wallet, programId, newest));
  const [balance, ofToken, ofToken2022] = await Promise.all([
    accepted('getBalance', [wallet, { commitment: config.commitment }], (answer) => readBalance(answer, newest)),
    owned(tokenProgram),
    owned(token2022Program),
  ]);
  if (balance === null || ofToken === null || ofToken2022 === null) return null;
  return {
    slot: Math.min(balance.slot, ofToken.slot, ofToken2022.slot),
    lamports: balance.lamports,
    held: [...ofToken.held, ...ofToken2022.held],
    emptyAccounts: ofToken.emptyAccounts + ofToken2022.emptyAccounts,
  };
}

function readBalance(answer: unknown, newestSlot: number): { readonly slot: number; readonly lamports: bigint } | null {
  const slot = readContextSlot(answer, newestSlot);
  const value = isRecord(answer) ? answer['value'] : null;
  if (slot === null || typeof value !== 'number' || !Number.isInteger(value) || value < 0) return null;
  return { slot, lamports: BigInt(value) };
}

/**
 * Parses an answer of `getTokenAccountsByOwner` in base64, in slices, so that other work can run. Null: one of the accounts is wrong, so the whole
 * answer is rejected.
 */
export async function readOwned(answer: unknown, wallet: string, programId: string, newestSlot: number): Promise<OwnedAccounts | null> {
  const slot = readContextSlot(answer, newestSlot);
  const value = isRecord(answer) ? answer['value'] : null;
  if (slot === null || !Array.isArray(value)) return null;
  const held = new Map<string, { -readonly [Field in keyof HeldToken]: HeldToken[Field] }>();
  const seen = new Set<string>();
  let emptyAccounts = 0;
  for (const [index, item] of (value as readonly unknown[]).entries()) {
    if (index % maxAccountsATurn === maxAccountsATurn - 1) await turn();
    const address = isRecord(item) ? item['pubkey'] : null;
    const account = isRecord(item) ? readChainAccount(item['account']) : null;
    if (typeof address !== 'string' || !isAddress(address) || seen.has(address) || account?.owner !== programId) return null;
    seen.add(address);
    const token = decodeTokenAccount(programId, account.data);
    if (token === null || token.owner !== wallet) return null;
    if (token.amount === 0n) {
      emptyAccounts++;
      continue;
    }
    let of = held.get(token.mint);
    if (of === undefined)
      held.set(token.mint, (of = { mint: token.mint, tokenProgram: programId, amount: 0n, frozenAmount: 0n, accounts: 0 }));
    of.amount += token.amount;
    if (token.frozen) of.frozenAmount += token.amount;
    of.accounts++;
  }
  return { slot, held: [...held.values()], emptyAccounts };
}
