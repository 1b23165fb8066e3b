import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { tooLittle, type QuoteRefusal } from '../quote/quoted.ts';
import type { PreparedTrade } from './prepare.ts';
import type { TradeFailure } from './send/failure.ts';
import type { Simulator } from './send/simulator.ts';

/** `again`: the state has moved on under the trade; it may be quoted and built anew, once. */
export type SimulatedTrade =
  | { readonly kind: 'passed'; readonly simulation: { readonly unitsConsumed: number; readonly slot: number } | null }
  | { readonly kind: 'again'; readonly refusal: QuoteRefusal; readonly slot: number }
  | { readonly kind: 'refused'; readonly refusal: QuoteRefusal };

/** Faults of what we knew, and none of the caller's: the curve has completed, or accounts of the trade have changed. */
const movedOn: ReadonlySet<TradeFailure['fault']> = new Set(['complete', 'stale_accounts']);
/** What a wallet that holds too little does not bring about; whatever else the programs say, it does. */
const notOfBalance: ReadonlySet<TradeFailure['fault']> = new Set(['slippage', 'complete', 'duplicate']);
/** We chose it: the chain has gone on without us, or the node has fallen behind. The next one is a second away at most. */
const unknownBlockhash: QuoteRefusal = {
  error: 'UPSTREAM_UNAVAILABLE',
  message: 'The node does not know the blockhash of the transaction; nothing was sent.',
};

/** Simulates the very message that is to be sent; a signature changes nothing of what it does. */
export async function simulateTrade(
  simulator: Pick<Simulator, 'simulate'>,
  wire: Uint8Array,
  prepared: PreparedTrade,
): Promise<SimulatedTrade> {
  const { slot, terms } = prepared;
  const outcome = await simulator.simulate({ wire, minContextSlot: slot, terms });
  switch (outcome.kind) {
    case 'passed':
      return { kind: 'passed', simulation: { unitsConsumed: outcome.unitsConsumed ?? 0, slot: outcome.slot } };
    case 'unavailable':
      return { kind: 'refused', refusal: { error: 'UPSTREAM_UNAVAILABLE', message: `It could not be simulated: ${outcome.reason}.` } };
    case 'failed': {
      const { fault, code, message, details } = outcome.failure;
      if (fault === 'blockhash') return { kind: 'again', refusal: unknownBlockhash, slot: outcome.slot ?? slot };
      const short = notOfBalance.has(fault) ? null : checkTrade(prepared);
      if (short !== null) return { kind: 'refused', refusal: short };
      const refusal = { error: code, message, details: fault === 'slippage' ? await slipped(details, outcome.slot, prepared) : details };
      return movedOn.has(fault) ? { kind: 'again', refusal, slot: outcome.slot ?? slot } : { kind: 'refused', refusal };
    }
  }
}

/** Programs seldom tell what the trade would have given: the state that it failed on does. */
async function slipped(
  details: TradeFailure['details'],
  slot: number | null,
  { slot: quotedSlot, actualFrom }: PreparedTrade,
): Promise<TradeFailure['details']> {
  if (details['actual'] !== null) return details;
  const actual = await actualFrom(slot ?? quotedSlot + 1);
  return { ...details, actual: actual === null ? null : String(actual) };
}

/** In place of a simulation: what can be told from the state at hand. */
export function checkTrade({ terms }: PreparedTrade): QuoteRefusal | null {
  const { lamports, tokens } = terms;
  const short = (have: bigint | null, need: bigint | null): boolean => have !== null && need !== null && have < need;
  if (short(tokens.have, tokens.need)) return tooLittle('tokens', tokens.have!, tokens.need!, tokens.decimals);
  return short(lamports.have, lamports.need) ? tooLittle('lamports', lamports.have!, lamports.need!, solDecimals) : null;
}
