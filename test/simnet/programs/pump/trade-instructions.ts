import { curveInstructions } from '../constants.ts';
import type { AnchorContext, AnchorInstruction } from '../anchor.ts';
import type { BorshReader } from '../../layout/borsh.ts';
import { pumpError } from './errors.ts';
import { buyTokens, buyWithQuote, sellTokens } from './math.ts';
import { ensureAccounts, settleBuy, settleSell, tradeRates, userTokenAmount } from './trade.ts';
import {
  legacyAccounts,
  legacyBuyNames,
  legacySellNames,
  v2Accounts,
  v2BuyNames,
  v2SellNames,
  type TradeAccounts,
} from './trade-accounts.ts';

/** Compute units of the program itself, without the programs that it calls. */
const legacyUnits = 54_000;
const v2Units = 78_000;

function buyExactTokens(context: AnchorContext, accounts: TradeAccounts, amount: bigint, maxCost: bigint, trackVolume: boolean): void {
  context.require(amount > 0n, pumpError.buyZeroAmount);
  context.require(!accounts.curve.complete, pumpError.complete);
  ensureAccounts(context, accounts);
  const rates = tradeRates(context, accounts);
  const amounts = buyTokens(accounts.curve, amount, rates);
  context.require(amounts.quote + amounts.protocolFee + amounts.creatorFee <= maxCost, pumpError.tooMuchSolRequired);
  settleBuy(context, accounts, amounts, rates, { isBuy: true, ixName: 'buy', trackVolume });
}

function buyExactQuote(context: AnchorContext, accounts: TradeAccounts, spendable: bigint, minTokens: bigint, ixName: string): void {
  context.require(spendable > 0n, pumpError.buyZeroAmount);
  context.require(!accounts.curve.complete, pumpError.complete);
  // The rent of accounts that the trade creates is paid in addition to the sum to spend.
  ensureAccounts(context, accounts);
  const rates = tradeRates(context, accounts);
  const amounts = buyWithQuote(accounts.curve, spendable, rates);
  if (amounts === null) return context.throws(pumpError.notEnoughForFees);
  context.require(amounts.tokens >= minTokens && amounts.tokens > 0n, pumpError.belowMinTokensOut);
  settleBuy(context, accounts, amounts, rates, { isBuy: true, ixName, trackVolume: false });
}

function sell(context: AnchorContext, accounts: TradeAccounts, amount: bigint, minOut: bigint): void {
  context.require(amount > 0n, pumpError.sellZeroAmount);
  context.require(!accounts.curve.complete, pumpError.complete);
  context.require(userTokenAmount(accounts) >= amount, pumpError.notEnoughTokensToSell);
  ensureAccounts(context, accounts);
  const rates = tradeRates(context, accounts);
  const amounts = sellTokens(accounts.curve, amount, rates);
  const received = amounts.quote - amounts.protocolFee - amounts.creatorFee;
  context.require(received >= 0n && received >= minOut, pumpError.tooLittleSolReceived);
  settleSell(context, accounts, amounts, rates, 'sell');
}

function define(
  name: string,
  discriminator: Uint8Array,
  accounts: readonly string[],
  units: number,
  run: (context: AnchorContext, args: BorshReader) => void,
): AnchorInstruction {
  return { name, discriminator, accounts, units, run };
}

const { buy, buyExactSolIn, buyV2, buyExactQuoteInV2, sell: sellLegacy, sellV2 } = curveInstructions;

/** Every instruction that trades on a curve. */
export const tradeInstructions: readonly AnchorInstruction[] = [
  define('Buy', buy, legacyBuyNames, legacyUnits, (context, args) => {
    const amount = args.u64();
    const maxCost = args.u64();
    buyExactTokens(context, legacyAccounts(context, true), amount, maxCost, args.orFalse());
  }),
  define('BuyExactSolIn', buyExactSolIn, legacyBuyNames, legacyUnits, (context, args) => {
    const spendable = args.u64();
    buyExactQuote(context, legacyAccounts(context, true), spendable, args.u64(), 'buy_exact_sol_in');
  }),
  define('BuyV2', buyV2, v2BuyNames, v2Units, (context, args) => {
    const amount = args.u64();
    buyExactTokens(context, v2Accounts(context, true), amount, args.u64(), false);
  }),
  define('BuyExactQuoteInV2', buyExactQuoteInV2, v2BuyNames, v2Units, (context, args) => {
    const spendable = args.u64();
    buyExactQuote(context, v2Accounts(context, true), spendable, args.u64(), 'buy_exact_quote_in');
  }),
  define('Sell', sellLegacy, legacySellNames, legacyUnits, (context, args) => {
    const amount = args.u64();
    sell(context, legacyAccounts(context, false), amount, args.u64());
  }),
  define('SellV2', sellV2, v2SellNames, v2Units, (context, args) => {
    const amount = args.u64();
    sell(context, v2Accounts(context, false), amount, args.u64());
  }),
];
