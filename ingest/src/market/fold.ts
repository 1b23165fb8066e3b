import { isMainPool, type MintHead } from '@sluice/shared/market/head.ts';
import { baseIntervals, marketLimits, type BaseInterval, type BucketChange, type MintChange } from '@sluice/shared/market/market.ts';
import { addPrice, emptyTally, type Tally } from '@sluice/shared/market/tally.ts';
import type { MarketEvent, TradeOrMigration } from './read-event.ts';

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

interface Folding {
  readonly mint: string;
  head: Mutable<MintHead> | null;
  /** A migration has moved the head, which is kept even where nothing else came of the mint. */
  migrated: boolean;
  readonly tallies: Record<BaseInterval, Map<number, Tally>>;
  /** Price ticks, in log order. */
  prices: Uint8Array[];
  trades: Uint8Array[];
}

const intervals = Object.entries(baseIntervals) as readonly [BaseInterval, number][];

/**
 * What events, in log order, change of their mints, whose heads before them are given. Pure. A trade adds to its second, its
 * minute and its hour: its amounts, whichever pool it was in, and the price after it in the main pool. One in another pool,
 * or without a price, adds the price that stood there after the last trade. Price ticks move no bucket.
 */
export function fold(heads: ReadonlyMap<string, MintHead>, events: readonly MarketEvent[]): readonly MintChange[] {
  const mints = new Map<string, Folding>();
  for (const event of events) {
    let mint = mints.get(event.mint);
    if (mint === undefined) mints.set(event.mint, (mint = begin(event.mint, heads.get(event.mint))));
    if (event.kind === 'trade') trade(mint, event);
    else if (event.kind === 'price') mint.prices.push(event.json);
    else migration(mint, event);
  }
  return [...mints.values()].flatMap(changeOf);
}

function begin(mint: string, head: MintHead | undefined): Folding {
  return {
    mint,
    head: head === undefined ? null : { ...head },
    migrated: false,
    tallies: { '1s': new Map(), '1m': new Map(), '1h': new Map() },
    prices: [],
    trades: [],
  };
}

function trade(mint: Folding, event: TradeOrMigration): void {
  const isMain = isMainPool(mint.head, event);
  const head = (mint.head ??= headOf(event));
  if (isMain) enterMain(head, event);
  if (isMain && event.completesCurve) head.curveOver = true;
  if (isMain && event.atS > head.mainTradedS) head.mainTradedS = event.atS;
  if (event.atS > head.tradedS) head.tradedS = event.atS;
  note(head, event);
  const quote = event.quoteMint === head.quoteMint ? event.quote : event.base * (head.priceQuote ?? 0);
  const sol = event.sol ?? valueOf(event, event.priceSol);
  const usd = valueOf(event, event.priceUsd);
  for (const [interval, seconds] of intervals) {
    const startS = event.atS - (event.atS % seconds);
    const tallies = mint.tallies[interval];
    let tally = tallies.get(startS);
    if (tally === undefined) tallies.set(startS, (tally = emptyTally()));
    if (head.priceQuote !== null) addPrice(tally, head.priceQuote, head.priceUsd);
    tally.volumeBase += event.base;
    tally.volumeQuote += quote;
    tally.volumeSol += sol;
    tally.volumeUsd += usd;
    if (event.isBuy) tally.buys++;
    else tally.sells++;
  }
  mint.trades.push(event.json);
  if (mint.trades.length >= 2 * marketLimits.tradesPerMint) mint.trades = mint.trades.slice(-marketLimits.tradesPerMint);
}

function migration(mint: Folding, event: TradeOrMigration): void {
  const head = (mint.head ??= headOf(event));
  enterMain(head, event);
  head.curveOver = true;
  mint.migrated = true;
  if (event.atS > head.mainTradedS) head.mainTradedS = event.atS;
  note(head, event);
}

function headOf(event: TradeOrMigration): Mutable<MintHead> {
  const { pool, poolAddress, quoteMint, depthSol, priceQuote, priceUsd, atS, slot, receivedUs, simulated } = event;
  return {
    pool,
    poolAddress,
    quoteMint,
    depthSol,
    priceQuote,
    priceUsd,
    mainTradedS: atS,
    curveOver: false,
    firstS: atS,
    tradedS: atS,
    slot,
    receivedUs,
    simulated,
  };
}

/** The event is of the main pool, from now on at least. */
function enterMain(head: Mutable<MintHead>, { pool, poolAddress, quoteMint, depthSol, priceQuote, priceUsd }: TradeOrMigration): void {
  if (priceQuote !== null || quoteMint !== head.quoteMint) {
    head.priceQuote = priceQuote;
    head.priceUsd = priceUsd;
  }
  head.pool = pool;
  head.poolAddress = poolAddress;
  head.quoteMint = quoteMint;
  head.depthSol = depthSol;
}

function note(head: Mutable<MintHead>, { slot, receivedUs, simulated }: TradeOrMigration): void {
  head.slot = slot;
  head.receivedUs = receivedUs;
  head.simulated = simulated;
}

/** The quote coins of a trade at a price of the token that stands beside its `priceQuote`; 0 where either is not known. */
function valueOf({ quote, priceQuote }: TradeOrMigration, otherPrice: number | null): number {
  return priceQuote === null || priceQuote === 0 || otherPrice === null ? 0 : quote * (otherPrice / priceQuote);
}

/** What only ticked, and never traded, is left out: nothing says which of its pools is the main one. */
function changeOf({ mint, head, migrated, tallies, prices, trades }: Folding): MintChange[] {
  if (head === null) return [];
  const buckets: BucketChange[] = [];
  for (const [interval] of intervals) for (const [startS, tally] of tallies[interval]) buckets.push({ interval, startS, tally });
  const mark = Buffer.from(`"poolAddress":"${head.poolAddress}"`);
  const price = prices.findLast((json) => Buffer.from(json.buffer, json.byteOffset, json.byteLength).includes(mark)) ?? null;
  if (buckets.length === 0 && price === null && !migrated) return [];
  return [{ mint, head, buckets, price, trades: trades.slice(-marketLimits.tradesPerMint) }];
}
