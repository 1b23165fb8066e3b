import { ammTradeEventBytes, keyOf, tradeEventBytes, type AmmTrade, type PumpTrade } from './pump-frames.ts';

const someTimestamp = 1_791_485_924;

/**
 * Trades for tests about something else; each test sets only the fields that matter to it. This one is the first buy on a curve, for one
 * SOL.
 */
export function curveBuy(parts: Partial<PumpTrade> = {}): Buffer {
  return tradeEventBytes({
    mint: keyOf('coin'),
    trader: keyOf('trader'),
    side: 'buy',
    solAmount: 1_000_000_000n,
    tokenAmount: 34_612_903_225_806n,
    virtualSol: 31_000_000_000n,
    virtualToken: 1_038_387_096_774_194n,
    timestamp: someTimestamp,
    ...parts,
  });
}

/** A small buy in a pool. */
export function poolBuy(parts: Partial<AmmTrade> = {}): Buffer {
  return ammTradeEventBytes({
    side: 'buy',
    pool: keyOf('pool'),
    trader: keyOf('trader'),
    baseAmount: 1_000n,
    quoteAmount: 5_000n,
    baseBefore: 1_000_000n,
    quoteBefore: 5_000_000n,
    timestamp: someTimestamp,
    ...parts,
  });
}
