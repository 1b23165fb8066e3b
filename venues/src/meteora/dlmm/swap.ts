import { dividedUp } from '../../kit/constant-product.ts';
import type { PoolSwap } from '../../kit/pool-quote.ts';
import { shareBps } from '../../kit/swap-trade.ts';
import { maxU64, type QuoteFault } from '../../seam/quoting.ts';
import type { Fee } from '../../seam/venue.ts';
import type { Bin } from './bin-arrays.ts';
import type { DlmmPair, FeeSettings, Volatility } from './pair.ts';

/** Fee rates are billionths. */
const rateDenominator = 1_000_000_000n;
const maxRate = 100_000_000n;
const basisPoints = 10_000;
const variableScale = 100_000_000_000n;

/** The state of the variable fee when a swap begins. */
function referenceAt({ activeId, fees, volatility }: DlmmPair, unixTimeS: number): Pick<Volatility, 'reference' | 'indexReference'> {
  const elapsed = Number(BigInt(unixTimeS) - volatility.updatedAtS);
  if (elapsed < fees.filterPeriodS) return volatility;
  const reference = elapsed < fees.decayPeriodS ? Math.floor((volatility.accumulator * fees.reductionFactor) / basisPoints) : 0;
  return { reference, indexReference: activeId };
}

/** The fee rate in a bin: it grows with the square of the distance from the bin where the movement began. */
function rateIn(fees: FeeSettings, binStep: number, { reference, indexReference }: ReturnType<typeof referenceAt>, id: number): bigint {
  const accumulator = Math.min(reference + Math.abs(indexReference - id) * basisPoints, fees.maxVolatility);
  const moved = BigInt(accumulator) * BigInt(binStep);
  const rate = fees.baseRate + dividedUp(fees.variableControl * moved * moved, variableScale);
  return rate < maxRate ? rate : maxRate;
}

/** A bin as one swap meets it. */
interface MetBin {
  readonly price: bigint;
  /** What the market makers can pay. */
  readonly held: bigint;
  /** Limit orders pay after them. What they take is not computed here. */
  readonly hasOrders: boolean;
  readonly rate: bigint;
  readonly feeOnInput: boolean;
  readonly paysX: boolean;
}

interface Filled {
  /** What the trader pays and receives, fees included. */
  readonly amountIn: bigint;
  readonly amountOut: bigint;
  readonly fee: bigint;
  /** The part of the fee that is all the protocol's. */
  readonly over: bigint;
}

const inputFor = ({ price, paysX }: MetBin, output: bigint): bigint =>
  paysX ? dividedUp(output << 64n, price) : dividedUp(output * price, 1n << 64n);
const outputFor = ({ price, paysX }: MetBin, input: bigint): bigint => (paysX ? (input * price) >> 64n : (input << 64n) / price);
const feeOf = (gross: bigint, rate: bigint): bigint => dividedUp(gross * rate, rateDenominator);
const feeOn = (net: bigint, rate: bigint): bigint => dividedUp(net * rate, rateDenominator - rate);

/** As much of an input as one bin takes. */
function fillIn(bin: MetBin, amount: bigint): Filled {
  const { rate, feeOnInput, held } = bin;
  const inFee = feeOnInput ? feeOf(amount, rate) : 0n;
  const net = amount - inFee;
  const needed = inputFor(bin, held);
  const isDrained = net >= needed;
  const output = isDrained ? held : outputFor(bin, net);
  const used = isDrained ? needed : net;
  // What is left over pays no fee.
  const fee = !feeOnInput ? feeOf(output, rate) : used < net ? feeOn(used, rate) : inFee;
  const amountIn = used < net ? used + (feeOnInput ? fee : 0n) : amount;
  return { amountIn, amountOut: feeOnInput ? output : output - fee, fee, over: 0n };
}

/** As much of an output as one bin has. */
function fillOut(bin: MetBin, amount: bigint): Filled {
  const gross = bin.feeOnInput ? amount : amount + feeOn(amount, bin.rate);
  if (gross >= bin.held) return fillIn(bin, maxU64);
  const net = inputFor(bin, gross);
  const filled = fillIn(bin, bin.feeOnInput ? net + feeOn(net, bin.rate) : net);
  // What rounding leaves over of the output is the protocol's.
  const over = bin.feeOnInput ? 0n : filled.amountOut - amount;
  return { amountIn: filled.amountIn, amountOut: amount, fee: filled.fee + over, over };
}

/** Everything on which a swap in one direction depends. */
export interface DlmmState {
  readonly pair: DlmmPair;
  /** Those that can pay, in the order of the swap. */
  readonly bins: readonly Bin[];
}

function metBin({ pair }: DlmmState, bin: Bin, paysX: boolean, reference: ReturnType<typeof referenceAt>): MetBin {
  return {
    price: bin.price,
    held: paysX ? bin.amountY : bin.amountX,
    hasOrders: pair.hasOrders && bin.asks !== paysX && bin.orders > 0n,
    rate: rateIn(pair.fees, pair.binStep, reference, bin.id),
    feeOnInput: pair.fees.mode === 0 || !paysX,
    paysX,
  };
}

/** Swaps like the program, bin by bin. `too_large` if it needs more bins than there are. */
export function swapBins(
  state: DlmmState,
  { amount, exactIn, paysX, unixTimeS }: { amount: bigint; exactIn: boolean; paysX: boolean; unixTimeS: number },
  coins: Readonly<Record<'in' | 'out', Fee['coin']>>,
): PoolSwap | QuoteFault {
  const reference = referenceAt(state.pair, unixTimeS);
  const feeOnInput = state.pair.fees.mode === 0 || !paysX;
  let [left, amountIn, amountOut, fee, protocol] = [amount, 0n, 0n, 0n, 0n];
  for (const one of state.bins) {
    const bin = metBin(state, one, paysX, reference);
    if (bin.held === 0n && !bin.hasOrders) continue;
    if (bin.price === 0n) return 'too_large';
    const filled = exactIn ? fillIn(bin, left) : fillOut(bin, left);
    if (filled.amountIn > maxU64 || amountIn + filled.amountIn > maxU64) return 'too_large';
    left -= exactIn ? filled.amountIn : filled.amountOut;
    amountIn += filled.amountIn;
    amountOut += filled.amountOut;
    fee += filled.fee;
    protocol += filled.over + ((filled.fee - filled.over) * state.pair.fees.protocolShare) / BigInt(basisPoints);
    if (left === 0n) break;
    if (bin.hasOrders) return 'too_large';
  }
  if (left > 0n) return 'too_large';
  const [of, coin] = feeOnInput ? [amountIn, coins.in] : [amountOut + fee, coins.out];
  const fees: readonly Fee[] = [
    { kind: 'lp', amount: fee - protocol, bps: shareBps(fee - protocol, of), coin },
    { kind: 'protocol', amount: protocol, bps: shareBps(protocol, of), coin },
  ];
  return { amountIn, amountOut, through: feeOnInput ? amountIn - fee : amountIn, left: feeOnInput ? amountOut : amountOut + fee, fees };
}
