import { initialSupply } from '@sluice/venues/pump/curve/program.ts';
import { systemProgram, tokenProgram, usdcMint, wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Chain } from '../chain.ts';
import { associatedTokenInstruction } from '../programs/token/associated-token.ts';
import { ratesFor, type FeeRates } from '../programs/fee-schedule.ts';
import { ammFees, curveFees } from '../programs/genesis/genesis-fees.ts';
import { buyBase, buyWithQuote as buyOnPool, sellBase, type PoolReserves } from '../programs/pump-amm/math.ts';
import { readPool, type Pool } from '../programs/pump-amm/state.ts';
import { buyTokens, buyWithQuote, sellTokens, type TradeRates } from '../programs/pump/math.ts';
import { readCurve, type Curve } from '../programs/pump/state.ts';
import { transferInstruction } from '../programs/system.ts';
import { closeAccountInstruction, syncNativeInstruction } from '../programs/token/token-instructions.ts';
import { tokenAmount } from '../layout/token-state.ts';
import { deriveTokenAccount } from '../layout/derive.ts';
import type { Coin } from './coin-book.ts';
import { legacyBuy, legacySell, poolTrade, tradeV2, type CurveTrade } from './instructions.ts';
import type { Random } from './random.ts';

/** A trade as a trader would send it, with the instructions before and after the trading instruction. */
export interface PlannedTrade {
  readonly before: readonly Instruction[];
  readonly trade: Instruction;
  readonly after: readonly Instruction[];
  readonly units: number;
}

export interface TradeSetting {
  readonly chain: Chain;
  readonly coin: Coin;
  readonly user: string;
  readonly random: Random;
  readonly feeRecipient: string;
  readonly buyback: string;
  /** Sets limits that the trade cannot meet. */
  readonly careless: boolean;
}

const curveUnits = 200_000;
const curveTokenUnits = 260_000;
const poolUnits = 260_000;
/** The price of SOL in USDC that a trader assumes when choosing a size. */
const usdcPerSol = 150;
const percent = 100n;

function curveRates(curve: Curve): TradeRates {
  const rates = ratesFor(curveFees, true, curve.quoteMint, 0n);
  const own = curve.creatorFeeBps !== 0n ? curve.creatorFeeBps : rates.creator;
  return { protocol: rates.protocol, creator: curve.creator === zeroAddress ? 0n : own };
}

function openCurve({ chain, coin }: TradeSetting): Curve | null {
  const account = chain.account(coin.curve);
  if (account === null) return null;
  const curve = readCurve(account.data);
  return curve.complete || curve.realToken === 0n ? null : curve;
}

function units(sizeInSol: number, quoteMint: string | null): bigint {
  return BigInt(Math.max(1, Math.round(quoteMint === usdcMint ? sizeInSol * usdcPerSol * 1e6 : sizeInSol * 1e9)));
}

/** Slippage of 3 to 20 percent, or a limit that the trade cannot meet. */
function most(setting: TradeSetting, cost: bigint): bigint {
  if (setting.careless) return (cost * 90n) / percent;
  return (cost * BigInt(103 + setting.random.below(17))) / percent;
}

function least(setting: TradeSetting, out: bigint): bigint {
  if (setting.careless) return (out * 112n) / percent;
  return (out * BigInt(97 - setting.random.below(17))) / percent;
}

function planCurveBuy(setting: TradeSetting, curve: Curve, sizeInSol: number): PlannedTrade | null {
  const { coin, user, random } = setting;
  const isSol = curve.quoteMint === systemProgram;
  const rates = curveRates(curve);
  const spend = units(sizeInSol, coin.quoteMint);
  const quote = buyWithQuote(curve, spend, rates);
  if (quote === null || quote.tokens === 0n) return null;
  const parts = {
    mint: coin.mint,
    tokenProgram: coin.tokenProgram,
    curve,
    user,
    feeRecipient: setting.feeRecipient,
    buyback: setting.buyback,
  };
  const exactQuote = random.chance(0.55);
  const costOf = buyTokens(curve, quote.tokens, rates);
  const trade: CurveTrade = exactQuote
    ? { ...parts, amount: spend, limit: least(setting, quote.tokens) }
    : { ...parts, amount: quote.tokens, limit: most(setting, costOf.quote + costOf.protocolFee + costOf.creatorFee) };
  const legacy = isSol && random.chance(0.6);
  return {
    before: [associatedTokenInstruction(user, user, coin.mint, coin.tokenProgram, true)],
    trade: legacy ? legacyBuy(trade, exactQuote) : tradeV2(trade, exactQuote ? 'buyExactQuote' : 'buy'),
    after: [],
    units: isSol ? curveUnits : curveTokenUnits,
  };
}

function planCurveSell(setting: TradeSetting, curve: Curve, amount: bigint): PlannedTrade | null {
  const { coin, user, random } = setting;
  const isSol = curve.quoteMint === systemProgram;
  const quote = sellTokens(curve, amount, curveRates(curve));
  const received = quote.quote - quote.protocolFee - quote.creatorFee;
  if (received <= 0n) return null;
  const parts = {
    mint: coin.mint,
    tokenProgram: coin.tokenProgram,
    curve,
    user,
    feeRecipient: setting.feeRecipient,
    buyback: setting.buyback,
  };
  const trade: CurveTrade = { ...parts, amount, limit: least(setting, received) };
  const instruction = isSol && random.chance(0.6) ? legacySell(trade) : tradeV2(trade, 'sell');
  return { before: [], trade: instruction, after: [], units: isSol ? curveUnits : curveTokenUnits };
}

interface OpenPool {
  readonly pool: Pool;
  readonly address: string;
  readonly reserves: PoolReserves;
  readonly rates: FeeRates;
}

function openPool({ chain, coin }: TradeSetting, address: string): OpenPool | null {
  const account = chain.account(address);
  if (account === null) return null;
  const pool = readPool(account.data);
  const reserves = {
    base: tokenAmount(chain.account(pool.baseVault)),
    quote: tokenAmount(chain.account(pool.quoteVault)) + pool.virtualQuote,
  };
  if (reserves.base === 0n) return null;
  const rates = ratesFor(ammFees, true, coin.quoteMint ?? wrappedSolMint, (reserves.quote * initialSupply) / reserves.base);
  const own = pool.creatorFeeBps !== 0n ? pool.creatorFeeBps : rates.creator;
  return { pool, address, reserves, rates: { ...rates, creator: own } };
}

/** Wraps SOL for a purchase on a pool and unwraps what remains. */
function wrapping(user: string, lamports: bigint): { readonly before: Instruction[]; readonly after: Instruction[] } {
  const account = deriveTokenAccount(user, wrappedSolMint, tokenProgram).address;
  const before = [associatedTokenInstruction(user, user, wrappedSolMint, tokenProgram, true)];
  if (lamports > 0n) before.push(transferInstruction(user, account, lamports), syncNativeInstruction(tokenProgram, account));
  return { before, after: [closeAccountInstruction(tokenProgram, account, user, user)] };
}

function planPoolBuy(setting: TradeSetting, open: OpenPool, sizeInSol: number): PlannedTrade | null {
  const { coin, user, random } = setting;
  const spend = units(sizeInSol, coin.quoteMint);
  const quote = buyOnPool(open.reserves, spend, open.rates);
  if (quote === null || quote.base === 0n) return null;
  const parts = { pool: open.pool, poolAddress: open.address, baseProgram: coin.tokenProgram, user };
  const recipients = { feeRecipient: setting.feeRecipient, buyback: setting.buyback };
  const exactQuote = random.chance(0.5);
  const cost = buyBase(open.reserves, quote.base, open.rates);
  const limit = exactQuote ? least(setting, quote.base) : most(setting, cost.quote + cost.lpFee + cost.protocolFee + cost.creatorFee);
  const amount = exactQuote ? spend : quote.base;
  const wrap = coin.quoteMint === null ? wrapping(user, exactQuote ? spend : limit) : { before: [], after: [] };
  return {
    before: [associatedTokenInstruction(user, user, coin.mint, coin.tokenProgram, true), ...wrap.before],
    trade: poolTrade({ ...parts, ...recipients, amount, limit }, exactQuote ? 'buyExactQuote' : 'buy'),
    after: wrap.after,
    units: poolUnits,
  };
}

function planPoolSell(setting: TradeSetting, open: OpenPool, amount: bigint): PlannedTrade | null {
  const { coin, user } = setting;
  const quote = sellBase(open.reserves, amount, open.rates);
  const received = quote.quote - quote.lpFee - quote.protocolFee - quote.creatorFee;
  if (received <= 0n) return null;
  const parts = { pool: open.pool, poolAddress: open.address, baseProgram: coin.tokenProgram, user };
  const recipients = { feeRecipient: setting.feeRecipient, buyback: setting.buyback };
  const wrap = coin.quoteMint === null ? wrapping(user, 0n) : { before: [], after: [] };
  const trade = poolTrade({ ...parts, ...recipients, amount, limit: least(setting, received) }, 'sell');
  return { before: wrap.before, trade, after: wrap.after, units: poolUnits };
}

/** Plans the trade where the coin trades now. Null if it cannot be traded now. */
function planOn<Size>(
  setting: TradeSetting,
  size: Size,
  onCurve: (setting: TradeSetting, curve: NonNullable<ReturnType<typeof openCurve>>, size: Size) => PlannedTrade | null,
  onPool: (setting: TradeSetting, open: NonNullable<ReturnType<typeof openPool>>, size: Size) => PlannedTrade | null,
): PlannedTrade | null {
  const { pool } = setting.coin;
  if (pool === null) {
    const curve = openCurve(setting);
    return curve === null ? null : onCurve(setting, curve, size);
  }
  const open = openPool(setting, pool);
  return open === null ? null : onPool(setting, open, size);
}

/** Null if the coin cannot be traded now. */
export const planBuy = (setting: TradeSetting, sizeInSol: number): PlannedTrade | null =>
  planOn(setting, sizeInSol, planCurveBuy, planPoolBuy);

/** Null if the coin cannot be traded now, or if the amount is worth nothing. */
export const planSell = (setting: TradeSetting, amount: bigint): PlannedTrade | null =>
  planOn(setting, amount, planCurveSell, planPoolSell);
