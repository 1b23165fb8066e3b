import { describe, expect, it } from 'vitest';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { PriceCheck } from '../../trading/src/triggers/firing/price-check.ts';
import type { MarketRead } from '../../trading/src/quote/markets.ts';
import { mint } from './watch-rig.ts';

/** A market with one pool at this price, in SOL for one token of six decimals. */
function marketAt(priceSol: number, parts: Partial<MarketRead> = {}): MarketRead {
  const quote = { ok: true, quote: { priceQuote: BigInt(Math.round(priceSol * 1e12)), priceBase: 1_000_000_000n } };
  const pools = [{ pool: { quoteMint: wrappedSolMint, quote: () => quote } }];
  const result = { kind: 'market', market: { decimals: 6, pools } };
  return { result, slot: 100, soleSources: 0, ...parts } as unknown as MarketRead;
}

describe('the check of a price', () => {
  const price = { op: '<=', priceSol: 0.4, boundSol: 0.5 } as const;
  const atMost = { mint, slot: 100, price };
  const check = (inMemory: MarketRead, agreed: MarketRead | Error) => {
    const asked: number[] = [];
    const readAgreed = async (_mint: string, slot: number): Promise<MarketRead> => {
      asked.push(slot);
      if (agreed instanceof Error) throw agreed;
      return agreed;
    };
    return { asked, prices: new PriceCheck({ read: () => inMemory, readAgreed }, { wallMs: () => 0 }) };
  };

  it('passes at once if two nodes report such a state of the slot, and asks them otherwise', async () => {
    const known = check(marketAt(0.5), new Error('not asked'));
    expect(known.prices.isTrue(atMost)).toBe(true);
    expect(known.asked).toEqual([]);
    for (const doubtful of [marketAt(0.4, { soleSources: 1 }), marketAt(0.4, { slot: 99 }), marketAt(0.6)]) {
      const asks = check(doubtful, marketAt(0.4));
      // All conditions that one tick meets share a read.
      const all = await Promise.all([asks.prices.isTrue(atMost), asks.prices.isTrue({ ...atMost, price: { ...price, boundSol: 0.3 } })]);
      expect(all).toEqual([true, false]);
      expect(asks.asked).toEqual([100]);
    }
  });

  it('fails if nodes agree on another price, do not agree, or do not answer', async () => {
    const doubtful = marketAt(0.4, { soleSources: 1 });
    for (const agreed of [marketAt(0.6), marketAt(0.4, { soleSources: 2 }), marketAt(0.4, { slot: 99 }), new Error('no answer')])
      expect(await check(doubtful, agreed).prices.isTrue(atMost)).toBe(false);
    expect(await check(doubtful, marketAt(0.4)).prices.isTrue({ ...atMost, price: { ...price, op: '>=' } })).toBe(false);
  });
});
