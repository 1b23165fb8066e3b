import { parseJson } from '../../codec/bytes.ts';
import { beginFold, foldNext, foldUndecided, isVoided, type Fold } from '../candles/fold-trades.ts';
import type { MintHead } from '../pools/main-pool.ts';
import type { MarketTrade } from '../market-trade.ts';
import type { BaseInterval, Bucket } from '../market.ts';
import { bucketOf, copyTally, emptyTally, mergeTally, removePrices, type Tally } from '../candles/tally.ts';

/**
 * An event at `processed` may be retracted until its slot is confirmed. Until then it is in no bucket and in no head: it is stored
 * separately, as published, and readers add it. A retracted event therefore leaves no trace.
 */
export interface Undecided {
  /** In the order of the chain: by slot, and within a slot by `order`. */
  readonly trades: readonly UndecidedTrade[];
  /** The newest price event of each slot and pool, by slot. */
  readonly prices: readonly UndecidedPrice[];
}

export interface UndecidedTrade {
  /** Its place among the trades of the mint in its slot: in log order, unless the places of the transactions in the block are known. */
  readonly order: number;
  readonly trade: MarketTrade;
}

export interface UndecidedPrice extends PriceKey {
  /** The JSON as published. */
  readonly json: Uint8Array;
}

export interface PriceKey {
  readonly slot: number;
  readonly poolAddress: string;
}

export const nothingUndecided: Undecided = { trades: [], prices: [] };

/** How long undecided entries are stored after the last of them, if no process decides them. */
export const undecidedRetentionS = 3_600;

// The stored form: one field for each trade and each price.

export function tradeField({ order }: UndecidedTrade): string {
  return `${order}`;
}

export function priceField({ slot, poolAddress }: PriceKey): string {
  return `p${slot}:${poolAddress}`;
}

/** JSON, composed by hand because every trade needs it. */
export function encodeTrade({ trade }: UndecidedTrade): string {
  const { kind, id, quoteMint, pool, poolAddress, commitment, late, simulated, isBuy, completesCurve } = trade;
  const flags = Number(late) | (Number(simulated) << 1) | (Number(isBuy) << 2) | (Number(completesCurve) << 3);
  const texts = `"${kind}",${JSON.stringify(id)},"${quoteMint}","${pool}","${poolAddress}","${commitment}"`;
  const numbers = `${trade.slot},${trade.atS},${trade.receivedUs},${flags}`;
  const prices = `${trade.priceQuote},null,${trade.priceUsd},${trade.depthSol}`;
  return `[${texts},${numbers},${prices},${trade.base},${trade.quote},${trade.sizeSol},${trade.priceBefore},${trade.index}]`;
}

type Texts = [
  kind: MarketTrade['kind'],
  id: string,
  quoteMint: string,
  pool: MarketTrade['pool'],
  address: string,
  commitment: MarketTrade['commitment'],
];
type Numbers = [slot: number, atS: number, receivedUs: number, flags: number];
type Values = [
  priceQuote: number | null,
  /** Was the price in SOL. The previous version still reads it. */
  unused: null,
  priceUsd: number | null,
  depthSol: number | null,
  base: number,
  quote: number,
  sizeSol: number | null,
  /** Absent if the previous version stored it. */
  priceBefore?: number | null,
  index?: number | null,
];

function decodeTrade(bytes: Uint8Array): MarketTrade {
  const stored = parseJson(bytes) as [...Texts, ...Numbers, ...Values];
  const [kind, id, quoteMint, pool, poolAddress, commitment, slot, atS, receivedUs, flags, ...values] = stored;
  const [priceQuote, , priceUsd, depthSol, base, quote, sizeSol, priceBefore = null, index = null] = values;
  const is = (bit: number): boolean => (flags & (1 << bit)) !== 0;
  const common = { kind, id, quoteMint, pool, poolAddress, slot, index, commitment, atS, receivedUs, late: is(0), simulated: is(1) };
  return { ...common, priceQuote, priceUsd, priceBefore, depthSol, sizeSol, isBuy: is(2), base, quote, completesCurve: is(3) };
}

/** Reads stored fields, in any order. */
export function readUndecided(fields: Iterable<readonly [name: string, value: Uint8Array]>): Undecided {
  const trades: UndecidedTrade[] = [];
  const prices: UndecidedPrice[] = [];
  for (const [name, value] of fields) {
    if (name.startsWith('p')) {
      const colon = name.indexOf(':');
      prices.push({ slot: Number(name.slice(1, colon)), poolAddress: name.slice(colon + 1), json: value });
    } else trades.push({ order: Number(name), trade: decodeTrade(value) });
  }
  return { trades: trades.sort(inChainOrder), prices: prices.sort((a, b) => a.slot - b.slot) };
}

export function inChainOrder(a: UndecidedTrade, b: UndecidedTrade): number {
  return a.trade.slot - b.trade.slot || a.order - b.order;
}

// The form for readers: settled and undecided entries together.

function foldAll(head: MintHead | null, trades: Undecided['trades'], intervals: readonly BaseInterval[]): Fold {
  const fold = beginFold(head, intervals);
  for (const { trade } of trades) foldNext(fold, trade);
  return fold;
}

/** The state of a mint with its undecided entries; null if nothing is known of it. */
export function currentHead(settled: MintHead | null, trades: Undecided['trades']): MintHead | null {
  return trades.length === 0 ? settled : foldAll(settled, trades, []).head;
}

/** The newest price event of the main pool. */
export function currentPrice(head: MintHead | null, settled: Uint8Array | null, undecided: Undecided): Uint8Array | null {
  if (undecided.prices.length === 0) return settled;
  const address = currentHead(head, undecided.trades)?.poolAddress;
  const settledSlot = head?.tickSlot ?? 0;
  return undecided.prices.findLast(({ slot, poolAddress }) => poolAddress === address && slot >= settledSlot)?.json ?? settled;
}

/** What is stored of a mint's buckets in a range, at least. */
export interface Settled {
  readonly head: MintHead | null;
  readonly undecided: Undecided;
  /** Tallies by start. */
  readonly settled: Map<number, Tally>;
}

export interface Range {
  readonly interval: BaseInterval;
  readonly fromS: number;
  readonly toS: number;
  /** How many buckets to return, the newest ones. */
  readonly limit: number;
  /** Unix microseconds of the read: a slot that was received more than `lastsMs` before counts. */
  readonly nowUs: number;
}

/** Buckets with prices in a range, oldest first. Changes the map that is passed. */
export function currentBuckets({ head, undecided, settled }: Settled, { interval, fromS, toS, limit, nowUs }: Range): Bucket[] {
  if (head !== null || undecided.trades.length > 0) {
    const fold = foldAll(head, undecided.trades, [interval]);
    foldUndecided(fold, nowUs);
    const { tallies, voided } = fold;
    if (voided !== null) {
      for (const [startS, tally] of settled) {
        if (!isVoided(voided, interval, startS)) continue;
        const rest = copyTally(tally);
        removePrices(rest);
        settled.set(startS, rest);
      }
    }
    for (const [startS, tally] of tallies[0]![1]) {
      const known = settled.get(startS);
      const both = known === undefined ? emptyTally() : copyTally(known);
      mergeTally(both, tally);
      settled.set(startS, both);
    }
  }
  const buckets: Bucket[] = [];
  for (const [startS, tally] of settled) {
    const bucket = startS >= fromS && startS < toS ? bucketOf(startS, tally) : null;
    if (bucket !== null) buckets.push(bucket);
  }
  return buckets.sort((a, b) => a.startS - b.startS).slice(-limit);
}
