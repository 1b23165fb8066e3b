import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { BorshReader, discriminatorLength, hasPrefix, u128At, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { stateOfSqrtPrice } from '../../kit/concentrated.ts';
import { malformed, noTerms, recordDecoder, undecoded, type RecordForm } from '../../kit/decode.ts';
import { swapTrade, type Charge } from '../../kit/swap-trade.ts';
import type { DecodeContext, DecodedAccount, EmittingInstruction, ReadAccount, VenueEvent } from '../../seam/venue.ts';
import { configBytes, constantsOf, curveOf, quoteMintOf } from './config.ts';
import { reservesAt } from './curve.ts';
import { pool as poolAt, poolLength } from './layout.ts';
import * as program from './program.ts';

/** Shortest layouts of the events. */
const lengths = { swap: 162, swap2: 187, initializePool: 145, curveComplete: 88 } as const;

/** The result of a swap, as both of its events have it. */
interface Swapped {
  /** What the trader pays, and what of it the curve counts. */
  readonly paid: bigint;
  readonly through: bigint;
  readonly received: bigint;
  readonly sqrtPrice: bigint;
  readonly fees: readonly [trading: bigint, protocol: bigint, referral: bigint];
  /** The real quote of the curve afterwards; −1 if the event does not show it. */
  readonly quoteReserve: bigint;
  readonly timestamp: number;
}

function readResult(reader: BorshReader): Pick<Swapped, 'received' | 'sqrtPrice' | 'fees'> {
  return { received: reader.u64(), sqrtPrice: reader.u128(), fees: [reader.u64(), reader.u64(), reader.u64()] };
}

/** `EvtSwap`, after the fields that both events have. */
function readOlder(reader: BorshReader): Swapped {
  reader.skip(16); // params
  const through = reader.u64();
  const result = readResult(reader);
  return { ...result, through, paid: reader.u64(), quoteReserve: -1n, timestamp: reader.timestamp() };
}

function readNewer(reader: BorshReader): Swapped {
  reader.skip(17); // swap_parameters
  const [paid, through] = [reader.u64(), reader.u64()];
  reader.skip(8); // amount_left
  const result = readResult(reader);
  const quoteReserve = reader.u64();
  reader.skip(8); // migration_threshold
  return { ...result, paid, through, quoteReserve, timestamp: reader.timestamp() };
}

/** The accounts of the swap on this pool that emitted an event; null if another instruction did. */
function swapOn(pool: string, { data, accounts }: EmittingInstruction) {
  if (!program.swapInstructions.some((discriminator) => hasPrefix(data, discriminator))) return null;
  const { baseMint: base, quoteMint: quote, user, count } = program.swapAccounts;
  if (accounts.length < count || accounts[program.swapAccounts.pool] !== pool) return null;
  return { pair: { baseMint: accounts[base]!, quoteMint: accounts[quote]! }, trader: accounts[user]! };
}

function readSwap(reader: BorshReader, context: DecodeContext, read: (reader: BorshReader) => Swapped): VenueEvent | string | null {
  const [pool, config, direction] = [reader.address(), reader.address(), reader.u8()];
  reader.bool(); // has_referral
  const { paid, through, received, sqrtPrice, fees, quoteReserve, timestamp } = read(reader);
  const [trading, protocol, referral] = fees;
  const charged = trading + protocol + referral;
  const onInput = through < paid;
  if (direction > 1 || sqrtPrice === 0n || (onInput ? paid - through !== charged : paid !== through)) return 'has an invalid value';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const swap = swapOn(pool, emitting);
  if (swap === null) return 'was emitted by an instruction that is not a swap on its pool';
  const left = onInput ? received : received + charged;
  const [of, coin] = onInput ? ([paid, 'in'] as const) : ([left, 'out'] as const);
  const charges: readonly Charge[] = [
    ['partner', trading, of, coin],
    ['protocol', protocol, of, coin],
    ['referral', referral, of, coin],
  ];
  const shown = { pool, ...swap, before: null, timestamp, ...stateOfSqrtPrice(sqrtPrice, null) };
  const trade = swapTrade({ isSell: direction === 0, through, left, charges }, shown);
  return { ...trade, needs: { account: config, facts: [sqrtPrice, quoteReserve] } };
}

const tokenInstructions = { mintTo: 7, mintToChecked: 14 } as const;

/** What an instruction minted into the vault of its pool; null if it did not. */
function mintedBy({ inner, at, accounts }: EmittingInstruction): bigint | null {
  const { baseMint, baseVault } = program.openingAccounts;
  for (let index = at + 1; index < inner.length; index++) {
    const { data, accounts: touched } = inner[index]!;
    if (data[0] !== tokenInstructions.mintTo && data[0] !== tokenInstructions.mintToChecked) continue;
    if (data.length >= 9 && touched[0] === accounts[baseMint] && touched[1] === accounts[baseVault])
      return viewOf(data).getBigUint64(1, true);
  }
  return null;
}

function readOpening(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const [pool, config, creator, mint] = [reader.address(), reader.address(), reader.address(), reader.address()];
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts, data } = emitting;
  const form = program.openingInstructions.find(({ discriminator }) => hasPrefix(data, discriminator));
  if (form === undefined || accounts[program.openingAccounts.pool] !== pool || accounts[program.openingAccounts.baseMint] !== mint)
    return 'was emitted by an instruction that opens no such pool';
  const [quoteMint, trader, tokenProgram] = [program.openingAccounts.quoteMint, form.payer, form.tokenProgram].map((at) => accounts[at]);
  const supply = mintedBy(emitting);
  const texts = new BorshReader(data, discriminatorLength);
  const [name, symbol, uri] = [texts.text(), texts.text(), texts.text()];
  if (supply === null || texts.failed || quoteMint === undefined || trader === undefined || tokenProgram === undefined)
    return 'was emitted by an instruction that does not show the token';
  return {
    type: 'created',
    mint,
    quoteMint,
    pool,
    name,
    symbol,
    uri,
    creator,
    platform: config,
    trader,
    tokenProgram,
    supply,
    ...noTerms,
    decimals: 0,
    reserves: { virtualBase: 0n, virtualQuote: 0n, realBase: 0n, realQuote: 0n },
    timestamp: null,
    needs: { account: config, facts: [] },
  };
}

/** The last swap of a curve emits it. */
function readComplete(reader: BorshReader, context: DecodeContext): VenueEvent | string | null {
  const pool = reader.address();
  const emitting = context.instruction();
  if (emitting === null) return null;
  const swap = swapOn(pool, emitting);
  if (swap === null) return 'was emitted by an instruction that is not a swap on its pool';
  return { type: 'completed', mint: swap.pair.baseMint, pool, quoteMint: swap.pair.quoteMint, timestamp: null };
}

/** Amounts are those in the vaults of the new pool. Migration fees stay behind, and are paid by later instructions. */
function readMigration(
  { venue: toVenue, accounts: places }: (typeof program.migrations)[number],
  context: DecodeContext,
): VenueEvent | string | null {
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts } = emitting;
  const { curve, pool, baseMint, quoteMint, baseVault, quoteVault } = places;
  const [fromPool, toPool, mint, quote] = [curve, pool, baseMint, quoteMint].map((at) => accounts[at]);
  const [base, money] = [baseVault, quoteVault].map((at) => context.tokenBalances?.find(({ account }) => account === accounts[at]));
  if (fromPool === undefined || toPool === undefined || mint === undefined || quote === undefined) return 'has too few accounts';
  if (base === undefined || money === undefined) return 'shows no balances of the new pool';
  const amounts = { baseAmount: base.after - base.before, quoteAmount: money.after - money.before };
  return { type: 'migrated', mint, quoteMint: quote, fromPool, toVenue, toPool, ...amounts, fee: 0n, timestamp: null };
}

const { swap, swap2, initializePool, curveComplete } = program.eventDiscriminators;

/** The event of ordinary coins, and that of coins with a transfer hook. */
function both(discriminators: readonly Uint8Array[], form: Omit<RecordForm, 'discriminator'>): readonly RecordForm[] {
  return discriminators.map((discriminator) => ({ discriminator, ...form }));
}

export const decode = recordDecoder(
  [
    ...both(swap2, { name: 'EvtSwap2', minLength: lengths.swap2, read: (reader, context) => readSwap(reader, context, readNewer) }),
    {
      discriminator: swap,
      name: 'EvtSwap',
      minLength: lengths.swap,
      unlessSent: swap2[0],
      read: (reader, context) => readSwap(reader, context, readOlder),
    },
    ...both(initializePool, { name: 'EvtInitializePool', minLength: lengths.initializePool, read: readOpening }),
    ...both(curveComplete, { name: 'EvtCurveComplete', minLength: lengths.curveComplete, read: readComplete }),
    ...program.migrations.map((form): RecordForm => ({
      ...form,
      isInstruction: true,
      read: (_reader, context) => readMigration(form, context),
    })),
  ],
  program.ignoredEvents,
);

/** The fields of a pool's account that prices, quotes and instructions need. */
export type DbcPool = NonNullable<ReturnType<typeof decodePool>>;

function isPool(data: Uint8Array): boolean {
  return program.accountDiscriminators.pool.some((kind) => hasPrefix(data, kind));
}

/** Reads a pool's account; null if the bytes are not one. Never throws. */
export function decodePool(data: Uint8Array) {
  if (data.length < poolLength || !isPool(data)) return null;
  const view = viewOf(data);
  const key = (at: number): string => encodeBase58(data, at, 32);
  return {
    config: key(poolAt.config),
    creator: key(poolAt.creator),
    baseMint: key(poolAt.baseMint),
    baseVault: key(poolAt.baseVault),
    quoteVault: key(poolAt.quoteVault),
    quoteReserve: view.getBigUint64(poolAt.quoteReserve, true),
    sqrtPrice: u128At(view, poolAt.sqrtPrice),
    activationPoint: view.getBigUint64(poolAt.activationPoint, true),
    volatility: u128At(view, poolAt.volatilityAccumulator),
    isMigrated: data[poolAt.isMigrated] !== 0,
    hasTransferHook: hasPrefix(data, program.accountDiscriminators.pool[1]),
  };
}

/** The pool names its coin, and its config names the money and the goal. */
export function decodeAccount(data: Uint8Array, read: ReadAccount = () => null): DecodedAccount {
  if (data.length < discriminatorLength) return malformed('shorter than a discriminator');
  if (!isPool(data)) return undecoded(data, program.ignoredAccounts);
  const pool = decodePool(data);
  if (pool === null) return malformed('VirtualPool too short');
  const { baseMint, creator, quoteReserve, sqrtPrice, isMigrated } = pool;
  const found = read(pool.config);
  if (found === null) return { kind: 'more', addresses: [pool.config] };
  const [config, numbers] = [configBytes(found), constantsOf(found)];
  if (config === null || numbers.kind !== 'decoded') return malformed('PoolConfig with an invalid field');
  const reserves = reservesAt(curveOf(numbers.constants), sqrtPrice, quoteReserve);
  if (reserves === null) return malformed('VirtualPool with a price beyond its curve');
  const threshold = numbers.constants['threshold']!;
  return {
    kind: 'decoded',
    account: {
      type: 'curve',
      baseMint,
      quoteMint: quoteMintOf(config),
      reserves,
      supply: null,
      complete: isMigrated || quoteReserve >= threshold,
      goal: { reserve: 'realQuote', from: 0n, to: threshold },
      creator,
      ...noTerms,
    },
  };
}
