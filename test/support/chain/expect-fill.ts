import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { OrderObject } from '@sluice/shared/wire/rest/trading/trade.ts';
import { expect } from 'vitest';
import type { SimChain } from '../../simnet/sim-chain.ts';
import { effectOf } from './trading-world.ts';

/** The fill equals what the landed transaction did to the wallet, by the chain's own balances. */
export function expectFill(chain: SimChain, { fill, side, signature, publicKey, mint, quoteMint, pool }: OrderObject): void {
  if (fill === null) throw new Error('there is no fill');
  const record = chain.transaction(signature!)!;
  expect(record.err).toBeNull();
  const effect = effectOf(chain, record, { publicKey: publicKey!, mint: mint!, quoteMint: quoteMint! });
  const sign = side === 'buy' ? 1n : -1n;
  const [base, paid] = [sign * BigInt(fill.baseAmount), sign * BigInt(fill.traderQuoteAmount)];
  const inSol = quoteMint === wrappedSolMint;
  const otherCosts = BigInt(fill.networkFee) + BigInt(fill.otherLamports);
  expect(effect).toEqual({
    tokens: base,
    quoteCoins: inSol ? 0n : -paid,
    lamports: -otherCosts - (inSol ? paid : 0n),
    fee: BigInt(fill.networkFee),
    rent: BigInt(fill.otherLamports),
  });
  const through = BigInt(fill.quoteAmount) + sign * BigInt(fill.venueFees);
  expect(through).toBe(BigInt(fill.traderQuoteAmount));
  expect(fill).toMatchObject({ pool, slot: record.slot, blockTime: record.blockTime });
  expect(fill.baseUiAmount).toBe(toUi(BigInt(fill.baseAmount), fill.baseDecimals));
  expect(fill.price).toBeCloseTo(fill.traderQuoteUiAmount / fill.baseUiAmount, 12);
}
