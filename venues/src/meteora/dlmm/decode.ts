import { hasPrefix, viewOf, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import type { TokenBalance } from '@sluice/shared/solana/transaction/inner-events.ts';
import { token2022Program } from '@sluice/shared/solana/well-known.ts';
import { positionChanged } from '../../kit/concentrated.ts';
import { accountDecoder, malformed, noTerms, recordDecoder } from '../../kit/decode.ts';
import { decimalsOf, heldIn, swapTrade, type Charge } from '../../kit/swap-trade.ts';
import { sentFrom, withheldOf } from '../../kit/transfers.ts';
import type {
  AccountConstants,
  DecodeContext,
  DecodedConstants,
  EmittingInstruction,
  LiquidityChanged,
  Pair,
  PriceState,
  ReadAccount,
  VenueEvent,
  VenueTrade,
} from '../../seam/venue.ts';
import { stateOfBin } from './bin-price.ts';
import { depthOfBins } from './depth.ts';
import { swap2Length, swapLength } from './layout.ts';
import { decodePair } from './pair.ts';
import * as program from './program.ts';

interface Swapped {
  readonly pool: string;
  readonly trader: string;
  readonly startBin: number;
  readonly endBin: number;
  /** What came in, with the fee of the program, and what the vault sent. */
  readonly input: bigint;
  readonly output: bigint;
  /** X comes in. */
  readonly isSell: boolean;
  /** The whole fee. The parts of the protocol and of the host are in it. */
  readonly fee: bigint;
  readonly protocol: bigint;
  readonly host: bigint;
  readonly feeOnInput: boolean;
}

/** The mints at these places of an instruction on a pair; null if it has another form. Each mint must be one of the transaction. */
function pairAt(
  { accounts }: EmittingInstruction,
  balances: readonly TokenBalance[] | null,
  pool: string,
  at: { readonly pair: number; readonly mintX: number; readonly mintY: number },
): Pair | null {
  const [baseMint, quoteMint] = [accounts[at.mintX], accounts[at.mintY]];
  if (accounts[at.pair] !== pool || baseMint === undefined || quoteMint === undefined) return null;
  const isMint = (coin: string): boolean => balances?.some(({ mint }) => mint === coin) === true;
  return isMint(baseMint) && isMint(quoteMint) ? { baseMint, quoteMint } : null;
}

/** What reached the pair and the host, and what the coin withheld of the input. */
interface Received {
  readonly net: bigint;
  readonly withheld: bigint;
}

/**
 * The program of 2026-04 states what reached the pair, and the user sent more. That of 2026-09 states what the user sent. The balance of the vault then
 * shows what the coin withheld, if nothing else moved it: the difference is a share of the input in whole basis points.
 */
function receivedOf(emitting: EmittingInstruction, balances: readonly TokenBalance[] | null, { isSell, input, pool }: Swapped): Received {
  const { accounts } = emitting;
  const { pair, reserveX, reserveY, userIn, programX, programY } = program.swapAccounts;
  const all = { net: input, withheld: 0n };
  if (accounts[pair] !== pool || accounts[isSell ? programX : programY] !== token2022Program) return all;
  const sent = sentFrom(emitting, accounts[userIn]!);
  if (sent > input) return { net: input, withheld: sent - input };
  const vault = balances?.find(({ account }) => account === accounts[isSell ? reserveX : reserveY]);
  if (vault === undefined) return all;
  const net = vault.after - vault.before + sentFrom(emitting, vault.account);
  const withheld = withheldOf(input, net);
  return withheld === 0n ? all : { net, withheld };
}

/** What the coin withheld of the output, by the balance of the user's account. No event shows it. */
function withheldOfOutput(
  { accounts }: EmittingInstruction,
  balances: readonly TokenBalance[] | null,
  { isSell, output, pool }: Swapped,
): bigint {
  const { pair, userOut, programX, programY } = program.swapAccounts;
  if (accounts[pair] !== pool || accounts[isSell ? programY : programX] !== token2022Program) return 0n;
  const balance = balances?.find(({ account }) => account === accounts[userOut]);
  return balance === undefined ? 0n : withheldOf(output, balance.after - balance.before);
}

function tradeOf(swapped: Swapped, context: DecodeContext): VenueEvent | string | null {
  const { pool, trader, startBin, endBin, output, isSell, fee, protocol, host, feeOnInput } = swapped;
  if (protocol + host > fee) return 'has an invalid amount';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { net, withheld } = receivedOf(emitting, context.tokenBalances, swapped);
  const [through, left] = feeOnInput ? [net - fee, output] : [net, output + fee];
  if (through < 0n) return 'has an invalid amount';
  const [of, side] = feeOnInput ? ([net, 'in'] as const) : ([left, 'out'] as const);
  const charges: readonly Charge[] = [
    ['lp', fee - protocol - host, of, side],
    ['protocol', protocol, of, side],
    ['host', host, of, side],
    ['transfer', withheld, net + withheld, 'in'],
    ['transfer', withheldOfOutput(emitting, context.tokenBalances, swapped), output, 'out'],
  ];
  const { reserveX, reserveY } = program.swapAccounts;
  const pair = pairAt(emitting, context.tokenBalances, pool, program.swapAccounts);
  const unknown = { priceQuote: 0n, priceBase: 0n, reserves: null, depth: null };
  const trade = swapTrade({ isSell, through, left, charges }, { pool, pair, trader, before: null, ...unknown });
  const held = heldIn(context.tokenBalances, emitting.accounts[reserveX], emitting.accounts[reserveY]) ?? { base: -1n, quote: -1n };
  return { ...trade, needs: { account: pool, facts: [BigInt(startBin), BigInt(endBin), held.base, held.quote] } };
}

function readSwap(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const [pool, trader] = [reader.address(), reader.address()];
  const [startBin, endBin] = [reader.i32(), reader.i32()];
  const [input, output, isSell] = [reader.u64(), reader.u64(), reader.bool()];
  const [fee, protocol] = [reader.u64(), reader.u64()];
  reader.skip(16); // fee_bps
  const host = reader.u64();
  return tradeOf({ pool, trader, startBin, endBin, input, output, isSell, fee, protocol, host, feeOnInput: true }, context);
}

function readSwap2(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const [pool, trader] = [reader.address(), reader.address()];
  const [startBin, endBin, isSell] = [reader.i32(), reader.i32(), reader.bool()];
  reader.skip(16); // fee_bps
  const input = reader.u64();
  reader.skip(8); // amount_left
  const output = reader.u64();
  const [ofMakers, protocol, ofOrders, host] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const feeOnInput = reader.bool();
  const fee = ofMakers + protocol + ofOrders + host;
  return tradeOf({ pool, trader, startBin, endBin, input, output, isSell, fee, protocol, host, feeOnInput }, context);
}

/** The depth is unknown once the price is further than this from where it was read: its owner may have moved the liquidity. */
const depthWithinBps = 500n;

/** Sets the prices of the bins at which the swap began and ended, and the depth: at most what the vault of the money holds. */
export function completeTrade(trade: VenueTrade, { binStep, depth, depthBin, isReversed }: AccountConstants): VenueTrade {
  const [startBin, endBin, heldX, heldY] = trade.needs!.facts as readonly [bigint, bigint, bigint, bigint];
  const [start, end] = [startBin, endBin].map((bin) => stateOfBin(Number(binStep), Number(bin))) as [PriceState, PriceState];
  const held = isReversed === 1n && end.priceBase > 0n ? (heldX * end.priceQuote) / end.priceBase : heldY;
  const moved = endBin - (depthBin ?? endBin);
  const isKnown = depth !== undefined && heldX >= 0n && (moved < 0n ? -moved : moved) * binStep! <= depthWithinBps;
  const shown = !isKnown ? null : depth < held ? depth : held;
  return { ...trade, ...end, depth: shown, before: start };
}

function readCreated(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const [pool, binStep] = [reader.address(), reader.u16()];
  const [baseMint, quoteMint] = [reader.address(), reader.address()];
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts, data } = emitting;
  const creator = accounts[program.funderAccount];
  if (creator === undefined) return 'was emitted by an instruction without accounts';
  const isKnown = data.length >= 12 && program.openingInstructions.some((discriminator) => hasPrefix(data, discriminator));
  return {
    type: 'poolCreated',
    pool,
    baseMint,
    quoteMint,
    baseDecimals: decimalsOf(context.tokenBalances, baseMint),
    quoteDecimals: decimalsOf(context.tokenBalances, quoteMint),
    reserves: null,
    ...(isKnown && { opening: { state: stateOfBin(binStep, viewOf(data).getInt32(8, true)), held: null } }),
    creator,
    timestamp: null,
  };
}

function liquidityOf(
  context: DecodeContext,
  changed: Pick<LiquidityChanged, 'type' | 'pool' | 'provider' | 'baseAmount' | 'quoteAmount'>,
): LiquidityChanged | null {
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { reserveX, reserveY } = program.liquidityAccounts;
  const pair = pairAt(emitting, context.tokenBalances, changed.pool, program.liquidityAccounts);
  const left = pair === null ? null : heldIn(context.tokenBalances, emitting.accounts[reserveX], emitting.accounts[reserveY]);
  return positionChanged({ ...changed, pair, left });
}

const readLiquidity =
  (type: LiquidityChanged['type']) =>
  (reader: BorshReader, context: DecodeContext): VenueEvent | null => {
    const [pool, provider] = [reader.address(), reader.address()];
    reader.skip(32); // position
    return liquidityOf(context, { type, pool, provider, baseAmount: reader.u64(), quoteAmount: reader.u64() });
  };

/** A position moved to other bins. The event has the amounts that left the old bins, and the amounts that reached the new ones. */
function readRebalancing(reader: BorshReader, context: DecodeContext): VenueEvent[] | null {
  const pool = reader.address();
  reader.skip(32); // position
  const provider = reader.address();
  reader.skip(4); // active_bin_id
  const [baseOut, baseIn, quoteOut, quoteIn] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const own = { pool, provider };
  const moved = [
    liquidityOf(context, { type: 'liquidityRemoved', ...own, baseAmount: baseOut, quoteAmount: quoteOut }),
    liquidityOf(context, { type: 'liquidityAdded', ...own, baseAmount: baseIn, quoteAmount: quoteIn }),
  ].filter((event) => event !== null);
  return moved.length === 0 ? null : moved.filter(({ baseAmount, quoteAmount }) => baseAmount + quoteAmount > 0n);
}

const { eventDiscriminators } = program;
export const decode = recordDecoder(
  [
    { discriminator: eventDiscriminators.swap2, name: 'Swap2Evt', minLength: swap2Length, read: readSwap2 },
    {
      discriminator: eventDiscriminators.swap,
      name: 'Swap',
      minLength: swapLength,
      unlessSent: eventDiscriminators.swap2,
      read: readSwap,
    },
    { discriminator: eventDiscriminators.created, name: 'LbPairCreate', read: readCreated },
    { discriminator: eventDiscriminators.added, name: 'AddLiquidity', read: readLiquidity('liquidityAdded') },
    { discriminator: eventDiscriminators.removed, name: 'RemoveLiquidity', read: readLiquidity('liquidityRemoved') },
    { discriminator: eventDiscriminators.rebalanced, name: 'Rebalancing', read: readRebalancing },
  ],
  program.ignoredEvents,
);

export function constantsOf(data: Uint8Array, read: ReadAccount, address: string): DecodedConstants {
  const pair = decodePair(data);
  if (pair === null) return malformed('not a pair');
  const { constants, further } = depthOfBins(pair, address, read);
  return { kind: 'decoded', constants: { binStep: BigInt(pair.binStep), ...constants }, further };
}

export const decodeAccount = accountDecoder(
  program.accountDiscriminators.pair,
  (data) => {
    const pair = decodePair(data);
    const price = pair === null ? null : stateOfBin(pair.binStep, pair.activeId);
    if (pair === null || price === null || price.priceBase === 0n) return 'LbPair too short, or without a price';
    const coins = { baseMint: pair.mintX, quoteMint: pair.mintY, baseVault: pair.reserveX, quoteVault: pair.reserveY };
    const own = { vaultOwner: null, tokenCreator: null, virtualBase: 0n, virtualQuote: 0n };
    return { type: 'pool', ...coins, ...own, price, ...noTerms };
  },
  program.ignoredAccounts,
);
