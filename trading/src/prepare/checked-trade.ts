import { assembleTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { OrderTiming } from '@sluice/shared/wire/rest/trading/trade.ts';
import { type QuoteRefusal, tooLittle } from '../quote/best-quote.ts';
import { awaitMarket, prepareTrade, prepareAgreed, type PreparedTrade, type PrepareParts } from './prepare.ts';
import { unavailable } from './quote-order.ts';
import type { TradeRequest } from './request.ts';
import type { Simulator } from '../nodes/simulate/simulator.ts';
import type { TradeFailure } from '../nodes/simulate/failure.ts';
import type { TradedAmounts } from '../quote/drift.ts';

/**
 * `again`: the order may be quoted and built again. `moved`: the state has changed meanwhile. `unsure`: only the endpoint that reported the
 * state confirms the quote, so the next attempt must use state that the endpoints vote on.
 */
export type SimulatedTrade =
  | { readonly kind: 'passed'; readonly simulation: { readonly unitsConsumed: number; readonly slot: number } | null }
  | { readonly kind: 'again'; readonly why: 'moved'; readonly refusal: QuoteRefusal; readonly slot: number }
  | { readonly kind: 'again'; readonly why: 'unsure'; readonly refusal: QuoteRefusal }
  | { readonly kind: 'refused'; readonly refusal: QuoteRefusal };

/** Faults of our state, not of the request: the curve is complete, or accounts of the trade have changed. */
const stateFaults: ReadonlySet<TradeFailure['fault']> = new Set(['complete', 'stale_accounts']);
/** Faults that a low balance never causes. A low balance may cause any other fault. */
const notCausedByBalance: ReadonlySet<TradeFailure['fault']> = new Set(['slippage', 'complete', 'duplicate']);
/** This gateway chose the blockhash, so the request is not wrong: this gateway or the node is behind. The next blockhash comes within a second. */
const unknownBlockhash: QuoteRefusal = {
  error: 'UPSTREAM_UNAVAILABLE',
  message: 'The node does not know the blockhash of the transaction; nothing was sent.',
};

/** Simulates the message that will be sent. The signature does not change the result. */
async function simulateTrade(simulator: Pick<Simulator, 'simulate'>, wire: Uint8Array, prepared: PreparedTrade): Promise<SimulatedTrade> {
  const { slot, terms, soleSources, expected } = prepared;
  const outcome = await simulator.simulate({ wire, minContextSlot: slot, terms, expected, avoid: soleSources });
  switch (outcome.kind) {
    case 'passed':
      if (outcome.amounts === null && soleSources !== 0) return { kind: 'again', why: 'unsure', refusal: unverified };
      return { kind: 'passed', simulation: { unitsConsumed: outcome.unitsConsumed ?? 0, slot: outcome.slot } };
    case 'deviates':
      return { kind: 'again', why: 'unsure', refusal: deviating(prepared, outcome.amounts) };
    case 'unavailable':
      return {
        kind: 'refused',
        refusal: { error: 'UPSTREAM_UNAVAILABLE', message: `The order could not be simulated: ${outcome.reason}.` },
      };
    case 'failed': {
      const { fault, code, message, details } = outcome.failure;
      if (fault === 'blockhash') return { kind: 'again', why: 'moved', refusal: unknownBlockhash, slot: outcome.slot ?? slot };
      const short = notCausedByBalance.has(fault) ? null : await checkTrade(prepared);
      if (short !== null) return { kind: 'refused', refusal: short };
      const refusal = {
        error: code,
        message,
        details: fault === 'slippage' ? await withNewQuote(details, outcome.slot, prepared) : details,
      };
      if (stateFaults.has(fault)) return { kind: 'again', why: 'moved', refusal, slot: outcome.slot ?? slot };
      const isSure = outcome.isConfirmed || soleSources === 0;
      return isSure ? { kind: 'refused', refusal } : { kind: 'again', why: 'unsure', refusal };
    }
  }
}

const unverified: QuoteRefusal = {
  error: 'UPSTREAM_UNAVAILABLE',
  message: 'Only one node reported the state that the quote is based on, and no other node could simulate the order. Nothing was sent.',
};

function deviating({ expected }: PreparedTrade, { baseAmount, traderQuote }: TradedAmounts): QuoteRefusal {
  const given = `${baseAmount} tokens for ${traderQuote} of the quote coin`;
  const quoted = `${expected.baseAmount} for ${expected.traderQuote}`;
  const message = `The simulation gave ${given}, but the quote was ${quoted}, in raw units. The price moves quickly, or a node lies. Nothing was sent; try again.`;
  return { error: 'UPSTREAM_UNAVAILABLE', message };
}

/** Adds the quote on the state on which the simulation failed. Programs seldom report what the trade would have given, so it follows from this quote too. */
async function withNewQuote(
  details: TradeFailure['details'],
  slot: number | null,
  { slot: quotedSlot, quoteFrom }: PreparedTrade,
): Promise<TradeFailure['details']> {
  const later = await quoteFrom(slot ?? quotedSlot + 1);
  if (later === null) return details;
  return { ...details, actual: details['actual'] ?? String(later.actual), quote: later.quote };
}

/** Checks the balances. This is all that can be checked without a simulation. Rejects with an `RpcError`. */
async function checkTrade(prepared: PreparedTrade): Promise<QuoteRefusal | null> {
  return tokensFault(prepared) ?? (await prepared.lamportsFault());
}

/** The refusal if the wallet has too little of a coin other than SOL that it gives. */
export function tokensFault({ terms: { tokens } }: Pick<PreparedTrade, 'terms'>): QuoteRefusal | null {
  const { have, need, decimals, mint } = tokens;
  return have !== null && need !== null && have < need ? tooLittle('tokens', have, need, decimals, mint) : null;
}

/** Attempts for one order. Each begins with a new quote; nothing of an earlier attempt was signed. */
const maxAttempts = 4;
const noSignature = new Uint8Array(64);

/** A message that may be signed. */
export interface CheckedTrade {
  readonly prepared: PreparedTrade;
  readonly simulation: Extract<SimulatedTrade, { kind: 'passed' }>['simulation'];
  readonly timing: Pick<OrderTiming, 'quoteMs' | 'buildMs' | 'simulateMs'>;
}

export interface CheckParts extends PrepareParts {
  readonly simulator: Pick<Simulator, 'simulate'>;
  /** How many RPC endpoints are asked. */
  readonly endpoints: number;
}

/**
 * Several endpoints have this time to agree about an order. Nothing is signed before they do, so a refusal costs only another request. With a
 * single endpoint nothing can be asked elsewhere, so its own timeouts apply.
 */
const decideWithinMs = 850;
const undecided = unavailable('The nodes did not confirm the state that this order depends on in time. Nothing was sent; ask again.');

/** Whole seconds in which the transaction can still land. */
export function expiresInSeconds({ blockhash }: Pick<PreparedTrade, 'blockhash'>, { state }: Pick<CheckParts, 'state'>): number {
  // Without a current height, nothing promises that it can still land.
  return state.blockhashes.secondsUntilAfter(blockhash.lastValidBlockHeight) ?? 0;
}

/** The transaction without its one signature. */
export function unsignedWire({ built: { message } }: Pick<PreparedTrade, 'built'>): Uint8Array {
  return assembleTransaction(message, [noSignature]);
}

/**
 * Quotes an order, builds its message, and has a node simulate it that did not report the state of the quote. If quote and simulation differ,
 * quotes again on state that the endpoints vote on; with `skipSimulation` the first quote already needs such state. Nodes receive the message
 * without its signature, because a node could land a signed one and deny it. Rejects with an `RpcError`.
 */
export async function checkedTrade(request: TradeRequest, parts: CheckParts): Promise<CheckedTrade | QuoteRefusal> {
  const check = request.skipSimulation ? checkedOnly : checkedBySimulation;
  if (parts.endpoints === 1) return await check(request, parts, neverLate);
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const late = new Promise<QuoteRefusal>((resolve) => {
    timer = setTimeout(() => {
      isLate = true;
      resolve(undecided);
    }, decideWithinMs);
  });
  return await Promise.race([check(request, parts, () => isLate), late]).finally(() => clearTimeout(timer));
}

const neverLate = (): boolean => false;

async function checkedBySimulation(request: TradeRequest, parts: CheckParts, isLate: () => boolean): Promise<CheckedTrade | QuoteRefusal> {
  let [agreed, hasMoved] = [false, false];
  for (let attempt = 1; ; attempt++) {
    const prepared = await prepareTrade(request, parts, agreed);
    if ('error' in prepared) return prepared;
    const beforeMs = performance.now();
    const checked = await simulateTrade(parts.simulator, unsignedWire(prepared), prepared);
    if (checked.kind === 'refused') return checked.refusal;
    if (checked.kind === 'passed') {
      const { quoteMs, buildMs } = prepared;
      return { prepared, simulation: checked.simulation, timing: { quoteMs, buildMs, simulateMs: performance.now() - beforeMs } };
    }
    if (attempt === maxAttempts || isLate()) return checked.refusal;
    if (checked.why === 'unsure') agreed = true;
    else if (hasMoved || !(await caughtUp(request, prepared, checked.slot, parts))) return checked.refusal;
    else hasMoved = true;
  }
}

async function checkedOnly(request: TradeRequest, parts: PrepareParts): Promise<CheckedTrade | QuoteRefusal> {
  const prepared = await prepareAgreed(request, parts);
  if ('error' in prepared) return prepared;
  const { quoteMs, buildMs } = prepared;
  return (await checkTrade(prepared)) ?? { prepared, simulation: null, timing: { quoteMs, buildMs } };
}

/** Waits until the known market is newer than the quoted one. */
async function caughtUp(
  { order: { mint } }: TradeRequest,
  { slot }: PreparedTrade,
  seenSlot: number,
  { state }: PrepareParts,
): Promise<boolean> {
  return (await awaitMarket(state, mint, (market) => market.slot > slot || market.slot >= seenSlot)) !== null;
}
