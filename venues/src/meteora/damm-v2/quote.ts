import { pairQuoting } from '../../kit/pair-quoting.ts';
import type { PoolSwap } from '../../kit/pool-quote.ts';
import { feesOf } from '../../kit/swap-trade.ts';
import { maxU64, type QuoteFault, type QuoteMoment } from '../../seam/quoting.ts';
import type { Fee } from '../../seam/venue.ts';
import { feeOf, withFee } from '../fees/fee-rates.ts';
import { buildSwap } from './instructions.ts';
import { protocolPart, rateOf } from './fees.ts';
import { decodePool, priceOfPool, type DammPool } from './pool.ts';
import { collectFeeModes, programId } from './program.ts';
import { leftFor, throughFor } from './swap.ts';

const bySlot = 0;
const byTime = 1;

function passedAt({ activationType, activationPoint }: DammPool, unixTimeS: number, slot: number): bigint {
  return BigInt(activationType === bySlot ? slot : unixTimeS) - activationPoint;
}

type Amounts = Pick<PoolSwap, 'amountIn' | 'amountOut' | 'through' | 'left'>;

/** A fee on the input is known before the swap if the input is exact, and after it if the output is. */
function amountsOf(pool: DammPool, amount: bigint, exactIn: boolean, paysA: boolean, passed: bigint): Amounts | QuoteFault {
  const onInput = !paysA && pool.collectFeeMode !== collectFeeModes.bothCoins;
  const rate = (of: bigint, isGross: boolean): bigint | null => rateOf(pool, { amount: of, isGross, paysB: !paysA, passed });
  if (exactIn) {
    const charged = rate(amount, true);
    if (charged === null) return 'unknown_fee';
    const through = onInput ? amount - feeOf(amount, charged) : amount;
    const left = leftFor(pool, through, paysA);
    if (left === null) return 'too_large';
    return { amountIn: amount, amountOut: onInput ? left : left - feeOf(left, charged), through, left };
  }
  const before = onInput ? 0n : rate(amount, false);
  if (before === null) return 'unknown_fee';
  const left = withFee(amount, before);
  const through = throughFor(pool, left, paysA);
  if (through === null) return 'too_large';
  const after = onInput ? rate(through, false) : 0n;
  if (after === null) return 'unknown_fee';
  const amountIn = withFee(through, after);
  return amountIn > maxU64 ? 'too_large' : { amountIn, amountOut: amount, through, left };
}

function swapOn(
  pool: DammPool,
  order: { readonly amount: bigint; readonly exactIn: boolean; readonly paysA: boolean },
  coins: Readonly<Record<'in' | 'out', Fee['coin']>>,
  { unixTimeS, slot }: QuoteMoment,
): PoolSwap | QuoteFault {
  const amounts = amountsOf(pool, order.amount, order.exactIn, order.paysA, passedAt(pool, unixTimeS, slot));
  if (typeof amounts === 'string') return amounts;
  const { amountIn, amountOut, through, left } = amounts;
  const [fee, of, coin] = amountIn > through ? ([amountIn - through, amountIn, 'in'] as const) : ([left - amountOut, left, 'out'] as const);
  const protocol = protocolPart(pool, fee);
  const charges = [
    ['lp', fee - protocol, of, coin],
    ['protocol', protocol, of, coin],
  ] as const;
  return { ...amounts, fees: feesOf(charges, coins) };
}

/** The pool's account has everything that a swap needs. */
export const quoting = pairQuoting<DammPool>({
  programId,
  decode: decodePool,
  coins: ({ mintA, mintB }) => [mintA, mintB],
  isClosed: (pool, unixTimeS, slot) => !pool.isEnabled || pool.activationType > byTime || passedAt(pool, unixTimeS, slot) < 0n,
  build: buildSwap,
  needs: () => [],
  open(pool) {
    // What stays of a fee depends on the pool, so reserves after a trade are not shown.
    const price = { ...priceOfPool(pool), reserves: null };
    if (price.priceBase === 0n || price.priceQuote === 0n) return 'the pool has no price';
    return { price, swap: (amount, exactIn, paysA, coins, at) => swapOn(pool, { amount, exactIn, paysA }, coins, at) };
  },
});
