import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { hasPrefix, viewOf, type BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { token2022Program } from '@sluice/shared/solana/well-known.ts';
import { stateOfReserves } from '../../kit/constant-product.ts';
import { accountDecoder, recordDecoder } from '../../kit/decode.ts';
import { swapTrade, type Charge } from '../../kit/swap-trade.ts';
import { sentFrom, withheldOf } from '../../kit/transfers.ts';
import type {
  CurveAccount,
  CurveMigrated,
  DecodeContext,
  EmittingInstruction,
  TokenCreated,
  TokenTerms,
  VenueEvent,
} from '../../seam/venue.ts';
import { openingNumbers, reservesOf, type CurveNumbers } from './curve.ts';
import { oldTradeLength, pool as poolAt, poolMinLength, statusFunding } from './layout.ts';
import * as program from './program.ts';

/** The platform sets the creator's fee, and not the coin. */
const terms: TokenTerms = { traits: [], supplyByMint: false, creatorFeeBps: 0 };

const otherCurve = 'is of a curve that is not a constant product';

/** The amounts and fees behind the reserves. The older layout has no fee of the creator. */
function readAmounts(reader: BorshReader) {
  const isOld = reader.bytes.length === oldTradeLength;
  const [amountIn, amountOut, protocol, platform] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const creator = isOld ? 0n : reader.u64();
  const share = reader.u64();
  const isSell = reader.bool();
  const status = reader.u8();
  if (!isOld) reader.bool(); // exact_in
  return { amountIn, amountOut, protocol, platform, creator, share, isSell, status };
}

/** The accounts of the trade instruction on this pool that emitted the event; null if another instruction did. */
function tradeOn(pool: string, { accounts, data }: EmittingInstruction, isSell: boolean) {
  const { tradeAccounts: at, tradeInstructions } = program;
  const [trader, baseMint, quoteMint] = [accounts[at.user], accounts[at.baseMint], accounts[at.quoteMint]];
  if (accounts[at.pool] !== pool || !tradeInstructions.some((discriminator) => hasPrefix(data, discriminator))) return null;
  if (trader === undefined || baseMint === undefined || quoteMint === undefined) return null;
  const [base, quote] = [accounts[at.userBase]!, accounts[at.userQuote]!];
  const [input, output] = isSell ? [base, quote] : [quote, base];
  const outputProgram = accounts[isSell ? at.quoteProgram : at.baseProgram];
  return { shown: { trader, pair: { baseMint, quoteMint } }, input, output, outputProgram };
}

/** The highest fee on transfers that a launch can set. */
const maxTransferBps = 500n;

/**
 * `amount_in` is what reaches the vault and `amount_out` what is sent to the trader, after fees. What goes through the curve is the change of `real_base` and
 * `real_quote`. What a coin withholds from its transfers is not in the event. The buy that sells the last token completes the curve.
 */
function readTrade(reader: BorshReader, context: DecodeContext): VenueEvent | VenueEvent[] | string | null {
  const pool = reader.address();
  const [totalBaseSell, virtualBase, virtualQuote] = [reader.u64(), reader.u64(), reader.u64()];
  const [baseBefore, quoteBefore, realBase, realQuote] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const { amountIn, amountOut, protocol, platform, creator, share, isSell, status } = readAmounts(reader);
  const curve = { totalBaseSell, virtualBase, virtualQuote };
  const before = reservesOf({ ...curve, realBase: baseBefore, realQuote: quoteBefore });
  const reserves = reservesOf({ ...curve, realBase, realQuote });
  if (before === null || reserves === null) return otherCurve;
  const [base, quote] = isSell ? [baseBefore - realBase, quoteBefore - realQuote] : [realBase - baseBefore, realQuote - quoteBefore];
  const [through, left] = isSell ? [base, quote] : [quote, base];
  const fees = protocol + platform + creator + share;
  const [feesIn, feesOut] = isSell ? [0n, fees] : [fees, 0n];
  if (base < 0n || quote < 0n || amountIn < through + feesIn || amountOut > left - feesOut) return 'has an invalid amount';
  const emitting = context.instruction();
  if (emitting === null) return null;
  const swap = tradeOn(pool, emitting, isSell);
  if (swap === null) return 'was emitted by an instruction that is not a trade on its curve';
  // Zero if the transaction is in a form without the bytes of its transfers.
  const sent = sentFrom(emitting, swap.input);
  const paid = sent > amountIn ? sent : amountIn;
  const received = left - feesOut;
  const balance =
    swap.outputProgram === token2022Program ? context.tokenBalances?.find(({ account }) => account === swap.output) : undefined;
  const withheld = balance === undefined ? 0n : withheldOf(received, balance.after - balance.before, maxTransferBps);
  const [charged, side] = isSell ? ([left, 'out'] as const) : ([through + fees, 'in'] as const);
  const charges: readonly Charge[] = [
    ['protocol', protocol, charged, side],
    ['platform', platform, charged, side],
    ['creator', creator, charged, side],
    ['share', share, charged, side],
    ['transfer', paid - through - feesIn, paid, 'in'],
    ['transfer', withheld, received, 'out'],
  ];
  const { virtualQuote: priceQuote, virtualBase: priceBase } = before;
  const trade = swapTrade(
    { isSell, through, left, charges },
    { pool, ...swap.shown, before: { priceQuote, priceBase }, ...stateOfReserves(reserves) },
  );
  if (isSell || (reserves.realBase > 0n && status === statusFunding)) return trade;
  return [trade, { type: 'completed', mint: swap.shown.pair.baseMint, pool, quoteMint: swap.shown.pair.quoteMint, timestamp: null }];
}

/** The event names neither the coins nor the platform. The instruction has them. */
function readLaunch(reader: BorshReader, context: DecodeContext): TokenCreated | string | null {
  const [pool, creator] = [reader.address(), reader.address()];
  reader.skip(32); // config
  const decimals = reader.u8();
  const [name, symbol, uri] = [reader.text(), reader.text(), reader.text()];
  const isConstantProduct = reader.u8() === 0;
  const [supply, totalBaseSell, goal] = [reader.u64(), reader.u64(), reader.u64()];
  reader.skip(1); // migrate_type
  const locked = reader.u64();
  reader.skip(16); // cliff_period, unlock_period
  if (reader.failed) return 'ends inside a field';
  const opening = isConstantProduct ? openingNumbers({ supply, totalBaseSell, goal, locked }) : null;
  const reserves = opening === null ? null : reservesOf(opening);
  if (reserves === null) return otherCurve;
  const emitting = context.instruction();
  if (emitting === null) return null;
  const { accounts, data } = emitting;
  const form = program.launchForms.find(({ discriminator }) => hasPrefix(data, discriminator));
  const at = program.launchAccounts;
  const [trader, platform, mint, quoteMint] = [accounts[at.user], accounts[at.platform], accounts[at.baseMint], accounts[at.quoteMint]];
  const tokenProgram = form === undefined ? undefined : accounts[form.tokenProgram];
  if (trader === undefined || platform === undefined || mint === undefined || quoteMint === undefined) return 'has too few accounts';
  if (tokenProgram === undefined || accounts[at.pool] !== pool) return 'was emitted by an instruction that does not launch its coin';
  return {
    type: 'created',
    mint,
    quoteMint,
    pool,
    name,
    symbol,
    uri,
    creator,
    platform,
    trader,
    tokenProgram,
    supply,
    decimals,
    reserves,
    timestamp: null,
    ...terms,
  };
}

/** The program emits no event. The amounts are what the vaults of the new pool received. */
function readMigration(_reader: BorshReader, context: DecodeContext): CurveMigrated | string | null {
  const emitting = context.instruction();
  if (emitting === null || context.tokenBalances === null) return null;
  const { accounts, data } = emitting;
  const form = program.migrationForms.find(
    ({ discriminator, toProgram, programAt }) => hasPrefix(data, discriminator) && accounts[programAt] === toProgram,
  );
  if (form === undefined) return 'has accounts of an unknown order';
  const [mint, quoteMint, fromPool, toPool] = [accounts[1], accounts[2], accounts[form.fromPool], accounts[form.toPool]];
  if (mint === undefined || quoteMint === undefined || fromPool === undefined || toPool === undefined) return 'has too few accounts';
  const [base, quote] = form.toVaults.map((at) => context.tokenBalances!.find(({ account }) => account === accounts[at]));
  if (base === undefined || quote === undefined) return 'moved nothing to the vaults of its pool';
  return {
    type: 'migrated',
    mint,
    quoteMint,
    fromPool,
    toVenue: form.toVenue,
    toPool,
    baseAmount: base.after - base.before,
    quoteAmount: quote.after - quote.before,
    fee: 0n,
    timestamp: null,
  };
}

export const decode = recordDecoder(
  [
    { discriminator: program.eventDiscriminators.trade, name: 'TradeEvent', minLength: oldTradeLength, read: readTrade },
    { discriminator: program.eventDiscriminators.poolCreate, name: 'PoolCreateEvent', read: readLaunch },
    { discriminator: program.migrations.toCpswap, name: 'migrate_to_cpswap', isInstruction: true, read: readMigration },
    { discriminator: program.migrations.toAmm, name: 'migrate_to_amm', isInstruction: true, read: readMigration },
  ],
  program.ignoredEvents,
);

/** Fields of a curve's account. */
export interface LaunchLabCurve extends CurveAccount {
  readonly baseMint: string;
  readonly globalConfig: string;
  readonly platformConfig: string;
  readonly baseVault: string;
  readonly quoteVault: string;
}

function readPool(data: Uint8Array): LaunchLabCurve | string {
  if (data.length < poolMinLength) return 'PoolState too short';
  const view = viewOf(data);
  const key = (at: number): string => encodeBase58(data, at, 32);
  const u64 = (at: number): bigint => view.getBigUint64(at, true);
  const totalBaseSell = u64(poolAt.totalBaseSell);
  const numbers: CurveNumbers = {
    totalBaseSell,
    virtualBase: u64(poolAt.virtualBase),
    virtualQuote: u64(poolAt.virtualQuote),
    realBase: u64(poolAt.realBase),
    realQuote: u64(poolAt.realQuote),
  };
  const reserves = reservesOf(numbers);
  if (reserves === null) return `PoolState ${otherCurve}`;
  return {
    type: 'curve',
    baseMint: key(poolAt.baseMint),
    quoteMint: key(poolAt.quoteMint),
    reserves,
    supply: u64(poolAt.supply),
    complete: data[poolAt.status] !== statusFunding,
    goal: { reserve: 'realBase', from: totalBaseSell, to: 0n },
    creator: key(poolAt.creator),
    globalConfig: key(poolAt.globalConfig),
    platformConfig: key(poolAt.platformConfig),
    baseVault: key(poolAt.baseVault),
    quoteVault: key(poolAt.quoteVault),
    ...terms,
  };
}

export const decodeAccount = accountDecoder(program.accountDiscriminators.pool, readPool, program.ignoredAccounts);
