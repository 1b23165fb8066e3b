import { assembleTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { OrderTiming } from '@sluice/shared/wire/rest/trade.ts';
import type { QuoteRefusal } from '../quote/best-quote.ts';
import { awaitMarket, prepareTrade, prepareAgreed, type PreparedTrade, type PrepareParts } from './prepare.ts';
import { unavailable } from './quote-order.ts';
import type { TradeRequest } from './request.ts';
import type { Simulator } from '../nodes/simulate/simulator.ts';
import { checkTrade, simulateTrade, type SimulatedTrade } from './simulate-trade.ts';

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
