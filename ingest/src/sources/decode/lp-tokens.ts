import type { TransactionInnerInstruction, TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { LocatedEvent } from './transaction-decoder.ts';

/** Tags of the token programs' instructions: `MintTo`, `Burn`, and their `Checked` forms. The amount follows the tag. */
const mintTags: ReadonlySet<number> = new Set([7, 14]);
const burnTags: ReadonlySet<number> = new Set([8, 15]);

interface TokenMove {
  readonly mint: string;
  readonly amount: bigint;
  /** The program that called the token program; null at the top level. */
  readonly caller: string | null;
}

/** Adds what an account of a locker received of these LP tokens, as an event. */
function addLocked(
  view: TransactionView,
  events: LocatedEvent[],
  filled: LocatedEvent,
  pool: string,
  lpMints: ReadonlySet<string>,
  lockers: ReadonlySet<string>,
): void {
  let lpAmount = 0n;
  for (const { mint, owner, before, after } of view.tokenBalances ?? []) {
    if (owner !== null && lockers.has(owner) && lpMints.has(mint) && after > before) lpAmount += after - before;
  }
  const event = { type: 'liquidityLocked', pool, lpAmount, timestamp: null } as const;
  if (lpAmount > 0n) events.push({ venue: filled.venue, path: `${filled.path}-locked`, event });
}

/**
 * Notes how many LP tokens a transaction burned that it had made for a pool: a curve that migrates does so, so that nobody can drain its pool, or locks them. LP tokens
 * are those that the program of a venue mints; a single one is a position. Nothing is noted if the transaction filled several pools, or does not show
 * all that its instructions called.
 */
export function noteBurnedLp(
  view: TransactionView,
  events: LocatedEvent[],
  isVenue: (programId: string) => boolean,
  lockers: ReadonlySet<string>,
): void {
  const filled: { readonly located: LocatedEvent; readonly pool: string }[] = [];
  const coins: string[] = [];
  for (const located of events) {
    const { event } = located;
    if (event.type !== 'poolCreated' && event.type !== 'liquidityAdded') continue;
    filled.push({ located, pool: event.pool });
    const pair = event.type === 'poolCreated' ? event : event.pair;
    if (pair !== null) coins.push(pair.baseMint, pair.quoteMint);
  }
  const [first] = filled;
  if (first === undefined || filled.some(({ pool }) => pool !== first.pool)) return;
  const minted = tokenMoves(view, mintTags, 0);
  const burned = tokenMoves(view, burnTags, 1);
  if (minted === null || burned === null) return;
  const isLp = ({ mint, amount, caller }: TokenMove): boolean => caller !== null && isVenue(caller) && amount > 1n && !coins.includes(mint);
  const lpMints = new Set(minted.filter(isLp).map(({ mint }) => mint));
  if (lpMints.size === 0) return;
  let lpBurned = 0n;
  for (const { mint, amount } of burned) if (lpMints.has(mint)) lpBurned += amount;
  for (const { located } of filled) located.lpBurned = lpBurned;
  addLocked(view, events, first.located, first.pool, lpMints, lockers);
}

/** Null if the node did not record what instructions called. */
function tokenMoves({ instructions, inner }: TransactionView, tags: ReadonlySet<number>, mintAt: number): readonly TokenMove[] | null {
  if (inner === null) return null;
  const moves: TokenMove[] = [];
  const add = ({ programId, accounts, data }: Omit<TransactionInnerInstruction, 'stackHeight'>, caller: string | null): void => {
    const mint = accounts[mintAt];
    if ((programId !== tokenProgram && programId !== token2022Program) || !tags.has(data[0] ?? -1)) return;
    if (mint !== undefined && data.length >= 9) moves.push({ mint, amount: viewOf(data).getBigUint64(1, true), caller });
  };
  for (const [index, instruction] of instructions.entries()) {
    add(instruction, null);
    /** The program at each stack height. */
    const stack = [instruction.programId];
    for (const called of inner.get(index) ?? []) {
      if (called.stackHeight === null) return null;
      stack[called.stackHeight - 1] = called.programId;
      add(called, stack[called.stackHeight - 2] ?? null);
    }
  }
  return moves;
}
