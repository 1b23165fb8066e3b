import { hasPrefix, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import { recordDecoder } from '../../kit/decode.ts';
import { decimalsOf, shareBps, swapTrade, type Charge } from '../../kit/swap-trade.ts';
import { feesIn } from '../../seam/fee.ts';
import type { AccountConstants, DecodeContext, Pair, PriceState, VenueEvent, VenueTrade } from '../../seam/venue.ts';
import { eventLengths, feeParameters } from './layout.ts';
import { priceBefore, stateOfHeld } from './price.ts';
import { collectFeeModes, events, ignoredEvents, mintsAfterPool, swap, swap2, swapAccounts } from './program.ts';

const { bothCoins, compounding } = collectFeeModes;

/** The fees of a swap, as both events show them. In a pool that compounds, the third is the part that stays in the pool. */
interface SwapFees {
  readonly lp: bigint;
  readonly protocol: bigint;
  readonly third: bigint;
  readonly referral: bigint;
}

function readFees(reader: BorshReader): SwapFees {
  return { lp: reader.u64(), protocol: reader.u64(), third: reader.u64(), referral: reader.u64() };
}

function sumOf({ lp, protocol, third, referral }: SwapFees): bigint {
  return lp + protocol + third + referral;
}

function chargesOf({ lp, protocol, third, referral }: SwapFees, compounds: boolean, of: bigint, coin: 'in' | 'out'): readonly Charge[] {
  return [
    ['lp', compounds ? lp + third : lp, of, coin],
    ['protocol', protocol, of, coin],
    ['partner', compounds ? 0n : third, of, coin],
    ['referral', referral, of, coin],
  ];
}

const notOnPool = 'was emitted by an instruction that is not of its kind, or not on its pool';

interface SwapParties {
  readonly pool: string;
  readonly pair: Pair;
  readonly trader: string;
}

/** Null if the instruction is unknown; a text if it is no swap on this pool. */
function partiesOf(pool: string, context: DecodeContext): SwapParties | string | null {
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts, data } = emitting;
  const [baseMint, quoteMint, trader] = [accounts[swapAccounts.mintA], accounts[swapAccounts.mintB], accounts[swapAccounts.user]];
  const isSwap = (hasPrefix(data, swap) || hasPrefix(data, swap2)) && accounts[swapAccounts.pool] === pool;
  if (!isSwap || baseMint === undefined || quoteMint === undefined || trader === undefined) return notOnPool;
  return { pool, pair: { baseMint, quoteMint }, trader };
}

/** Price before and after a swap of a pool that compounds: its reserves are a constant product, and a part of the fee joins those of B. */
function compoundingPrices(isSell: boolean, through: bigint, left: bigint, stays: bigint, a: bigint, b: bigint): Prices | null {
  const [movedA, movedB] = isSell ? [through, -left] : [-left, through];
  const before = stateOfReserves(sameReserves(a - movedA, b - movedB - stays));
  const isSound = a > 0n && b > 0n && before.priceBase > 0n && before.priceQuote > 0n;
  return isSound ? { ...stateOfReserves(sameReserves(a, b)), before } : null;
}

type Prices = PriceState & Pick<VenueTrade, 'before'>;

/** The amounts count transfer fees apart: `paid` left the trader, `received` reached the vault, `output` left it, `credited` reached the trader. */
function readSwap2(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const pool = reader.address();
  const [direction, mode] = [reader.u8(), reader.u8()];
  reader.skip(18); // has_referral, and the parameters of the instruction
  const [received, through] = [reader.u64(), reader.u64()];
  reader.skip(8); // amount_left
  const [output, sqrtPrice] = [reader.u64(), reader.u128()];
  const fees = readFees(reader);
  const paid = reader.u64();
  reader.skip(8); // included_transfer_fee_amount_out, which is `output`
  const credited = reader.u64();
  const timestamp = reader.timestamp();
  const [a, b] = [reader.u64(), reader.u64()];
  if (direction > 1 || mode > compounding || sqrtPrice === 0n || through > received || received > paid || credited > output)
    return 'has an invalid field';
  const parties = partiesOf(pool, context);
  if (parties === null || typeof parties === 'string') return parties;
  const [isSell, compounds] = [direction === 0, mode === compounding];
  const onInput = !isSell && mode !== bothCoins;
  const left = onInput ? output : output + sumOf(fees);
  const [movedA, movedB] = isSell ? [through, left] : [left, through];
  const held = { sqrtPrice, a, b };
  const prices = compounds
    ? compoundingPrices(isSell, through, left, fees.third, a, b)
    : { ...stateOfHeld(held), before: priceBefore(held, isSell, movedA, movedB) };
  if (prices === null) return 'has invalid reserves';
  const charges: readonly Charge[] = [
    ...chargesOf(fees, compounds, onInput ? received : left, onInput ? 'in' : 'out'),
    ['transfer', paid - received, paid, 'in'],
    ['transfer', output - credited, output, 'out'],
  ];
  return { ...swapTrade({ isSell, through, left, charges }, { ...parties, ...prices }), timestamp };
}

/**
 * The event until 2025-10. It does not say in which coin a purchase pays its fee: the pool does. `completeTrade` moves the fee if it is not
 * in the output.
 */
function readSwap(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const pool = reader.address();
  const direction = reader.u8();
  reader.skip(1); // has_referral
  const paid = reader.u64();
  reader.skip(8); // minimum_amount_out
  const [output, sqrtPrice] = [reader.u64(), reader.u128()];
  const fees = readFees(reader);
  const received = reader.u64();
  const timestamp = reader.timestamp();
  if (direction > 1 || sqrtPrice === 0n || received > paid) return 'has an invalid field';
  const parties = partiesOf(pool, context);
  if (parties === null || typeof parties === 'string') return parties;
  const left = output + sumOf(fees);
  const charges: readonly Charge[] = [...chargesOf(fees, false, left, 'out'), ['transfer', paid - received, paid, 'in']];
  const state = { ...stateOfHeld({ sqrtPrice, a: 0n, b: 0n }), depth: null, before: null };
  const trade = { ...swapTrade({ isSell: direction === 0, through: received, left, charges }, { ...parties, ...state }), timestamp };
  return direction === 0 ? trade : { ...trade, needs: { account: pool, facts: [] } };
}

/** A purchase by the older event, in the coin in which the pool collects its fees. */
export function completeTrade(trade: VenueTrade, { collectFeeMode }: AccountConstants): VenueTrade {
  if (collectFeeMode === BigInt(bothCoins)) return trade;
  const received = trade.quoteAmount;
  const fees = trade.fees.map((fee) =>
    fee.kind === 'transfer' ? fee : { ...fee, coin: 'quote' as const, bps: shareBps(fee.amount, received) },
  );
  const charged = fees.reduce((sum, { kind, amount }) => (kind === 'transfer' ? sum : sum + amount), 0n);
  return {
    ...trade,
    baseAmount: trade.baseAmount - charged,
    quoteAmount: received < charged ? 0n : received - charged,
    fees,
    feeTotal: feesIn('quote', fees),
  };
}

function readOpening(reader: BorshReader, { tokenBalances }: DecodeContext): VenueEvent | string {
  const [pool, baseMint, quoteMint, creator] = [reader.address(), reader.address(), reader.address(), reader.address()];
  reader.skip(64 + feeParameters.fixed); // payer, alpha_vault
  if (reader.bool()) reader.skip(feeParameters.dynamic);
  reader.skip(33); // lowest and highest price, activation_type
  const mode = reader.u8();
  reader.skip(16); // liquidity
  const sqrtPrice = reader.u128();
  reader.skip(10); // activation_point, flags
  const [a, b] = [reader.u64(), reader.u64()];
  if (mode > compounding || (mode !== compounding && sqrtPrice === 0n)) return 'has an invalid field';
  return {
    type: 'poolCreated',
    pool,
    baseMint,
    quoteMint,
    baseDecimals: decimalsOf(tokenBalances, baseMint),
    quoteDecimals: decimalsOf(tokenBalances, quoteMint),
    reserves: mode === compounding ? sameReserves(a, b) : null,
    ...(mode !== compounding && { opening: { state: stateOfHeld({ sqrtPrice, a, b }), held: { base: a, quote: b } } }),
    creator,
    timestamp: null,
  };
}

/** The coins of the instruction that changed the liquidity; null if it does not show them. */
function pairBeside(pool: string, context: DecodeContext): Pair | null {
  const accounts = context.instruction()?.accounts ?? [];
  const at = accounts.indexOf(pool);
  const [baseMint, quoteMint] = mintsAfterPool.map((place) => accounts[at + place]);
  return at < 0 || baseMint === undefined || quoteMint === undefined ? null : { baseMint, quoteMint };
}

type Moved = Readonly<{
  type: 'liquidityAdded' | 'liquidityRemoved';
  a: bigint;
  b: bigint;
  liquidity: bigint;
  left: { base: bigint; quote: bigint } | null;
}>;

/** All positions of a pool have its range, so their liquidity adds up. The price stays the same, and the event does not show it. */
function readLiquidity(reader: BorshReader, context: DecodeContext, readMoved: (reader: BorshReader) => Moved | null): VenueEvent | string {
  const pool = reader.address();
  reader.skip(32); // position
  const provider = reader.address();
  const moved = readMoved(reader);
  if (moved === null) return 'has an invalid field';
  const { type, a, b, liquidity, left } = moved;
  const shown = { pool, pair: pairBeside(pool, context), provider, baseAmount: a, quoteAmount: b, left };
  return { type, ...shown, lpAmount: liquidity, state: null, timestamp: null };
}

/** What reached the vaults, or left them, is without a transfer fee that was added, and with one that was withheld. */
function readChange(reader: BorshReader): Moved | null {
  const [netA, netB, grossA, grossB] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const left = { base: reader.u64(), quote: reader.u64() };
  const liquidity = reader.u128();
  reader.skip(16); // two limits
  const change = reader.u8();
  if (change > 1) return null;
  return change === 0
    ? { type: 'liquidityAdded', a: netA, b: netB, liquidity, left }
    : { type: 'liquidityRemoved', a: grossA, b: grossB, liquidity, left };
}

/** The events until 2025-10. */
const readOlder =
  (type: Moved['type']) =>
  (reader: BorshReader): Moved => {
    const liquidity = reader.u128();
    reader.skip(16); // two limits
    return { type, liquidity, a: reader.u64(), b: reader.u64(), left: null };
  };

function readPermanentLock(reader: BorshReader): VenueEvent {
  const pool = reader.address();
  reader.skip(32); // position
  return { type: 'liquidityLocked', pool, lpAmount: reader.u128(), timestamp: null };
}

/** Liquidity that is released later: a part at once, and the rest in equal parts. */
function readLock(reader: BorshReader): VenueEvent {
  const pool = reader.address();
  reader.skip(112); // position, owner, vesting, and when
  const [first, each, periods] = [reader.u128(), reader.u128(), BigInt(reader.u16())];
  return { type: 'liquidityLocked', pool, lpAmount: first + each * periods, timestamp: null };
}

const liquidityForm = (name: string, discriminator: Uint8Array, minLength: number, readMoved: (reader: BorshReader) => Moved | null) => ({
  discriminator,
  name,
  minLength,
  read: (reader: BorshReader, context: DecodeContext) => readLiquidity(reader, context, readMoved),
});

/** From 2025-10 to 2025-12 the program sent both the older and the newer event of a swap, and of a change of liquidity. */
export const decode = recordDecoder(
  [
    { discriminator: events.swap2, name: 'EvtSwap2', minLength: eventLengths.swap2, read: readSwap2 },
    { discriminator: events.swap, name: 'EvtSwap', minLength: eventLengths.swap, unlessSent: events.swap2, read: readSwap },
    { discriminator: events.initializePool, name: 'EvtInitializePool', minLength: eventLengths.initializePool, read: readOpening },
    liquidityForm('EvtLiquidityChange', events.liquidityChange, eventLengths.liquidityChange, readChange),
    {
      ...liquidityForm('EvtAddLiquidity', events.addLiquidity, eventLengths.addLiquidity, readOlder('liquidityAdded')),
      unlessSent: events.liquidityChange,
    },
    {
      ...liquidityForm('EvtRemoveLiquidity', events.removeLiquidity, eventLengths.removeLiquidity, readOlder('liquidityRemoved')),
      unlessSent: events.liquidityChange,
    },
    { discriminator: events.permanentLock, name: 'EvtPermanentLockPosition', read: readPermanentLock },
    { discriminator: events.lock, name: 'EvtLockPosition', read: readLock },
  ],
  ignoredEvents,
);
