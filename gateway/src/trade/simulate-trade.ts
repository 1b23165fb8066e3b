import type { QuoteRefusal } from '../quote/quoted.ts';
import type { PreparedTrade } from './prepare.ts';
import type { TradeFailure } from './send/failure.ts';
import type { Simulator } from './send/simulator.ts';

/** `again`: the state has moved on under the trade; it may be quoted and built anew, once. */
export type SimulatedTrade =
  | { readonly kind: 'passed'; readonly simulation: { readonly unitsConsumed: number; readonly slot: number } | null }
  | { readonly kind: 'again'; readonly refusal: QuoteRefusal; readonly slot: number }
  | { readonly kind: 'refused'; readonly refusal: QuoteRefusal };

/** Faults of what we knew, and none of the caller's: the curve has completed, or accounts of the trade have changed. */
const movedOn: ReadonlySet<TradeFailure['fault']> = new Set(['complete', 'stale_accounts', 'blockhash']);

/** Simulates the very bytes that are to be sent. */
export async function simulateTrade(
  simulator: Pick<Simulator, 'simulate'>,
  wire: Uint8Array,
  { slot, terms }: PreparedTrade,
  isSigned: boolean,
): Promise<SimulatedTrade> {
  const outcome = await simulator.simulate({ wire, isSigned, minContextSlot: slot, terms });
  switch (outcome.kind) {
    case 'passed':
      return { kind: 'passed', simulation: { unitsConsumed: outcome.unitsConsumed ?? 0, slot: outcome.slot } };
    case 'unavailable':
      return { kind: 'refused', refusal: { error: 'UPSTREAM_UNAVAILABLE', message: `It could not be simulated: ${outcome.reason}.` } };
    case 'failed': {
      const { fault, code, message, details } = outcome.failure;
      const refusal = { error: code, message, details };
      return movedOn.has(fault) ? { kind: 'again', refusal, slot: outcome.slot ?? slot } : { kind: 'refused', refusal };
    }
  }
}

/** In place of a simulation: what can be told from the state at hand. */
export function checkTrade({ terms, lamportsNeeded }: PreparedTrade): QuoteRefusal | null {
  const { lamports, tokens } = terms;
  const short = (have: bigint | null, need: bigint | null): boolean => have !== null && need !== null && have < need;
  if (short(tokens.have, tokens.need)) return tooLittle(tokens.have!, tokens.need!, 'tokens');
  return short(lamports.have, lamportsNeeded) ? tooLittle(lamports.have!, lamportsNeeded, 'lamports') : null;
}

function tooLittle(have: bigint, need: bigint, unit: 'tokens' | 'lamports'): QuoteRefusal {
  return { error: 'INSUFFICIENT_BALANCE', details: { have: String(have), need: String(need), unit } };
}
