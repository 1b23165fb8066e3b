import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { askUntilAgreed } from '@sluice/shared/solana/rpc/quorum/ask-until-agreed.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { OrderError } from '@sluice/gateway/store/order-model/life.ts';
import type { OrderTerms } from '@sluice/gateway/store/order-model/order.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import { classifyFailure, type FailureTerms, type ReportedFailure } from '../../nodes/simulate/failure.ts';
import { onlyTradeOf, type Trade } from '../../signer/checks/trade-instruction.ts';
import { readFill, type FillReading } from './fill.ts';
import type { SendNode } from '../../nodes/nodes.ts';
import type { LandedReading } from './tracked-order.ts';
import { Semaphore } from '@sluice/shared/runtime/collections/semaphore.ts';

/** Most transactions read at a time. The others wait; each followed order waits with one at most. */
const maxRunning = 8;
/** Pause between the starts of two reads, because the simulation of the next order would wait behind a hundred reads of one slot. */
const apartMs = 2;
/** Pause between two attempts: a node may have the status of a transaction before it has the transaction. */
const againAfterMs = 400;
/** A read is given up after this long. The order then ends without a fill; clients can still find the transaction by its signature. */
const giveUpAfterMs = 120_000;
/** The reading of a single node counts if the others have shown nothing for this long. */
const aloneAfterMs = 5_000;
/** One more node is asked after this long without an answer. After the first answer, the others have `othersWithinMs`. */
const hedgeAfterMs = 300;
const othersWithinMs = 2_500;

export interface LandedOrder {
  readonly signature: string;
  readonly slot: number;
  /** The runtime's error in the status; null if the transaction succeeded. */
  readonly err: unknown;
  /** Null if they were not read before the transaction was sent. Then they are read from `signedBytes` and the landed transaction. */
  readonly terms: OrderTerms | null;
  readonly signedBytes: Uint8Array | null;
  /** The stored `quote` of the order, as JSON; null if nothing was quoted. */
  readonly quoteJson: string | null;
  readonly isLightning: boolean;
}

export const noReads = { read: 0, unusable: 0, otherSlot: 0, disagreed: 0, contradicted: 0, givenUp: 0 };

function orderError(reported: ReportedFailure, { terms, quoteJson }: LandedOrder): OrderError {
  const quoted = terms === null ? [] : quotedBounds(quoteJson, terms.side);
  const failures = [...quoted, { quoted: null, bound: null }].map((one) =>
    classifyFailure(reported, terms === null ? null : { ...knownOf(terms), ...one }, 'chain'),
  );
  // Prefers the failure whose bound the program logged: then the actual amount is known.
  const { code, message, details } = failures.find((failure) => typeof failure.details['actual'] === 'string') ?? failures[0]!;
  return { code, message, detailsJson: JSON.stringify(details) };
}

/** What a caller's own transaction trades, if the order does not say it. */
function tradeOf({ terms, signedBytes }: LandedOrder): Trade | null {
  if (terms !== null || signedBytes === null) return null;
  const transaction = decodeTransaction(signedBytes);
  return transaction.kind === 'malformed' ? null : onlyTradeOf(transaction, () => null);
}

/** The quoted amounts with their bounds, the likelier first: the output, or, if the output is exact, the input. */
function quotedBounds(quoteJson: string | null, side: OrderTerms['side']): Pick<FailureTerms, 'quoted' | 'bound'>[] {
  if (quoteJson === null) return [];
  const { inAmount, outAmount, minOut, maxIn } = JSON.parse(quoteJson) as Pick<QuoteObject, 'inAmount' | 'outAmount' | 'minOut' | 'maxIn'>;
  const out = { quoted: BigInt(outAmount), bound: BigInt(minOut) };
  if (side === 'sell') return [out];
  const cost = { quoted: BigInt(inAmount), bound: BigInt(maxIn) };
  return out.bound === out.quoted && cost.bound > cost.quoted ? [cost, out] : [out, cost];
}

/** The terms without balances, because the balances at the moment of landing are not known any more. */
function knownOf({ side, mint: baseMint, quoteMint, baseDecimals, quoteDecimals }: OrderTerms): FailureTerms {
  const [mint, decimals] = side === 'sell' ? [baseMint, baseDecimals] : [quoteMint, quoteDecimals];
  return { side, quoted: null, bound: null, tokens: { mint, have: null, need: null, decimals } };
}

/** Whether two readings are equal to the last unit. Block times are not compared, because not every node has them. */
function isSameReading(one: LandedReading, other: LandedReading): boolean {
  const shown = ({ slot, fill, terms, error }: LandedReading): string =>
    JSON.stringify(
      [slot, error?.code ?? null, terms, fill === null ? null : Object.entries(fill).filter(([field]) => field !== 'blockTime')],
      (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    );
  return shown(one) === shown(other);
}

/** Reads landed transactions from several nodes, until as many as are needed agree. */
export class LandedReader {
  readonly counters = { ...noReads };
  readonly #nodes: readonly SendNode[];
  readonly #clock: Clock;
  readonly #readings = new Semaphore(maxRunning);
  #nextAtMs = 0;

  constructor(nodes: readonly SendNode[], clock: Clock) {
    this.#nodes = nodes;
    this.#clock = clock;
  }

  /** Never rejects. Resolves with null when `signal` fires. */
  async read(landed: LandedOrder, signal: AbortSignal): Promise<LandedReading | null> {
    const clock = this.#clock;
    const beganMs = clock.steadyMs();
    while (!signal.aborted) {
      const reading = await this.#readOnce(landed, clock.steadyMs() - beganMs > aloneAfterMs, signal);
      if (reading !== null) {
        this.counters.read++;
        return reading;
      }
      if (clock.steadyMs() - beganMs > giveUpAfterMs) {
        this.counters.givenUp++;
        const { slot, terms, err } = landed;
        return { slot, fill: null, terms, error: err === null ? null : this.#errorOf(err, [], landed) };
      }
      await pause(againAfterMs, signal, { ref: false, clock });
    }
    return null;
  }

  async #readOnce(landed: LandedOrder, mayBeAlone: boolean, signal: AbortSignal): Promise<LandedReading | null> {
    return await this.#readings.run(async () => {
      await this.#placeInLine(signal);
      const verdict = await askUntilAgreed<LandedReading>({
        endpoints: this.#nodes.map((_, index) => index),
        ask: (index) => this.#askOne(this.#nodes[index]!, landed, signal),
        agree: isSameReading,
        hedgeAfterMs,
        othersWithinMs,
      });
      if (verdict.kind === 'contradicted') this.counters.contradicted++;
      return verdict.kind === 'agreed' && (verdict.isMajority || mayBeAlone) ? verdict.votes[0]!.value : null;
    });
  }

  async #placeInLine(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.steadyMs();
    const waitMs = this.#nextAtMs - nowMs;
    this.#nextAtMs = Math.max(nowMs, this.#nextAtMs) + apartMs;
    if (waitMs > 0) await pause(waitMs, signal, { ref: false, clock: this.#clock });
  }

  async #askOne(node: SendNode, landed: LandedOrder, signal: AbortSignal): Promise<LandedReading | null> {
    const reading = await ask(node, landed, signal);
    // The transaction of a lightning order changes the wallet's tokens only by its trade.
    if (reading.kind === 'fill' && !reading.balancesAgree && landed.isLightning) this.counters.disagreed++;
    return this.#readingOf(reading, landed);
  }

  /** The reading of an answer; null if it is unusable, or shows another slot or result than the status. */
  #readingOf(reading: FillReading, landed: LandedOrder): LandedReading | null {
    const { slot, terms } = landed;
    const shownSlot = reading.kind === 'fill' ? reading.fill.slot : reading.kind === 'unusable' ? null : reading.slot;
    if (shownSlot === null) this.counters.unusable++;
    else if (shownSlot !== slot || (reading.kind === 'failed') !== (landed.err !== null)) this.counters.otherSlot++;
    else if (reading.kind === 'failed') return { slot, fill: null, terms, error: this.#errorOf(reading.err, reading.logs, landed) };
    else if (reading.kind === 'fill') return { slot, fill: reading.fill, terms: reading.terms, error: null };
    else return { slot, fill: null, terms, error: null };
    return null;
  }

  #errorOf(err: unknown, logs: ReportedFailure['logs'], landed: LandedOrder): OrderError {
    // Several nodes report the same text, and the status does not say which one did.
    const textOf = (text: string): string => this.#nodes.reduce((cleaned, node) => node.textOf(cleaned), text);
    return orderError({ err, logs, textOf }, landed);
  }
}

async function ask({ rpc }: SendNode, landed: LandedOrder, signal: AbortSignal): Promise<FillReading> {
  const options = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
  try {
    const answer = await rpc.call('getTransaction', [landed.signature, options], signal);
    return answer === null ? { kind: 'unusable', reason: 'not found' } : readFill(answer, landed.signature, landed.terms, tradeOf(landed));
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { kind: 'unusable', reason: error.kind };
  }
}
