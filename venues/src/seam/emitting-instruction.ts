import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { precompilePrograms } from '@sluice/shared/solana/well-known.ts';
import type { EmittingInstruction } from './venue.ts';

/** The instruction that a path names (see `eventPath`); null if the transaction does not show it. */
export function emittingInstruction(view: TransactionView, path: string): EmittingInstruction | null {
  const end = path.search(/[+i]/);
  const [top, inner] = (end < 0 ? path : path.slice(0, end)).split('.');
  const index = topLevelIndex(view, Number(top));
  const instruction = view.instructions[index];
  if (instruction === undefined || view.inner === null) return null;
  const list = view.inner.get(index) ?? [];
  const at = inner === undefined ? -1 : Number(inner);
  const emitting = at < 0 ? instruction : list[at];
  return emitting === undefined
    ? null
    : { programId: emitting.programId, accounts: emitting.accounts, data: emitting.data, inner: list, at };
}

/** Paths count only the instructions that log. */
function topLevelIndex({ instructions }: TransactionView, top: number): number {
  let logged = -1;
  for (const [index, { programId }] of instructions.entries()) {
    if (!precompilePrograms.has(programId) && ++logged === top) return index;
  }
  return -1;
}
