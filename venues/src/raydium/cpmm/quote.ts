import { sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import { tierFees } from '../../kit/fee-tier.ts';
import { heldBy, pairQuoting, type PairState } from '../../kit/pair-quoting.ts';
import { maxU64, ownedData } from '../../seam/quoting.ts';
import { decodeConfig, type CpmmRates } from './config.ts';
import { decodePool, type CpmmPool } from './decode.ts';
import { buildSwap } from './instructions.ts';
import { swapDisabled } from './layout.ts';
import { authority, programId } from './program.ts';
import { swapExactIn, swapExactOut } from './swap.ts';

/** Swaps like the program. Reserves are without the fees that wait in the vaults. */
function swapOn(pool: CpmmPool, tier: CpmmRates, reserve0: bigint, reserve1: bigint): PairState['swap'] {
  const rates = pool.hasCreatorFee ? tier : { ...tier, creator: 0n };
  return (amount, exactIn, pays0, coins) => {
    const [reserveIn, reserveOut] = pays0 ? [reserve0, reserve1] : [reserve1, reserve0];
    const creatorFeeOnInput = pool.creatorFeeOn === 0 || (pool.creatorFeeOn === 1) === pays0;
    const state = { reserveIn, reserveOut, rates, creatorFeeOnInput };
    const swapped = exactIn ? swapExactIn(state, amount) : swapExactOut(state, amount);
    if (swapped === null || reserveIn + swapped.amountIn > maxU64) return 'too_large';
    const creator = {
      kind: 'creator',
      amount: swapped.fees.creator,
      bps: Math.round(Number(rates.creator) / 100),
      coin: creatorFeeOnInput ? coins.in : coins.out,
    } as const;
    return { ...swapped, fees: [...tierFees(swapped.fees, rates, coins.in), creator] };
  };
}

function stateOf(pool: CpmmPool, rates: CpmmRates, reserve0: bigint, reserve1: bigint): PairState {
  return {
    price: stateOfReserves(sameReserves(reserve0, reserve1)),
    swap: swapOn(pool, rates, reserve0, reserve1),
    after: (next0, next1) => stateOf(pool, rates, next0, next1),
  };
}

/** The pool's account names its vaults and its fee tier. The fee tiers are many, so they are read with the pool. */
export const quoting = pairQuoting<CpmmPool>({
  programId,
  decode: decodePool,
  coins: ({ mint0, mint1 }) => [mint0, mint1],
  isClosed: ({ status, openTimeS }, unixTimeS) => (status & swapDisabled) !== 0 || BigInt(unixTimeS) < openTimeS,
  build: buildSwap,
  needs: ({ vault0, vault1, config }) => [vault0, vault1, config],
  open(pool, _address, accounts) {
    const rates = decodeConfig(ownedData(accounts, pool.config, programId) ?? new Uint8Array(0));
    const [held0, held1] = [heldBy(authority, pool.vault0, pool.mint0, accounts), heldBy(authority, pool.vault1, pool.mint1, accounts)];
    if (rates === null || held0 === null || held1 === null) return 'a vault or the fee tier of the pool cannot be read';
    const [reserve0, reserve1] = [held0 - pool.waiting0, held1 - pool.waiting1];
    if (reserve0 <= 0n || reserve1 <= 0n) return 'a vault of the pool holds no more than its fees';
    return stateOf(pool, rates, reserve0, reserve1);
  },
});
