import type { CoinPositions, TradeForm, VenueSigning } from '../../seam/signing.ts';

/** The trade instructions of a program: two ways to buy, and the sale. */
interface TradeInstructions extends Pick<TradeForm, 'user' | 'pool'> {
  readonly coin: CoinPositions & { readonly mint: number };
  readonly money: CoinPositions & { readonly mint: number };
  readonly buy: Uint8Array;
  readonly buyExactIn: Uint8Array;
  readonly buying: Pick<TradeForm, 'accountCount' | 'dataBytes'>;
  readonly sell: Uint8Array;
  readonly selling: Pick<TradeForm, 'accountCount' | 'dataBytes'>;
  readonly extendAccount: Uint8Array;
}

/** What the signer must know of a program of pump. Of both limits, the amount that the user states comes first. */
export function signingOf({
  user,
  pool,
  coin,
  money,
  buy,
  buyExactIn,
  buying,
  sell,
  selling,
  extendAccount,
}: TradeInstructions): VenueSigning {
  const [exactIn, exactOut] = [
    { maxInAt: 8, minOutAt: 16, mode: null },
    { maxInAt: 16, minOutAt: 8, mode: null },
  ];
  const form = (input: typeof coin, output: typeof coin) => ({
    user,
    pool,
    zeros: [],
    input,
    output,
    mints: { input: input.mint, output: output.mint },
  });
  const buys = { ...form(money, coin), ...buying, money: 'input' } as const;
  return {
    forms: [
      { ...buys, discriminator: buy, limits: exactOut },
      { ...buys, discriminator: buyExactIn, limits: exactIn },
      { ...form(coin, money), ...selling, money: 'output', discriminator: sell, limits: exactIn },
    ],
    // Two token accounts, or one and a volume accumulator, which is smaller.
    createdBytes: [165, 165],
    growth: { data: extendAccount, accountCount: 5, pool: 0, user: 1, bytes: 300 },
  };
}
