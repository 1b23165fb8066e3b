import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { viewOf, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { amountOut, sameReserves, stateOfReserves } from '../../kit/constant-product.ts';
import { malformed, noTerms, recordDecoder, type RecordForm } from '../../kit/decode.ts';
import { pairOf, swapTrade } from '../../kit/swap-trade.ts';
import type {
  AccountConstants,
  DecodeContext,
  DecodedAccount,
  DecodedConstants,
  EmittingInstruction,
  LiquidityChanged,
  Venue,
  VenueEvent,
  VenueTrade,
} from '../../seam/venue.ts';
import { eventLengths, otherLengths, pool as poolFields, poolLength } from './layout.ts';
import * as program from './program.ts';
import { amountInFor, feeOf, standardFee, type SwapFee } from './swap.ts';

/** The fields of a pool's account that prices and quotes need. The coin is the base, the "pc" the quote. */
export interface AmmPool {
  readonly status: bigint;
  readonly fee: SwapFee;
  /** The operator's share of the fees, which waits in the vaults. It is not liquidity. */
  readonly coinProfit: bigint;
  readonly pcProfit: bigint;
  /** Unix seconds. */
  readonly openTimeS: bigint;
  readonly coinVault: string;
  readonly pcVault: string;
  readonly coinMint: string;
  readonly pcMint: string;
}

/** Reads a pool's account; null if the bytes are not one. It has no discriminator, so its length must do. Never throws. */
export function decodePool(data: Uint8Array): AmmPool | null {
  if (data.length < poolLength || otherLengths.has(data.length)) return null;
  const view = viewOf(data);
  const u64 = (at: number): bigint => view.getBigUint64(at, true);
  const key = (at: number): string => encodeBase58(data, at, 32);
  const [status, numerator, denominator] = [poolFields.status, poolFields.swapFeeNumerator, poolFields.swapFeeDenominator].map(u64) as [
    bigint,
    bigint,
    bigint,
  ];
  // A pool without a status is not open yet.
  if (status === 0n || status > 7n || numerator >= denominator) return null;
  return {
    status,
    fee: { numerator, denominator },
    coinProfit: u64(poolFields.coinProfit),
    pcProfit: u64(poolFields.pcProfit),
    openTimeS: u64(poolFields.openTime),
    coinVault: key(poolFields.coinVault),
    pcVault: key(poolFields.pcVault),
    coinMint: key(poolFields.coinMint),
    pcMint: key(poolFields.pcMint),
  };
}

type Reading = VenueEvent | string | null;

/** The pool, the user and the coins of an instruction; null if it has another number of accounts. */
function partiesOf({ accounts }: EmittingInstruction, places: program.Places | undefined, { tokenBalances }: DecodeContext) {
  const [pool, user] = [accounts[program.poolAt], places === undefined ? undefined : accounts[places.user]];
  if (pool === undefined || places === undefined || user === undefined) return null;
  const [coin, pc] = places.vaults.map((at) => accounts[at]);
  return { pool, user, pair: pairOf(tokenBalances, coin, pc) };
}

function swapPlacesOf({ accounts, data }: EmittingInstruction, exactIn: boolean): program.Places | undefined {
  const { swapBaseIn, swapBaseOut, swapBaseInV2, swapBaseOutV2 } = program.instructions;
  if (data[0] === (exactIn ? swapBaseInV2 : swapBaseOutV2)) return program.swapPlacesV2;
  return data[0] === (exactIn ? swapBaseIn : swapBaseOut) ? program.swapPlaces[accounts.length] : undefined;
}

/** Its reserves are those before the swap, without the operator's share. It shows no rate: the standard one is right if it explains the amounts. */
function readSwap(reader: BorshReader, context: DecodeContext, exactIn: boolean): Reading {
  const [first, second, direction] = [reader.u64(), reader.u64(), reader.u64()];
  reader.skip(8); // the user's balance
  const [coin, pc, computed] = [reader.u64(), reader.u64(), reader.u64()];
  const [paid, received] = exactIn ? [first, computed] : [computed, second];
  if (direction !== 1n && direction !== 2n) return 'has no direction';
  const isSell = direction === 2n;
  const [before, after] = isSell ? [coin, pc] : [pc, coin];
  if (paid === 0n || received === 0n || before === 0n || received >= after) return 'has an invalid amount';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const parties = partiesOf(emitting, swapPlacesOf(emitting, exactIn), context);
  if (parties === null) return 'was emitted by an instruction that is not this swap';
  const fee = feeOf(paid, standardFee);
  const through = paid - fee;
  const isStandard = exactIn ? amountOut(through, before, after) === received : amountInFor(received, before, after, standardFee) === paid;
  const reserves = isSell ? sameReserves(coin + paid, pc - received) : sameReserves(coin - received, pc + paid);
  const { pool, user: trader, pair } = parties;
  const shown = { pool, pair, trader, before: { priceQuote: pc, priceBase: coin }, ...stateOfReserves(reserves) };
  if (isStandard) return swapTrade({ isSell, through, left: received, charges: [['lp', fee, paid, 'in']] }, shown);
  const trade = swapTrade({ isSell, through: paid, left: received, charges: [] }, shown);
  return { ...trade, needs: { account: pool, facts: [] } };
}

/** A deposit and a withdrawal first set the operator's share apart; the event's reserves are those after that, and before the liquidity changed. */
function readLiquidity(reader: BorshReader, context: DecodeContext, isDeposit: boolean): Reading {
  reader.skip(isDeposit ? 24 : 0); // limits
  const burned = isDeposit ? 0n : reader.u64();
  reader.skip(isDeposit ? 0 : 8); // the user's LP tokens
  const [coin, pc] = [reader.u64(), reader.u64()];
  reader.skip(8 + 32); // LP tokens of the pool, and reserves by which the next share is computed
  const [base, quote] = [reader.u64(), reader.u64()];
  const lpAmount = isDeposit ? reader.u64() : burned;
  const left = isDeposit ? { base: coin + base, quote: pc + quote } : { base: coin - base, quote: pc - quote };
  if (base === 0n || quote === 0n || lpAmount === 0n || left.base < 0n || left.quote < 0n) return 'has an invalid amount';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { deposit, withdraw } = program.instructions;
  if (emitting.data[0] !== (isDeposit ? deposit : withdraw)) return 'was emitted by another instruction';
  const places = isDeposit ? program.depositPlaces : program.withdrawalPlaces;
  const parties = partiesOf(emitting, places[emitting.accounts.length], context);
  if (parties === null) return 'was emitted by an instruction with another number of accounts';
  const { pool, pair, user: provider } = parties;
  const state = left.base > 0n && left.quote > 0n ? stateOfReserves(sameReserves(left.base, left.quote)) : null;
  const type: LiquidityChanged['type'] = isDeposit ? 'liquidityAdded' : 'liquidityRemoved';
  return { type, pool, pair, provider, baseAmount: base, quoteAmount: quote, lpAmount, left, state, timestamp: null };
}

function readOpening(reader: BorshReader, context: DecodeContext): Reading {
  reader.skip(8); // from when it trades
  const [quoteDecimals, baseDecimals] = [reader.u8(), reader.u8()];
  reader.skip(16); // lot sizes of the order book
  const [pc, coin] = [reader.u64(), reader.u64()];
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts, data } = emitting;
  const places = data[0] === program.instructions.initialize2 ? program.openingPlaces[accounts.length] : undefined;
  if (places === undefined) return 'was emitted by an instruction that opens no pool';
  const [baseMint, quoteMint] = [accounts[places.mints[0]]!, accounts[places.mints[1]]!];
  const [pool, creator] = [accounts[program.openedPoolAt]!, accounts[places.user]!];
  const reserves = sameReserves(coin, pc);
  return { type: 'poolCreated', pool, baseMint, quoteMint, baseDecimals, quoteDecimals, reserves, creator, timestamp: null };
}

function form(tag: number, name: string, minLength: number, read: RecordForm['read']): RecordForm {
  return { discriminator: Uint8Array.of(tag), name, minLength, read };
}

const { events } = program;
const decodeEvent = recordDecoder(
  [
    form(events.swapExactIn, 'SwapBaseInLog', eventLengths.swap, (reader, context) => readSwap(reader, context, true)),
    form(events.swapExactOut, 'SwapBaseOutLog', eventLengths.swap, (reader, context) => readSwap(reader, context, false)),
    form(events.deposit, 'DepositLog', eventLengths.deposit, (reader, context) => readLiquidity(reader, context, true)),
    form(events.withdrawal, 'WithdrawLog', eventLengths.withdrawal, (reader, context) => readLiquidity(reader, context, false)),
    form(events.opening, 'InitLog', eventLengths.opening, readOpening),
  ],
  new Map(),
  1,
);

/** An event is a text: base64 after a prefix. */
export const decode: Venue['decode'] = (context, emit) => {
  const { feePayer, tokenBalances } = context;
  const data = Buffer.from((context.text ?? '').slice(program.logPrefix.length), 'base64');
  return decodeEvent({ record: 'text', data, text: null, instruction: () => context.instruction(), feePayer, tokenBalances }, emit);
};

export function decodeAccount(data: Uint8Array): DecodedAccount {
  const other = otherLengths.get(data.length);
  if (other !== undefined) return { kind: 'ignored', name: other };
  const pool = decodePool(data);
  if (pool === null) return malformed('AmmInfo too short, or with an invalid field');
  const { coinMint, pcMint, coinVault, pcVault, coinProfit, pcProfit } = pool;
  return {
    kind: 'decoded',
    account: {
      type: 'pool',
      baseMint: coinMint,
      quoteMint: pcMint,
      baseVault: coinVault,
      quoteVault: pcVault,
      vaultOwner: program.authority,
      tokenCreator: null,
      price: null,
      virtualBase: -coinProfit,
      virtualQuote: -pcProfit,
      ...noTerms,
    },
  };
}

/** The rate of a pool that does not have the standard one. */
export function constantsOf(data: Uint8Array): DecodedConstants {
  const pool = decodePool(data);
  if (pool === null) return malformed('not a pool');
  const { numerator, denominator } = pool.fee;
  return { kind: 'decoded', constants: { numerator, denominator } };
}

export function completeTrade(trade: VenueTrade, constants: AccountConstants): VenueTrade {
  const isSell = trade.side === 'sell';
  const [paid, left] = isSell ? [trade.baseAmount, trade.quoteAmount] : [trade.quoteAmount, trade.baseAmount];
  const fee = feeOf(paid, constants as unknown as SwapFee);
  const { pool, pair, trader, before, priceQuote, priceBase, reserves, depth } = trade;
  const shown = { pool, pair, trader, before, priceQuote, priceBase, reserves, depth };
  return swapTrade({ isSell, through: paid - fee, left, charges: [['lp', fee, paid, 'in']] }, shown);
}
