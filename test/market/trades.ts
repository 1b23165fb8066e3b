import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { depthShare } from '@sluice/shared/market/pools/depth-share.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { addressOf, entryOf, logged, tradeEvent } from '../support/events/stream-events.ts';

/** A moment long ago that is not on the boundary of an interval. */
export const someS = 1_795_248_017;

/** A slot of this second. The next second begins five slots later. */
const slotAt = (atS: number): number => 380_146_923 + (atS - someS) * 5;

/** A trade of `tokens` at a price. Both have few binary digits, so that sums are exact. */
export interface TradeShape {
  readonly mint: string;
  readonly atS: number;
  readonly tokens?: number;
  readonly price?: number | null;
  /** The price before the trade; unknown by default. */
  readonly before?: number | null;
  /** USD for one SOL; null if unknown. */
  readonly solUsd?: number | null;
  readonly side?: 'buy' | 'sell';
  readonly pool?: 'pump' | 'pump-amm';
  readonly poolAddress?: string;
  readonly depthSol?: number;
  readonly completes?: boolean;
}

export function tradeOf(shape: TradeShape): TradeEvent {
  const { mint, atS, tokens = 4, price = 0.5, solUsd = 128, side = 'buy', pool = 'pump', depthSol = 8 } = shape;
  const quote = tokens * (price ?? 0.25);
  const priceUsd = price === null || solUsd === null ? null : price * solUsd;
  const event = tradeEvent(mint, {
    side,
    pool,
    poolAddress: shape.poolAddress ?? addressOf(pool === 'pump' ? 910_000 : 920_000),
    quoteMint: wrappedSolMint,
    slot: slotAt(atS),
    blockTime: atS,
    tokenAmount: tokens,
    quoteUiAmount: quote,
    solAmount: quote,
    priceQuote: price,
    priceSol: price,
    priceUsd,
    priceQuoteBefore: shape.before ?? null,
    ...(shape.completes === true ? { curveCompleted: true } : {}),
  });
  return { ...event, reserves: { ...event.reserves!, ...quoteReservesOf(depthSol) } };
}

/** Quote reserves, all of them real, of a pool with this depth. */
function quoteReservesOf(depthSol: number): { readonly virtualQuote: string; readonly realQuote: string } {
  const reserve = String(Math.round((depthSol * 1e9) / depthShare));
  return { virtualQuote: reserve, realQuote: reserve };
}

/** An entry of the log at an offset. */
export function logEntry(offset: number, event: Parameters<typeof entryOf>[0]): LogEntry {
  return logged(entryOf(event), offset);
}
