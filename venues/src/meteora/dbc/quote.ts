import { stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { malformed } from '../../kit/decode.ts';
import { quotePool, type PoolSwap } from '../../kit/pool-quote.ts';
import { coinsOf, feesOf } from '../../kit/swap-trade.ts';
import { decodedOnce, maxU64, ownedData, quoteFault, type QuoteFault, type QuoteMoment, type VenueQuoting } from '../../seam/quoting.ts';
import type { AccountConstants } from '../../seam/venue.ts';
import { feeOf, withFee } from '../fees/fee-rates.ts';
import { configBytes, constantsOf, creatorPart, curveOf, quoteMintOf } from './config.ts';
import { reservesAt, walk } from './curve.ts';
import { decodePool, type DbcPool } from './decode.ts';
import { protocolPart, rateOf, type RatedAmount } from './fees.ts';
import { buildDbcTrade } from './instructions.ts';
import { config as configAt } from './layout.ts';
import { programId } from './program.ts';

/** Everything on which a trade depends. */
interface CurveState {
  readonly pool: DbcPool;
  readonly config: Uint8Array;
  readonly numbers: AccountConstants;
}

const collectsInQuoteOnly = 0;
const activatesBySlot = 0;

interface Amounts extends Pick<PoolSwap, 'amountIn' | 'amountOut' | 'through' | 'left' | 'cut'> {
  readonly price: bigint;
}

/** A fee is taken from the purchase's input if the config collects in quote coins only, and otherwise from the output. */
function amountsOf(
  { pool, config, numbers }: CurveState,
  amount: bigint,
  exactIn: boolean,
  { isBuy, passed }: Direction,
): Amounts | QuoteFault {
  const onInput = isBuy && config[configAt.collectFeeMode] === collectsInQuoteOnly;
  const rate = (of: bigint, isGross: boolean): bigint | null => rateOf(config, pool, { isBuy, passed, amount: of, isGross });
  const first = exactIn || !onInput ? rate(amount, exactIn) : 0n;
  if (first === null) return 'unknown_fee';
  if (exactIn) {
    const entered = onInput ? amount - feeOf(amount, first) : amount;
    const walked = walk(curveOf(numbers), pool.sqrtPrice, entered, { isBuy, exactIn });
    if (walked === null || (walked.left > 0n && !isBuy)) return 'too_large';
    const cut = walked.left > 0n;
    const [through, left] = [entered - walked.left, walked.amount];
    const again = cut && onInput ? rate(through, false) : null;
    if (cut && onInput && again === null) return 'unknown_fee';
    const amountIn = !cut ? amount : again === null ? through : withFee(through, again);
    return { amountIn, amountOut: onInput ? left : left - feeOf(left, first), through, left, cut, price: walked.price };
  }
  const left = onInput ? amount : withFee(amount, first);
  const walked = walk(curveOf(numbers), pool.sqrtPrice, left, { isBuy, exactIn });
  if (walked === null || walked.left > 0n) return 'too_large';
  const last = onInput ? rate(walked.amount, false) : 0n;
  if (last === null) return 'unknown_fee';
  return { amountIn: withFee(walked.amount, last), amountOut: amount, through: walked.amount, left, cut: false, price: walked.price };
}

type Direction = Pick<RatedAmount, 'isBuy' | 'passed'>;

function swapOn(state: CurveState, amount: bigint, exactIn: boolean, direction: Direction): PoolSwap | QuoteFault {
  const amounts = amountsOf(state, amount, exactIn, direction);
  if (typeof amounts === 'string') return amounts;
  const { amountIn, amountOut, through, left, price } = amounts;
  const { pool, numbers } = state;
  if (amountIn > maxU64 || left > maxU64 || (!direction.isBuy && left > pool.quoteReserve)) return 'too_large';
  const fee = amountIn - through + left - amountOut;
  const [of, coin] = amountIn > through ? ([amountIn, 'in'] as const) : ([left, 'out'] as const);
  const protocol = protocolPart(fee);
  const creator = creatorPart(fee - protocol, numbers['creatorShare']!);
  const fees = feesOf(
    [
      ['partner', fee - protocol - creator, of, coin],
      ['creator', creator, of, coin],
      ['protocol', protocol, of, coin],
    ],
    coinsOf(!direction.isBuy),
  );
  const quoteReserve = pool.quoteReserve + (direction.isBuy ? through : -left);
  const after = reservesAt(curveOf(numbers), price, quoteReserve);
  return { ...amounts, fees, after, completes: quoteReserve >= numbers['threshold']! };
}

const numbersOf = decodedOnce(constantsOf);

function passedAt({ pool, config }: CurveState, { slot, unixTimeS }: QuoteMoment): bigint {
  return BigInt(config[configAt.activationType] === activatesBySlot ? slot : unixTimeS) - pool.activationPoint;
}

/** A pool names its coin and its config. The config names the money, and has the curve and the fees. */
export const quoting: VenueQuoting = {
  settings: [],
  countsTransferFees: false,
  accountsOf: () => null,
  open(mint, [address, ...others], accounts) {
    const data = ownedData(accounts, address, programId);
    const pool = data === null ? null : decodePool(data);
    if (pool === null || pool.baseMint !== mint.address) return { kind: 'absent' };
    if (!others.includes(pool.config)) return { kind: 'more', addresses: [pool.config] };
    const config = configBytes(ownedData(accounts, pool.config, programId));
    const numbers = config === null ? null : numbersOf(config);
    if (config === null || numbers?.kind !== 'decoded') return malformed('the config of the pool cannot be read');
    const state: CurveState = { pool, config, numbers: numbers.constants };
    const reserves = reservesAt(curveOf(state.numbers), pool.sqrtPrice, pool.quoteReserve);
    if (reserves === null) return malformed('the price of the pool is beyond its curve');
    const quoteMint = quoteMintOf(config);
    const complete = pool.isMigrated || pool.quoteReserve >= state.numbers['threshold']!;
    const price = { ...stateOfSqrtPrice(pool.sqrtPrice, null), reserves };
    return {
      kind: 'open',
      pool: {
        address,
        quoteMint,
        curve: true,
        complete,
        migrated: pool.isMigrated,
        reserves,
        quote: (trade, at) => {
          if (complete) return quoteFault('complete');
          // The program calls another program with each transfer of such a coin. What that charges or forbids is not known.
          if (pool.hasTransferHook) return quoteFault('unknown_fee');
          const passed = passedAt(state, at);
          const swap = (amount: bigint, exactIn: boolean, isBuy: boolean): PoolSwap | QuoteFault =>
            swapOn(state, amount, exactIn, { isBuy, passed });
          return quotePool({ price, token: null, money: null, isCurve: true, swap }, trade, at.slot);
        },
        build: (order) => buildDbcTrade({ address, pool, config, quoteMint }, order),
      },
    };
  },
};
