import type { Clock } from '@sluice/shared/clock/clock.ts';
import { pause } from '@sluice/shared/abort/pause.ts';
import { askUntilAgreed } from '@sluice/shared/solana/quorum/ask-until-agreed.ts';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import type { OrderError } from '../model/life.ts';
import type { OrderTerms } from '../model/order.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/quote.ts';
import { classifyFailure, type FailureTerms } from '../simulate/failure.ts';
import { readFill, type FillReading } from './fill.ts';
import type { SendNode } from '../nodes/nodes.ts';
import type { LandedReading } from './tracked-order.ts';
import { createTurns } from '../nodes/turns.ts';

/** Transactions being read at a time; the others wait in line, one a followed order at most. */
const maxRunning = 8;
const maxWaiting = Number.MAX_SAFE_INTEGER;
/**
 * Between the beginnings of two: a slot lands a hundred orders at once, and a node that had all these reads in line would keep the next order's
 * simulation waiting behind them.
 */
const apartMs = 2;
/** A node may have the status of a transaction before it has the transaction. */
const againAfterMs = 400;
/** Given up after so long: the order then ends without a fill, which its signature still leads to. */
const giveUpAfterMs = 30_000;
/** What one node alone shows is believed where the others have shown nothing for so long. */
const aloneAfterMs = 5_000;
/** One more node is asked where nothing was answered for so long; after the first answer the others have so long. */
const hedgeAfterMs = 300;
const othersWithinMs = 2_500;

export interface LandedOrder {
  readonly signature: string;
  readonly slot: number;
  /** The runtime's error as the status told it; null where it succeeded. */
  readonly err: unknown;
  readonly terms: OrderTerms | null;
  /** The order's `quote` as stored, JSON; null where nothing was quoted. */
  readonly quoteJson: string | null;
  readonly isLightning: boolean;
}

export interface LandedReader {
  /** Never rejects for anything that a node does; null once `signal` fires. */
  read(landed: LandedOrder, signal: AbortSignal): Promise<LandedReading | null>;
  readonly counters: Readonly<typeof noReads>;
}

export const noReads = { read: 0, unusable: 0, otherSlot: 0, disagreed: 0, contradicted: 0, givenUp: 0 };

function orderError(err: unknown, logs: readonly string[], { terms, quoteJson }: LandedOrder): OrderError {
  const quoted = terms === null ? [] : quotedBounds(quoteJson, terms.side);
  const failures = [...quoted, { quoted: null, bound: null }].map((one) =>
    classifyFailure(err, logs, terms === null ? null : { ...knownOf(terms), ...one }),
  );
  // The program may log the bound that it held the trade against.
  const { code, message, details } = failures.find((failure) => typeof failure.details['actual'] === 'string') ?? failures[0]!;
  return { code, message, detailsJson: JSON.stringify(details) };
}

/** What was quoted with its bound, the likelier first: what comes out, or, where just that was named, what goes in. */
function quotedBounds(quoteJson: string | null, side: OrderTerms['side']): Pick<FailureTerms, 'quoted' | 'bound'>[] {
  if (quoteJson === null) return [];
  const quote = JSON.parse(quoteJson) as Pick<QuoteObject, 'inAmount' | 'outAmount' | 'minOut' | 'maxIn'>;
  const [inAmount, outAmount, minOut, maxIn] = [quote.inAmount, quote.outAmount, quote.minOut, quote.maxIn].map(BigInt) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  const out = { quoted: outAmount, bound: minOut };
  if (side === 'sell') return [out];
  const cost = { quoted: inAmount, bound: maxIn };
  return minOut === outAmount && maxIn > inAmount ? [cost, out] : [out, cost];
}

/** Balances at the moment that it landed are nobody's to tell any more. */
function knownOf({ side, baseDecimals, quoteDecimals }: OrderTerms): FailureTerms {
  const unknown = { have: null, need: null };
  const decimals = side === 'sell' ? baseDecimals : quoteDecimals;
  return { side, quoted: null, bound: null, lamports: unknown, tokens: { ...unknown, decimals } };
}

/** Whether two nodes show the same: amounts to the last unit. Not every node has the time of a block. */
function isSameReading(one: LandedReading, other: LandedReading): boolean {
  const shown = ({ slot, fill, error }: LandedReading): string =>
    JSON.stringify(
      [slot, error?.code ?? null, fill === null ? null : Object.entries(fill).filter(([field]) => field !== 'blockTime')],
      (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    );
  return shown(one) === shown(other);
}

/** Reads landed transactions from as many nodes as have to agree, until they show the same. */
export function createLandedReader(nodes: readonly SendNode[], clock: Clock): LandedReader {
  const counters = { ...noReads };
  const turns = createTurns(maxRunning, maxWaiting);
  let nextAtMs = 0;

  async function placeInLine(signal: AbortSignal): Promise<void> {
    const nowMs = clock.steadyMs();
    const waitMs = nextAtMs - nowMs;
    nextAtMs = Math.max(nowMs, nextAtMs) + apartMs;
    if (waitMs > 0) await pause(waitMs, signal, { ref: false, clock });
  }

  async function ask({ rpc }: SendNode, landed: LandedOrder, signal: AbortSignal): Promise<FillReading> {
    const options = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 1 };
    try {
      const answer = await rpc.call('getTransaction', [landed.signature, options], signal);
      return answer === null ? { kind: 'unusable', reason: 'not found' } : readFill(answer, landed.signature, landed.terms);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { kind: 'unusable', reason: error.kind };
    }
  }

  /** What an answer says, if it is about the same landing as the status. */
  function take(reading: FillReading, landed: LandedOrder): LandedReading | null {
    const { slot } = landed;
    const told = reading.kind === 'fill' ? reading.fill.slot : reading.kind === 'unusable' ? null : reading.slot;
    if (told === null) counters.unusable++;
    else if (told !== slot || (reading.kind === 'failed') !== (landed.err !== null)) counters.otherSlot++;
    else if (reading.kind === 'failed') return { slot, fill: null, error: orderError(reading.err, reading.logs, landed) };
    else return { slot, fill: reading.kind === 'fill' ? reading.fill : null, error: null };
    return null;
  }

  async function askOne(node: SendNode, landed: LandedOrder, signal: AbortSignal): Promise<LandedReading | null> {
    const reading = await ask(node, landed, signal);
    // A lightning order's transaction moves the wallet's tokens by its trade alone.
    if (reading.kind === 'fill' && !reading.balancesAgree && landed.isLightning) counters.disagreed++;
    return take(reading, landed);
  }

  async function askEach(landed: LandedOrder, mayBeAlone: boolean, signal: AbortSignal): Promise<LandedReading | null> {
    const verdict = await askUntilAgreed<LandedReading>({
      endpoints: nodes.map((_, index) => index),
      ask: (index) => askOne(nodes[index]!, landed, signal),
      agree: isSameReading,
      hedgeAfterMs,
      othersWithinMs,
    });
    if (verdict.kind === 'contradicted') counters.contradicted++;
    return verdict.kind === 'agreed' && (verdict.isMajority || mayBeAlone) ? verdict.votes[0]!.value : null;
  }

  async function readOnce(landed: LandedOrder, mayBeAlone: boolean, signal: AbortSignal): Promise<LandedReading | null> {
    const give = await turns.take();
    try {
      await placeInLine(signal);
      return await askEach(landed, mayBeAlone, signal);
    } finally {
      give?.();
    }
  }

  return {
    counters,
    async read(landed, signal) {
      const beganMs = clock.steadyMs();
      while (!signal.aborted) {
        const reading = await readOnce(landed, clock.steadyMs() - beganMs > aloneAfterMs, signal);
        if (reading !== null) {
          counters.read++;
          return reading;
        }
        if (clock.steadyMs() - beganMs > giveUpAfterMs) {
          counters.givenUp++;
          return { slot: landed.slot, fill: null, error: landed.err === null ? null : orderError(landed.err, [], landed) };
        }
        await pause(againAfterMs, signal, { ref: false, clock });
      }
      return null;
    },
  };
}
