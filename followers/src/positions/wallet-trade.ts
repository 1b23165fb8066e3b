import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { readVerdict, type SlotVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { Commitment, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { accountTradesTopic, allTradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { quoteCoins, quoteInSol } from '@sluice/shared/wire/values/money.ts';
import type { Movement } from './position.ts';

/** A trade of one wallet. */
export interface WalletTrade {
  /** Id of the event; of a trade from the history of the chain, unique as well. */
  readonly id: string;
  readonly signature: string;
  readonly slot: number;
  readonly index: number | null;
  readonly commitment: Commitment;
  /** What it moved: one mint, or two if the quote coin is no money. */
  readonly legs: readonly Leg[];
}

export interface Leg extends Movement {
  readonly mint: string;
}

/** What positions use of the log. */
export type PositionEvent =
  | { readonly kind: 'trade'; readonly wallet: string; readonly trade: WalletTrade }
  | { readonly kind: 'retract'; readonly wallet: string; readonly id: string }
  | { readonly kind: 'slots'; readonly verdict: SlotVerdict };

const accountPrefix = accountTradesTopic('');

/** The trade, retraction or verdict of an entry; null for all others. `isFollowed` decides by the wallet, before anything is parsed. */
export function readPositionEvent(entry: LogEntry, isFollowed: (wallet: string) => boolean): PositionEvent | null {
  const { topics } = entry;
  if (topics[0]?.topic !== allTradesTopic) {
    const verdict = readVerdict(entry);
    return verdict === null ? null : { kind: 'slots', verdict };
  }
  const wallet = topics.find(({ topic }) => topic.startsWith(accountPrefix))?.topic.slice(accountPrefix.length);
  if (wallet === undefined || !isFollowed(wallet)) return null;
  const event = entry.eventOrNull;
  try {
    if (event?.type === 'retract') return { kind: 'retract', wallet, id: event.id };
    if (event?.type !== 'trade' || event.trader !== wallet || isMoney(event.mint)) return null;
    return { kind: 'trade', wallet, trade: tradeOf(event) };
  } catch (error) {
    // The bus carries any bytes, not only those that ingest publishes.
    if (error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
}

/** Coins that orders pay in are money, and no positions. */
export function isMoney(mint: string): boolean {
  return quoteCoins.has(mint);
}

function tradeOf(event: TradeEvent): WalletTrade {
  const { id, slot, signature, transactionIndex: index = null, commitment, mint, quoteMint, side, blockTime, ts } = event;
  const feesIn = (of: string): bigint => event.fees.reduce((sum, fee) => (fee.mint === of ? sum + BigInt(fee.amount) : sum), 0n);
  const base = { mint, decimals: event.baseDecimals, amount: BigInt(event.baseAmount), fees: feesIn(mint) };
  const quote = { mint: quoteMint, decimals: event.quoteDecimals, amount: BigInt(event.quoteAmount), fees: feesIn(quoteMint) };
  const atMs = blockTime === null ? Math.floor(ts.received / 1_000) : blockTime * 1_000;
  const legs = legsOf({ side, base, quote, atMs }, (paid) => lamportsOf(event, paid));
  return { id, signature: signature ?? id, slot, index, commitment, legs };
}

/** One coin of a trade: the raw amount through the pool, and the fees that were charged in the coin. */
interface TradedCoin {
  readonly mint: string;
  readonly decimals: number;
  readonly amount: bigint;
  readonly fees: bigint;
}

export interface TradedPair {
  readonly side: 'buy' | 'sell';
  readonly base: TradedCoin;
  readonly quote: TradedCoin;
  readonly atMs: number;
}

/** What a trade moved. `valueOf`: the value of raw quote coins in lamports; null if it is unknown. */
export function legsOf({ side, base, quote, atMs }: TradedPair, valueOf: (quoteAmount: bigint) => bigint | null): Leg[] {
  const paid = withFees(side === 'buy', quote);
  const lamports = valueOf(paid);
  const leg = { mint: base.mint, side, tokens: withFees(side === 'sell', base), lamports, decimals: base.decimals, atMs };
  if (isMoney(quote.mint)) return [leg];
  const other = side === 'buy' ? ('sell' as const) : ('buy' as const);
  return [leg, { mint: quote.mint, side: other, tokens: paid, lamports, decimals: quote.decimals, atMs }];
}

/** Of the coin that he gave, a trader paid the amount and the fees. Of the other coin, he received the amount without the fees. */
function withFees(gave: boolean, { amount, fees }: TradedCoin): bigint {
  return gave ? amount + fees : amount > fees ? amount - fees : 0n;
}

/** Other coins count at their price in SOL at the trade. */
function lamportsOf({ quoteMint, quoteDecimals, priceQuote, priceSol }: TradeEvent, quoteAmount: bigint): bigint | null {
  if (quoteMint === wrappedSolMint) return quoteAmount;
  const sol = quoteInSol(Number(quoteAmount) / 10 ** quoteDecimals, quoteMint, priceQuote, priceSol);
  return sol === null ? null : BigInt(Math.round(sol * 10 ** solDecimals));
}
