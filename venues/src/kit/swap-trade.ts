import type { TokenBalance } from '@sluice/shared/solana/transaction/inner-events.ts';
import { feesIn } from '../seam/fee.ts';
import type { Fee, Pair, PoolAmounts, PriceState, VenueTrade } from '../seam/venue.ts';

const basisPoints = 10_000n;

/** A fee of an event that contains no rates, the amount that it is taken from, and whether the coin that comes in or goes out is charged. */
export type Charge = readonly [kind: Fee['kind'], amount: bigint, of: bigint, coin: 'in' | 'out'];

/** The coins of a trade in the order of its direction. */
export function coinsOf(isSell: boolean): Readonly<Record<'in' | 'out', Fee['coin']>> {
  return isSell ? { in: 'base', out: 'quote' } : { in: 'quote', out: 'base' };
}

/** The rate of a fee: its share of the amount that it is taken from, rounded. */
export function shareBps(amount: bigint, of: bigint): number {
  return of === 0n ? 0 : Number((amount * basisPoints + of / 2n) / of);
}

/** The fees of a swap. A fee of 0 is left out. */
export function feesOf(charges: readonly Charge[], coins: Readonly<Record<'in' | 'out', Fee['coin']>>): Fee[] {
  return charges
    .filter(([, amount]) => amount > 0n)
    .map(([kind, amount, of, coin]) => ({
      kind,
      amount,
      bps: shareBps(amount, of),
      coin: coins[coin],
    }));
}

/** The trade of a swap. `through` is what the pool's formula counts of the coin that comes in, `left` of the other. */
export function swapTrade(
  { isSell, through, left, charges }: { isSell: boolean; through: bigint; left: bigint; charges: readonly Charge[] },
  shown: Pick<VenueTrade, 'pool' | 'pair' | 'trader' | 'before'> & PriceState,
): VenueTrade {
  const [baseAmount, quoteAmount] = isSell ? [through, left] : [left, through];
  const fees = feesOf(charges, coinsOf(isSell));
  return {
    type: 'trade',
    side: isSell ? 'sell' : 'buy',
    baseAmount,
    quoteAmount,
    fees,
    feeTotal: feesIn('quote', fees),
    supply: null,
    timestamp: null,
    ...shown,
  };
}

/** The coins of two vaults; null if the balances do not show them. */
export function pairOf(
  balances: readonly TokenBalance[] | null,
  baseVault: string | undefined,
  quoteVault: string | undefined,
): Pair | null {
  const mintOf = (vault: string | undefined): string | undefined => balances?.find(({ account }) => account === vault)?.mint;
  const [baseMint, quoteMint] = [mintOf(baseVault), mintOf(quoteVault)];
  return baseMint === undefined || quoteMint === undefined ? null : { baseMint, quoteMint };
}

/** What two vaults hold after the transaction; null if the balances do not show it. */
export function heldIn(
  balances: readonly TokenBalance[] | null,
  baseVault: string | undefined,
  quoteVault: string | undefined,
): PoolAmounts | null {
  const heldBy = (vault: string | undefined): bigint | undefined => balances?.find(({ account }) => account === vault)?.after;
  const [base, quote] = [heldBy(baseVault), heldBy(quoteVault)];
  return base === undefined || quote === undefined ? null : { base, quote };
}

/** Null if the balances do not show the coin. */
export function decimalsOf(balances: readonly TokenBalance[] | null, coin: string): number | null {
  return balances?.find(({ mint }) => mint === coin)?.decimals ?? null;
}
