import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { usdcMint, wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { decodeFeeConfig, type FeeConfig } from '../../venues/src/pump/fees/fee-config.ts';
import { decodeGlobalConfig, type PumpAmmSettings } from '../../venues/src/pump/amm/settings.ts';
import { quotePool, type PoolState } from '../../venues/src/pump/amm/quote.ts';
import { decodeGlobal } from '../../venues/src/pump/curve/settings.ts';
import { quoteCurve, type CurveState } from '../../venues/src/pump/curve/quote.ts';
import { initialRealToken, initialSupply, initialVirtualSol, initialVirtualToken } from '@sluice/venues/pump/curve/program.ts';
import { pumpAmm } from '../../venues/src/pump/amm/index.ts';
import { priceImpactBps, type QuotedTrade, type QuoteOutcome } from '@sluice/venues/seam/quoting.ts';
import type { QuotedCurve } from '../../venues/src/pump/curve/decode.ts';
import { describe, expect, it } from 'vitest';
import { ammFees } from '../simnet/programs/genesis/genesis-fees.ts';
import { pumpSdk } from '../simnet/support/pump-sdk.ts';
import { accountInfo } from '../simnet/support/web3.ts';
import { fixtureAccount, fixtureJson, fixturesNote, fixturesPresent, fixtureTransaction } from './fixtures.ts';
import { decodeEvent, decodeWith, plainQuote, type PlainQuote, type PlainTrade } from '../support/events/decoded.ts';
import { BN } from '../support/chain/bn.ts';
import { mayhemSolVault } from '../simnet/programs/constants.ts';

/** Recorded trades of the network: the quote on the reserves before them is the trade, to the unit. */
const anybody = 'Hh9UQQzb9SKguRpUMZbDLo2MnRzKktGkCjDcjWq8PNf7';

function given(outcome: QuoteOutcome): PlainQuote {
  if (!outcome.ok) throw new Error(outcome.fault);
  return plainQuote(outcome.quote);
}

function settingsOf<T>(decoded: { kind: 'decoded'; settings: T } | { kind: 'malformed'; reason: string }): T {
  if (decoded.kind === 'malformed') throw new Error(decoded.reason);
  return decoded.settings;
}

function tradesOf(name: string): PlainTrade[] {
  const transaction = readTransaction(fixtureTransaction(name));
  if (transaction.kind === 'malformed') throw new Error(transaction.reason);
  const trades: PlainTrade[] = [];
  readLogs(transaction.logs, (programId, _path, data) => {
    const decoded = decodeWith(programId, data);
    if (decoded?.kind === 'decoded' && decoded.event.type === 'trade') trades.push(decoded.event);
  });
  return trades;
}

/** The curve as it stood before this trade. */
function curveBefore(trade: PlainTrade, parts: Partial<QuotedCurve> = {}): QuotedCurve {
  const { reserves, baseAmount, quoteAmount } = trade;
  const sign = trade.side === 'buy' ? 1n : -1n;
  return {
    type: 'curve',
    quoteMint: trade.pair?.quoteMint ?? wrappedSolMint,
    reserves: {
      virtualBase: reserves.virtualBase + sign * baseAmount,
      virtualQuote: reserves.virtualQuote - sign * quoteAmount,
      realBase: reserves.realBase + sign * baseAmount,
      realQuote: reserves.realQuote - sign * quoteAmount,
    },
    supply: initialSupply,
    complete: false,
    creator: anybody,
    mayhemMode: false,
    cashback: trade.fees.cashback.amount > 0n,
    holderReward: trade.fees.holderRewards.amount > 0n,
    creatorFeeBps: 0,
    ...parts,
  };
}

describe.skipIf(!fixturesPresent)(`curves (${fixturesNote})`, () => {
  function accountOf(name: string) {
    const { owner, data } = fixtureAccount(name);
    return accountInfo({ owner, data, lamports: 1n, executable: false });
  }

  function stateOf(curve: QuotedCurve): CurveState {
    return {
      curve,
      settings: settingsOf(decodeGlobal(fixtureAccount('pump_global_2026-09-12').data)),
      feeConfig: settingsOf(decodeFeeConfig(fixtureAccount('pump_fee_config_2026-10-08').data)),
      mintSupply: initialSupply,
    };
  }

  it('3 SOL into a fresh cashback curve, all fees included (buy_exact_sol_in)', () => {
    const [trade] = tradesOf('pump_create_v2_and_buy_2026-07-29');
    const state = stateOf(curveBefore(trade!));
    expect(state.curve.reserves).toEqual({
      virtualBase: initialVirtualToken,
      virtualQuote: initialVirtualSol,
      realBase: initialRealToken,
      realQuote: 0n,
    });
    const quote = given(quoteCurve(state, { exact: 'quoteIn', amount: 3_000_000_000n }));
    expect(quote).toMatchObject({
      side: 'buy',
      baseAmount: 96_449_438_144_093n,
      quoteAmount: 2_962_962_962n,
      traderQuote: 3_000_000_000n,
      fees: {
        protocol: { amount: 28_148_149n, bps: 95 },
        cashback: { amount: 8_888_889n, bps: 30 },
        creator: { amount: 0n, bps: 0 },
        total: 37_037_038n,
      },
      cut: false,
      completes: false,
    });
    expect([quote.baseAmount, quote.quoteAmount, quote.fees, quote.after]).toEqual([
      trade!.baseAmount,
      trade!.quoteAmount,
      trade!.fees,
      trade!.reserves,
    ]);
    // A tenth of the reserves that the price follows from.
    const { virtualBase: priceBase, virtualQuote: priceQuote } = quote.before;
    expect(priceImpactBps({ ...quote, fees: [], priceBase, priceQuote })).toBe(988);
  });

  it('the SDK computes the same tokens for these 3 SOL', () => {
    const global = pumpSdk.PUMP_SDK.decodeGlobal(accountOf('pump_global_2026-09-12'));
    const curve = { ...pumpSdk.newBondingCurve(global), creator: global.feeRecipient };
    const tokens = pumpSdk.getBuyTokenAmountFromSolAmount({
      global,
      feeConfig: pumpSdk.PUMP_SDK.decodeFeeConfig(accountOf('pump_fee_config_2026-10-08')),
      mintSupply: new BN(initialSupply.toString()),
      bondingCurve: curve,
      amount: new BN('3000000000'),
      quoteMint: curve.quoteMint,
    });
    expect(tokens.toString()).toBe('96449438144093');
  });

  it('an exact number of tokens (buy), on the day of the fee table', () => {
    const [trade] = tradesOf('pump_buy_legacy_2026-10-08');
    const state = stateOf(curveBefore(trade!));
    const quote = given(quoteCurve(state, { exact: 'baseOut', amount: trade!.baseAmount }));
    expect([quote.quoteAmount, quote.fees, quote.traderQuote]).toEqual([9_876_542n, trade!.fees, 10_000_000n]);
    expect(quote.after).toEqual(trade!.reserves);
  });

  it('a buy in the transaction of the creation', () => {
    const [trade] = tradesOf('pump_create_from_blocksubscribe_2026-07-29');
    const quote = given(quoteCurve(stateOf(curveBefore(trade!)), { exact: 'baseOut', amount: trade!.baseAmount }));
    expect([quote.quoteAmount, quote.fees.total, quote.traderQuote]).toEqual([98_750_018n, 1_234_377n, 99_984_395n]);
    expect(quote.fees).toEqual(trade!.fees);
  });

  it("the mayhem vault buys below the curve's public price and pays no fees, so its trades are not quoted", () => {
    const [trade] = tradesOf('pump_buy_mayhem_2026-07-29');
    expect(trade).toMatchObject({ pair: { quoteMint: usdcMint }, trader: mayhemSolVault, quoteAmount: 3_517_192n, fees: { total: 0n } });
    const state = stateOf(curveBefore(trade!, { mayhemMode: true }));
    const quote = given(quoteCurve(state, { exact: 'baseOut', amount: trade!.baseAmount }));
    expect([quote.quoteAmount, quote.fees.protocol.bps, quote.fees.creator.bps]).toEqual([4_085_920n, 95, 30]);
  });
});

/** Flags, vaults and reserves of the trades of 2026-10-08; fee tiers as published (the market caps of these coins reach three of them). */
function poolState(parts: {
  readonly base: bigint;
  readonly quote: bigint;
  readonly virtual: bigint;
  readonly supply: bigint;
  readonly creatorFeeBps?: number;
  readonly holderReward?: boolean;
}): PoolState {
  const settings: PumpAmmSettings = {
    buyDisabled: false,
    sellDisabled: false,
    feeRecipients: [],
    reservedFeeRecipients: [],
    buybackFeeRecipients: [],
    buybackBps: 5_000n,
    creatorFeeConfigurable: true,
  };
  const feeConfig: FeeConfig = ammFees;
  return {
    pool: {
      type: 'pool',
      baseMint: anybody,
      quoteMint: wrappedSolMint,
      baseVault: anybody,
      quoteVault: anybody,
      lpMint: anybody,
      creator: anybody,
      coinCreator: anybody,
      virtualQuote: parts.virtual,
      waitingFees: 0n,
      mayhemMode: false,
      cashback: false,
      holderReward: parts.holderReward ?? false,
      creatorFeeBps: parts.creatorFeeBps ?? 0,
    },
    canonical: true,
    baseVault: parts.base,
    quoteVault: parts.quote,
    settings,
    feeConfig,
    mintSupply: parts.supply,
  };
}

describe('pools: trades of 2026-10-08', () => {
  it('buy_exact_quote_in, 3,252 SOL of market cap', () => {
    const state = poolState({
      base: 73_512_782_561_925n,
      quote: 221_923_837_942n,
      virtual: 17_584_317_180n,
      supply: 998_385_152_426_951n,
    });
    const quote = given(quotePool(state, { exact: 'quoteIn', amount: 204_964n }));
    expect(quote).toMatchObject({
      baseAmount: 62_224_634n,
      quoteAmount: 202_732n,
      traderQuote: 204_964n,
      fees: { lp: { amount: 406n, bps: 20 }, protocol: { amount: 102n, bps: 5 }, creator: { amount: 1_724n, bps: 85 }, total: 2_232n },
      after: {
        virtualBase: 73_512_720_337_291n,
        virtualQuote: 239_508_358_260n,
        realBase: 73_512_720_337_291n,
        realQuote: 221_924_041_080n,
      },
    });
  });

  it('sell_v2, 3,173 SOL of market cap', () => {
    const state = poolState({
      base: 74_473_392_242_842n,
      quote: 218_834_620_214n,
      virtual: 17_584_418_739n,
      supply: 999_833_451_684_198n,
    });
    expect(given(quotePool(state, { exact: 'baseIn', amount: 3_143_049_857n }))).toMatchObject({
      quoteAmount: 9_977_328n,
      traderQuote: 9_867_576n,
      fees: { lp: { amount: 19_955n }, protocol: { amount: 4_989n }, creator: { amount: 84_808n, bps: 85 }, total: 109_752n },
      after: { virtualBase: 74_476_535_292_699n, virtualQuote: 236_409_081_580n },
    });
  });

  it('buy_exact_quote_in_v2 of a coin with its own creator fee', () => {
    const state = poolState({
      base: 152_502_187_179_376n,
      quote: 1_941_817_726_351n,
      virtual: 301_716_155_377n,
      supply: 930_775_381_733_199n,
      creatorFeeBps: 200,
    });
    expect(given(quotePool(state, { exact: 'quoteIn', amount: 5_196_523_749n }))).toMatchObject({
      baseAmount: 344_675_460_426n,
      quoteAmount: 5_082_174_814n,
      traderQuote: 5_196_523_749n,
      fees: { lp: { amount: 10_164_350n }, protocol: { amount: 2_541_088n }, creator: { amount: 101_643_497n, bps: 200 } },
      after: { virtualQuote: 2_248_626_220_892n },
    });
  });

  it.skipIf(!fixturesPresent)(`sell of a holder-reward coin (${fixturesNote})`, () => {
    const recorded = fixtureJson('events/events_2026-10.json') as readonly { readonly event: string; readonly event_b64: string }[];
    const bytes = Buffer.from(recorded.find(({ event }) => event === 'SellEvent')!.event_b64, 'base64');
    const decoded = decodeEvent(pumpAmm, bytes);
    if (decoded.kind !== 'decoded' || decoded.event.type !== 'trade') throw new Error('no trade');
    const trade = decoded.event;
    const state = poolState({
      base: bytes.readBigUInt64LE(8 + 8 + 4 * 8),
      quote: bytes.readBigUInt64LE(8 + 8 + 5 * 8),
      virtual: 15_421_472_586n,
      supply: trade.supply!,
      holderReward: true,
    });
    const quote = given(quotePool(state, { exact: 'baseIn', amount: trade.baseAmount }));
    expect([quote.quoteAmount, quote.fees, quote.traderQuote]).toEqual([trade.quoteAmount, trade.fees, 80_207_980n]);
    expect(quote.after.virtualQuote).toBe(trade.reserves.virtualQuote);
  });

  it.skipIf(!fixturesPresent)(`settings as recorded (${fixturesNote})`, () => {
    const { data } = fixtureAccount('pumpswap_global_config_2026-10-08');
    const settings = settingsOf(decodeGlobalConfig(data));
    expect(settings).toMatchObject({ buyDisabled: false, sellDisabled: false, buybackBps: 5_000n });
    expect([settings.feeRecipients, settings.reservedFeeRecipients, settings.buybackFeeRecipients].map((list) => list.length)).toEqual([
      8, 8, 8,
    ]);
    expect(settings.feeRecipients).toContain('62qc2CNXwrYqQScmEdiZFFAnJR262PxWEuNQtxfafNgV');
    expect(settings.buybackFeeRecipients).toContain('5YxQFdt3Tr9zJLvkFccqXVUwhdTWJQc1fFg2YPbxvxeD');
    const global = settingsOf(decodeGlobal(fixtureAccount('pump_global_2026-09-12').data));
    expect([global.feeRecipients, global.reservedFeeRecipients, global.buybackFeeRecipients].map((list) => list.length)).toEqual([8, 8, 8]);
    expect(global.reservedFeeRecipients).toContain('GesfTA3X2arioaHp8bbKdjG9vJtskViWACZoYvxp4twS');
    expect(global.buybackBps).toBe(5_000n);
    const fees = settingsOf(decodeFeeConfig(fixtureAccount('pump_fee_config_2026-10-08').data));
    const flat = { lp: 0n, protocol: 95n, creator: 30n };
    expect(fees).toEqual({
      flat,
      tiers: [{ marketCap: 0n, rates: flat }],
      stableTiers: [{ marketCap: 0n, rates: flat }],
      exoticFlat: flat,
    });
  });

  it('a refusal has its reason', () => {
    const state = poolState({ base: 1_000_000n, quote: 1_000_000n, virtual: 500_000n, supply: initialSupply });
    const fault = (trade: QuotedTrade, changed: PoolState = state): unknown => quotePool(changed, trade);
    expect(fault({ exact: 'baseOut', amount: 1_000_000n })).toEqual({ ok: false, fault: 'too_large' });
    expect(fault({ exact: 'quoteIn', amount: 1n })).toEqual({ ok: false, fault: 'too_small' });
    expect(fault({ exact: 'quoteIn', amount: 0n })).toEqual({ ok: false, fault: 'too_small' });
    expect(fault({ exact: 'quoteIn', amount: 1n << 64n })).toEqual({ ok: false, fault: 'too_large' });
    // The virtual part prices, but pays nobody: 6063 InsufficientRealQuoteReserves.
    expect(fault({ exact: 'baseIn', amount: 3_000_000n })).toEqual({ ok: false, fault: 'too_large' });
    const waiting: PoolState = { ...state, pool: { ...state.pool, waitingFees: 400_000n } };
    expect(fault({ exact: 'baseIn', amount: 1_500_000n })).toMatchObject({ ok: true });
    expect(fault({ exact: 'baseIn', amount: 1_500_000n }, waiting)).toEqual({ ok: false, fault: 'too_large' });
    const closed: PoolState = { ...state, settings: { ...state.settings, buyDisabled: true } };
    expect(fault({ exact: 'quoteIn', amount: 1_000n }, closed)).toEqual({ ok: false, fault: 'disabled' });
    expect(fault({ exact: 'baseIn', amount: 1_000n }, closed)).toMatchObject({ ok: true });
    expect(fault({ exact: 'baseIn', amount: 1_000n }, { ...closed, settings: { ...closed.settings, sellDisabled: true } })).toEqual({
      ok: false,
      fault: 'disabled',
    });
    const nobody: PoolState = { ...state, pool: { ...state.pool, coinCreator: zeroAddress } };
    expect(given(quotePool(nobody, { exact: 'quoteIn', amount: 1_000n })).fees.creator).toEqual({ amount: 0n, bps: 0 });
  });
});
