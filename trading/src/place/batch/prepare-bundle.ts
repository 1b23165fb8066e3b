import { assembleTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { wrongFields, type QuoteRefusal } from '../../quote/best-quote.ts';
import type { BundleSimulation, BundleSimulator } from '../../nodes/simulate/bundle-simulator.ts';
import type { TradeFailure } from '../../nodes/simulate/failure.ts';
import type { Simulator } from '../../nodes/simulate/simulator.ts';
import { unsignedWire, type CheckedTrade } from '../../prepare/checked-trade.ts';
import { prepareAgreed, type PreparedTrade, type PrepareParts } from '../../prepare/prepare.ts';
import { unavailable } from '../../prepare/quote-order.ts';
import type { TradeRequest } from '../../prepare/request.ts';
import { Sequence } from './sequence.ts';

/** Attempts for one bundle. Each begins with new quotes; nothing of an earlier attempt was signed. */
const maxAttempts = 2;
/** Faults of our state, not of the request. */
const stateFaults: ReadonlySet<TradeFailure['fault']> = new Set(['complete', 'stale_accounts', 'blockhash']);

export interface PrepareBundleParts extends PrepareParts {
  readonly simulator: Pick<Simulator, 'simulate'>;
  readonly bundleSimulator: Pick<BundleSimulator, 'simulate'>;
}

/** An order of a bundle that may be signed. */
export interface CheckedOrder extends Pick<CheckedTrade, 'prepared' | 'simulation'> {
  readonly request: TradeRequest;
}

/** Quotes and builds each order on the state that those before it leave, and simulates them in sequence. Rejects with an `RpcError`. */
export async function checkedBundle(
  requests: readonly TradeRequest[],
  parts: PrepareBundleParts,
): Promise<readonly CheckedOrder[] | QuoteRefusal> {
  for (let attempt = 1; ; attempt++) {
    const prepared = await prepareInSequence(requests, parts);
    if ('error' in prepared) return prepared;
    const simulated = await simulateInSequence(requests, prepared, parts);
    if (!('refusal' in simulated)) {
      return requests.map((request, at) => ({ request, prepared: prepared[at]!, simulation: simulated.simulations[at]! }));
    }
    if (!simulated.again || attempt === maxAttempts) return simulated.refusal;
  }
}

async function prepareInSequence(
  requests: readonly TradeRequest[],
  parts: PrepareBundleParts,
): Promise<readonly PreparedTrade[] | QuoteRefusal> {
  const sequence = new Sequence(parts.state);
  const all: PreparedTrade[] = [];
  for (const [index, request] of requests.entries()) {
    const place = { index, count: requests.length, laneTips: parts.laneTips ?? [] };
    const prepared = await inSequence(request, place, sequence, (state, laneTips) => prepareAgreed(request, { ...parts, state, laneTips }));
    if ('error' in prepared) return prepared;
    all.push(prepared);
  }
  return all;
}

interface Place {
  readonly index: number;
  readonly count: number;
  readonly laneTips: NonNullable<PrepareParts['laneTips']>;
}

type PrepareAfter = (state: PrepareParts['state'], laneTips: Place['laneTips']) => Promise<PreparedTrade | QuoteRefusal>;

/** Prepares the next order of a bundle on the state that those before it leave. The last one pays the block engine. */
export async function inSequence(
  request: TradeRequest,
  { index, count, laneTips }: Place,
  sequence: Sequence,
  prepare: PrepareAfter,
): Promise<PreparedTrade | QuoteRefusal> {
  const fault = sequence.fault(request);
  if (fault !== null) return fault;
  const isLast = index === count - 1;
  const prepared = await prepare(sequence.state, isLast ? laneTips.filter(({ lane }) => lane === 'jito') : []);
  if ('error' in prepared) return ofOrder(index, prepared);
  if (isLast && prepared.tipLamports === 0n) return wrongFields({ [`orders.${index}`]: noRoomForTip });
  sequence.add(request, prepared);
  return prepared;
}

const noRoomForTip = 'has no room for the tip of the block engine, which the last order of a bundle pays; put another order last';

interface Simulated {
  readonly simulations: readonly NonNullable<CheckedTrade['simulation']>[];
}

interface NotSimulated {
  readonly refusal: QuoteRefusal;
  /** New quotes may help. */
  readonly again: boolean;
}

async function simulateInSequence(
  requests: readonly TradeRequest[],
  prepared: readonly PreparedTrade[],
  parts: PrepareBundleParts,
): Promise<Simulated | NotSimulated> {
  const bundle = prepared.map((one, at) => ({ wire: blankWire(one, at), terms: one.terms, expected: one.expected }));
  const outcome = await parts.bundleSimulator.simulate(bundle, Math.max(...prepared.map(({ slot }) => slot)));
  if (outcome.kind === 'passed') {
    return { simulations: outcome.unitsConsumed.map((units) => ({ unitsConsumed: units ?? 0, slot: outcome.slot })) };
  }
  return outcome.kind === 'not_offered' ? simulateApart(requests, prepared, parts) : notSimulated(outcome);
}

/** The transaction with a signature that is not one, and that no other of the bundle has. */
function blankWire({ built: { message } }: PreparedTrade, index: number): Uint8Array {
  const signature = new Uint8Array(64);
  signature[0] = index + 1;
  return assembleTransaction(message, [signature]);
}

function notSimulated(outcome: Exclude<BundleSimulation, { kind: 'passed' | 'not_offered' }>): NotSimulated {
  switch (outcome.kind) {
    case 'unavailable':
      return { refusal: unavailable(`The bundle could not be simulated: ${outcome.reason}. Nothing was sent.`), again: false };
    case 'deviates':
      return { refusal: ofOrder(outcome.index, unavailable(moved)), again: true };
    case 'failed': {
      const { fault, code, message, details } = outcome.failure;
      const refusal = fault === 'blockhash' ? unavailable(unknownBlockhash) : { error: code, message, details };
      return { refusal: ofOrder(outcome.index, refusal), again: stateFaults.has(fault) };
    }
  }
}

const moved =
  'The simulation gave clearly other amounts than the quote. The price moves quickly, or a node lies. Nothing was sent; try again.';
const unknownBlockhash = 'The node does not know the blockhash of the bundle; nothing was sent.';

/**
 * Without `simulateBundle`, each order is simulated alone, on the state of the chain. That proves the sequence only if no order changes what another one
 * depends on: they have different wallets and coins.
 */
async function simulateApart(
  requests: readonly TradeRequest[],
  prepared: readonly PreparedTrade[],
  { simulator }: PrepareBundleParts,
): Promise<Simulated | NotSimulated> {
  for (const [index, request] of requests.entries()) {
    const shared = requests.slice(0, index).findIndex((other) => sharedPart(other, request) !== null);
    if (shared !== -1) return { refusal: cannotBeSimulated(index, shared, sharedPart(requests[shared]!, request)!), again: false };
  }
  const outcomes = await Promise.all(
    prepared.map((one) =>
      simulator.simulate({
        wire: unsignedWire(one),
        minContextSlot: one.slot,
        terms: one.terms,
        expected: one.expected,
        avoid: one.soleSources,
      }),
    ),
  );
  const simulations = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind === 'failed') return notSimulated({ kind: 'failed', index, failure: outcome.failure });
    if (outcome.kind === 'deviates') return notSimulated({ kind: 'deviates', index, amounts: outcome.amounts });
    if (outcome.kind === 'unavailable') return notSimulated(outcome);
    simulations.push({ unitsConsumed: outcome.unitsConsumed ?? 0, slot: outcome.slot });
  }
  return { simulations };
}

function sharedPart(a: TradeRequest, b: TradeRequest): 'wallet' | 'coin' | null {
  return a.publicKey === b.publicKey ? 'wallet' : a.order.mint === b.order.mint ? 'coin' : null;
}

function cannotBeSimulated(index: number, before: number, shared: 'wallet' | 'coin'): QuoteRefusal {
  const what = `has the ${shared} of orders.${before}, and no node of this server has the method simulateBundle, which shows what is left after that order`;
  return wrongFields({ [`orders.${index}`]: `cannot be simulated: it ${what}` });
}

/** The refusal of a whole bundle because of one order: names the order, and its fields as those of the batch. */
export function ofOrder(index: number, refusal: QuoteRefusal): QuoteRefusal {
  const { details = {} } = refusal;
  const { fields } = details;
  if (typeof fields !== 'object' || fields === null) return { ...refusal, details: { ...details, order: index } };
  return wrongFields(Object.fromEntries(Object.entries(fields).map(([name, what]) => [`orders.${index}.${name}`, String(what)])));
}
