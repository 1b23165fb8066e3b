import { amountOut, sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import { heldBy, pairQuoting, type PairState } from '../../kit/pair-quoting.ts';
import { maxU64 } from '../../seam/quoting.ts';
import { decodePool, type AmmPool } from './decode.ts';
import { buildSwap } from './instructions.ts';
import { trades, tradesFromOpening } from './layout.ts';
import { authority, programId } from './program.ts';
import { amountInFor, feeOf, type SwapFee } from './swap.ts';

function swapOn(fee: SwapFee, coin: bigint, pc: bigint): PairState['swap'] {
  return (amount, exactIn, paysCoin, coins) => {
    const [reserveIn, reserveOut] = paysCoin ? [coin, pc] : [pc, coin];
    if (!exactIn && amount >= reserveOut) return 'too_large';
    const amountIn = exactIn ? amount : amountInFor(amount, reserveIn, reserveOut, fee);
    if (reserveIn + amountIn > maxU64) return 'too_large';
    const charged = feeOf(amountIn, fee);
    const through = amountIn - charged;
    const out = exactIn ? amountOut(through, reserveIn, reserveOut) : amount;
    const bps = Math.round((Number(fee.numerator) * 10_000) / Number(fee.denominator));
    return { amountIn, amountOut: out, through, left: out, fees: [{ kind: 'lp', amount: charged, bps, coin: coins.in }] };
  };
}

function stateOf(fee: SwapFee, coin: bigint, pc: bigint): PairState {
  const price = stateOfReserves(sameReserves(coin, pc));
  return { price, swap: swapOn(fee, coin, pc), after: (nextCoin, nextPc) => stateOf(fee, nextCoin, nextPc) };
}

/** A pool with the status of an order book is not quoted: the versions of the program do not agree on its reserves. */
export const quoting = pairQuoting<AmmPool>({
  programId,
  decode: decodePool,
  coins: ({ coinMint, pcMint }) => [coinMint, pcMint],
  isClosed: ({ status, openTimeS }, unixTimeS) => status !== trades && (status !== tradesFromOpening || BigInt(unixTimeS) < openTimeS),
  build: buildSwap,
  needs: ({ coinVault, pcVault }) => [coinVault, pcVault],
  open({ coinVault, pcVault, coinMint, pcMint, coinProfit, pcProfit, fee }, _address, accounts) {
    const [coinHeld, pcHeld] = [heldBy(authority, coinVault, coinMint, accounts), heldBy(authority, pcVault, pcMint, accounts)];
    if (coinHeld === null || pcHeld === null) return 'a vault of the pool cannot be read';
    const [coin, pc] = [coinHeld - coinProfit, pcHeld - pcProfit];
    if (coin <= 0n || pc <= 0n) return 'a vault of the pool holds no more than its fees';
    return stateOf(fee, coin, pc);
  },
});
