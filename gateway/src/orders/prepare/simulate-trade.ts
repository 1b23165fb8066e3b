import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { tooLittle, type QuoteRefusal } from '../../quote/quoted.ts';
import type { PreparedTrade } from './prepare.ts';
import type { TradeFailure } from '../simulate/failure.ts';
import type { TradedAmounts } from '../../quote/drift.ts';
import type { Simulator } from '../simulate/simulator.ts';

/**
 * `again`: it may be quoted and built anew, once where the state has `moved` on under the trade; `unsure`: on state that the endpoints vote on,
 * for nobody but the source of the state vouches for the quote.
 */
export type SimulatedTrade =
  | { readonly kind: 'passed'; readonly simulation: { readonly unitsConsumed: number; readonly slot: number } | null }
  | { readonly kind: 'again'; readonly why: 'moved'; readonly refusal: QuoteRefusal; readonly slot: number }
  | { readonly kind: 'again'; readonly why: 'unsure'; readonly refusal: QuoteRefusal }
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
  const { slot, terms, soleSources, expected } = prepared;
  const outcome = await simulator.simulate({ wire, minContextSlot: slot, terms, expected, avoid: soleSources });
  switch (outcome.kind) {
    case 'passed':
      if (outcome.amounts === null && soleSources !== 0) return { kind: 'again', why: 'unsure', refusal: unverified };
      return { kind: 'passed', simulation: { unitsConsumed: outcome.unitsConsumed ?? 0, slot: outcome.slot } };
    case 'deviates':
      return { kind: 'again', why: 'unsure', refusal: deviating(prepared, outcome.amounts) };
    case 'unavailable':
      return { kind: 'refused', refusal: { error: 'UPSTREAM_UNAVAILABLE', message: `It could not be simulated: ${outcome.reason}.` } };
    case 'failed': {
      const { fault, code, message, details } = outcome.failure;
      if (fault === 'blockhash') return { kind: 'again', why: 'moved', refusal: unknownBlockhash, slot: outcome.slot ?? slot };
      const short = notOfBalance.has(fault) ? null : checkTrade(prepared);
      if (short !== null) return { kind: 'refused', refusal: short };
      const refusal = { error: code, message, details: fault === 'slippage' ? await slipped(details, outcome.slot, prepared) : details };
      if (movedOn.has(fault)) return { kind: 'again', why: 'moved', refusal, slot: outcome.slot ?? slot };
      const isSure = outcome.isConfirmed || soleSources === 0;
      return isSure ? { kind: 'refused', refusal } : { kind: 'again', why: 'unsure', refusal };
    }
  }
}

const unverified: QuoteRefusal = {
  error: 'UPSTREAM_UNAVAILABLE',
  message: 'No node tells what the transaction would give, and only one told the state that it was quoted on; nothing was sent.',
};

function deviating({ expected }: PreparedTrade, { baseAmount, traderQuote }: TradedAmounts): QuoteRefusal {
  const given = `${baseAmount} tokens for ${traderQuote} of the quote coin`;
  const quoted = `${expected.baseAmount} for ${expected.traderQuote}`;
  const message = `A simulation trades ${given} where the quote says ${quoted}, in raw units: the price moves faster than it is quoted, or a node lies. Nothing was sent; ask again.`;
  return { error: 'UPSTREAM_UNAVAILABLE', message };
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
