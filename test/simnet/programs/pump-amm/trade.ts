import { instructionDiscriminators } from '@sluice/venues/pump/amm/program.ts';
import { initialSupply } from '@sluice/venues/pump/curve/program.ts';
import { zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import { addressBytes } from '../../layout/derive.ts';
import type { InstructionAccount } from '../../runtime/instruction-account.ts';
import { ammVolumeAccumulatorOf, poolAuthorityOf } from '../addresses.ts';
import type { AnchorContext, AnchorInstruction } from '../anchor.ts';
import { associatedTokenInstruction } from '../token/associated-token.ts';
import type { FeeRates } from '../fee-schedule.ts';
import { askFees } from '../pump-fees.ts';
import { createAccountInstruction } from '../system.ts';
import { transferCheckedInstruction } from '../token/token-instructions.ts';
import { mintFields } from '../../layout/token-state.ts';
import { ammError } from './errors.ts';
import { buyEvent, sellEvent, type SwapFacts } from './events.ts';
import { buyBase, buyWithQuote, sellBase, type PoolReserves, type SwapAmounts } from './math.ts';
import { addCashback, volumeAccumulatorBytes, volumeAccumulatorData, type Pool } from './state.ts';
import { amountOf, buyNames, sellNames, swapAccounts, type SwapAccounts } from './trade-accounts.ts';

/** Compute units of the program itself, without the programs that it calls. */
const swapUnits = 62_000;
const basisPoints = 10_000n;

export function poolSeeds(pool: Pool): readonly (string | Uint8Array)[] {
  const index = Uint8Array.of(pool.index & 255, pool.index >> 8);
  return ['pool', index, addressBytes(pool.creator), addressBytes(pool.baseMint), addressBytes(pool.quoteMint)];
}

function reservesOf(accounts: SwapAccounts): PoolReserves {
  return { base: amountOf(accounts.poolBase), quote: amountOf(accounts.poolQuote) + accounts.pool.virtualQuote };
}

function swapRates(context: AnchorContext, accounts: SwapAccounts): FeeRates {
  const { pool, config } = accounts;
  const { base, quote } = reservesOf(accounts);
  const supply = pool.mayhem ? initialSupply : mintFields.supply(accounts.baseMint.data);
  const isPumpPool = pool.creator === poolAuthorityOf(pool.baseMint);
  const rates = askFees(context, isPumpPool, base === 0n ? 0n : (quote * supply) / base, pool.quoteMint);
  if (pool.coinCreator === zeroAddress) return { ...rates, creator: 0n };
  const own = config.creatorFeeConfigurable && pool.creatorFeeBps !== 0n;
  return own ? { ...rates, creator: pool.creatorFeeBps } : rates;
}

function ensureVolumeAccumulator(context: AnchorContext, accounts: SwapAccounts): void {
  const { volume, user } = accounts;
  if (volume === null || volume.owner === context.programId) return;
  const rent = minimumBalance(volumeAccumulatorBytes);
  const seeds = ['user_volume_accumulator', addressBytes(user.address)];
  context.raw.invoke(createAccountInstruction(user.address, volume.address, rent, volumeAccumulatorBytes, context.programId), [seeds]);
  volume.write().set(volumeAccumulatorData(user.address));
}

/** Creates the accounts that receive something if they are missing. The trader pays their rent, before the trade pays out. */
function ensureAccounts(context: AnchorContext, accounts: SwapAccounts): void {
  const { pool, user, quoteMint, creatorTokens, creatorAuthority, cashbackTokens } = accounts;
  ensureVolumeAccumulator(context, accounts);
  for (const [account, owner] of [
    [creatorTokens, creatorAuthority.address],
    [cashbackTokens, ammVolumeAccumulatorOf(user.address)],
  ] as const) {
    if (account === null || account.owner === quoteMint.owner) continue;
    context.raw.invoke(associatedTokenInstruction(user.address, owner, pool.quoteMint, quoteMint.owner, true));
  }
}

interface Payment {
  readonly from: InstructionAccount;
  readonly authority: InstructionAccount;
  readonly signers: readonly (readonly (string | Uint8Array)[])[];
}

function payQuote(context: AnchorContext, accounts: SwapAccounts, payment: Payment, to: InstructionAccount, amount: bigint): void {
  if (amount === 0n) return;
  const { quoteMint } = accounts;
  context.raw.invoke(
    transferCheckedInstruction({
      programId: quoteMint.owner,
      source: payment.from.address,
      mint: quoteMint.address,
      destination: to.address,
      authority: payment.authority.address,
      amount,
      decimals: mintFields.decimals(quoteMint.data),
    }),
    payment.signers,
  );
}

function moveBase(context: AnchorContext, accounts: SwapAccounts, amount: bigint, isBuy: boolean): void {
  const { baseMint, poolBase, userBase, poolAccount, user, pool } = accounts;
  const [source, destination, authority] = isBuy ? [poolBase, userBase, poolAccount] : [userBase, poolBase, user];
  context.raw.invoke(
    transferCheckedInstruction({
      programId: baseMint.owner,
      source: source.address,
      mint: baseMint.address,
      destination: destination.address,
      authority: authority.address,
      amount,
      decimals: mintFields.decimals(baseMint.data),
    }),
    isBuy ? [poolSeeds(pool)] : [],
  );
}

function buybackOf(accounts: SwapAccounts, amounts: SwapAmounts): bigint {
  return (amounts.protocolFee * accounts.config.buybackBps) / basisPoints;
}

function payFees(context: AnchorContext, accounts: SwapAccounts, amounts: SwapAmounts, payment: Payment): void {
  const buyback = buybackOf(accounts, amounts);
  payQuote(context, accounts, payment, accounts.feeRecipientTokens, amounts.protocolFee - buyback);
  payQuote(context, accounts, payment, accounts.buybackTokens, buyback);
  if (amounts.creatorFee === 0n) return;
  payQuote(context, accounts, payment, accounts.cashbackTokens ?? accounts.creatorTokens, amounts.creatorFee);
  if (accounts.pool.cashback && accounts.volume !== null) addCashback(accounts.volume.write(), amounts.creatorFee);
}

function factsOf(context: AnchorContext, accounts: SwapAccounts, amounts: SwapAmounts, rates: FeeRates, limit: bigint): SwapFacts {
  return {
    timestamp: context.raw.clock.unixTimestamp,
    amounts,
    rates,
    pool: accounts.pool,
    poolAddress: accounts.poolAccount.address,
    user: accounts.user.address,
    limit,
    userBase: amountOf(accounts.userBase),
    userQuote: amountOf(accounts.userQuote),
    poolBase: amountOf(accounts.poolBase),
    poolQuote: amountOf(accounts.poolQuote),
    userBaseAccount: accounts.userBase.address,
    userQuoteAccount: accounts.userQuote.address,
    feeRecipient: accounts.feeRecipient.address,
    feeRecipientAccount: accounts.feeRecipientTokens.address,
    buybackBps: accounts.config.buybackBps,
    buybackFee: buybackOf(accounts, amounts),
    baseSupply: mintFields.supply(accounts.baseMint.data),
  };
}

function costOf(amounts: SwapAmounts): bigint {
  return amounts.quote + amounts.lpFee + amounts.protocolFee + amounts.creatorFee;
}

interface BuyTerms {
  readonly limit: bigint;
  readonly minBase: bigint;
  readonly trackVolume: boolean;
  readonly ixName: string;
}

function settleBuy(context: AnchorContext, accounts: SwapAccounts, amounts: SwapAmounts, rates: FeeRates, terms: BuyTerms): void {
  const facts = factsOf(context, accounts, amounts, rates, terms.limit);
  ensureAccounts(context, accounts);
  moveBase(context, accounts, amounts.base, true);
  const payment: Payment = { from: accounts.userQuote, authority: accounts.user, signers: [] };
  payQuote(context, accounts, payment, accounts.poolQuote, amounts.quote + amounts.lpFee);
  payFees(context, accounts, amounts, payment);
  context.emit(buyEvent(facts, terms.minBase, terms.trackVolume, terms.ixName));
}

function buy(context: AnchorContext, base: bigint, maxQuote: bigint, trackVolume: boolean): void {
  const accounts = swapAccounts(context, true);
  context.require(base > 0n, ammError.zeroBase);
  const reserves = reservesOf(accounts);
  context.require(base < reserves.base, ammError.moreThanReserves);
  const rates = swapRates(context, accounts);
  const amounts = buyBase(reserves, base, rates);
  context.require(costOf(amounts) <= maxQuote, ammError.slippage);
  settleBuy(context, accounts, amounts, rates, { limit: maxQuote, minBase: 0n, trackVolume, ixName: 'buy' });
}

function buyExactQuoteIn(context: AnchorContext, spendable: bigint, minBase: bigint, trackVolume: boolean): void {
  const accounts = swapAccounts(context, true);
  context.require(spendable > 0n, ammError.zeroQuote);
  const rates = swapRates(context, accounts);
  const amounts = buyWithQuote(reservesOf(accounts), spendable, rates);
  if (amounts === null) return context.throws(ammError.notEnoughForFees);
  context.require(amounts.base >= minBase && amounts.base > 0n, ammError.belowMinBaseOut);
  settleBuy(context, accounts, amounts, rates, { limit: spendable, minBase, trackVolume, ixName: 'buy_exact_quote_in' });
}

function sell(context: AnchorContext, base: bigint, minQuote: bigint): void {
  const accounts = swapAccounts(context, false);
  context.require(base > 0n, ammError.zeroBase);
  const rates = swapRates(context, accounts);
  const amounts = sellBase(reservesOf(accounts), base, rates);
  const received = amounts.quote - amounts.lpFee - amounts.protocolFee - amounts.creatorFee;
  context.require(received >= 0n && received >= minQuote, ammError.slippage);
  context.require(amountOf(accounts.poolQuote) >= amounts.quote - amounts.lpFee, ammError.insufficientRealQuote);
  const facts = factsOf(context, accounts, amounts, rates, minQuote);
  ensureAccounts(context, accounts);
  moveBase(context, accounts, base, false);
  const payment: Payment = { from: accounts.poolQuote, authority: accounts.poolAccount, signers: [poolSeeds(accounts.pool)] };
  payQuote(context, accounts, payment, accounts.userQuote, received);
  payFees(context, accounts, amounts, payment);
  context.emit(sellEvent(facts));
}

const discriminators = instructionDiscriminators;

/** Every instruction that trades on a pool. */
export const swapInstructions: readonly AnchorInstruction[] = [
  {
    name: 'Buy',
    discriminator: discriminators.buy,
    accounts: buyNames,
    units: swapUnits,
    run: (context, args) => buy(context, args.u64(), args.u64(), args.orFalse()),
  },
  {
    name: 'BuyExactQuoteIn',
    discriminator: discriminators.buyExactQuoteIn,
    accounts: buyNames,
    units: swapUnits,
    run: (context, args) => buyExactQuoteIn(context, args.u64(), args.u64(), args.orFalse()),
  },
  {
    name: 'Sell',
    discriminator: discriminators.sell,
    accounts: sellNames,
    units: swapUnits,
    run: (context, args) => sell(context, args.u64(), args.u64()),
  },
];
