import { initialSupply, tokenDecimals } from '@sluice/venues/pump/curve/program.ts';
import { systemProgram, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import { addressBytes } from '../../layout/derive.ts';
import type { InstructionAccount } from '../../runtime/instruction-account.ts';
import { failCustom } from '../../runtime/instruction-error.ts';
import type { AnchorContext } from '../anchor.ts';
import { associatedTokenInstruction } from '../token/associated-token.ts';
import { askFees } from '../pump-fees.ts';
import { createAccountInstruction, transferInstruction } from '../system.ts';
import { transferCheckedInstruction } from '../token/token-instructions.ts';
import { mintFields, tokenFields } from '../../layout/token-state.ts';
import { pumpError } from './errors.ts';
import { completeEvent, tradeEvent } from './events.ts';
import type { TradeAmounts, TradeRates } from './math.ts';
import { addCashback, curveData, volumeAccumulatorBytes, volumeAccumulatorData, type Curve } from './state.ts';
import type { QuoteAccounts, TradeAccounts } from './trade-accounts.ts';

const basisPoints = 10_000n;
/** SystemError::ResultWithNegativeLamports. */
const negativeLamports = 1;

/** Current fees of a trade of this coin, from the fee program and the coin's own creator fee. */
export function tradeRates(context: AnchorContext, accounts: TradeAccounts): TradeRates {
  const { curve, global } = accounts;
  const supply = curve.mayhem ? mintFields.supply(accounts.mint.data) : initialSupply;
  const marketCap = curve.virtualToken === 0n ? 0n : (curve.virtualQuote * supply) / curve.virtualToken;
  const rates = askFees(context, true, marketCap, curve.quoteMint);
  if (curve.creator === zeroAddress) return { protocol: rates.protocol, creator: 0n };
  const own = global.creatorFeeConfigurable && curve.creatorFeeBps !== 0n;
  return { protocol: rates.protocol, creator: own ? curve.creatorFeeBps : rates.creator };
}

/** Creates the trader's volume accumulator if it is missing. */
function ensureVolumeAccumulator(context: AnchorContext, accounts: TradeAccounts): void {
  const { volume, user } = accounts;
  if (volume === null || volume.owner === context.programId) return;
  const rent = minimumBalance(volumeAccumulatorBytes);
  const seeds = ['user_volume_accumulator', addressBytes(user.address)];
  context.raw.invoke(createAccountInstruction(user.address, volume.address, rent, volumeAccumulatorBytes, context.programId), [seeds]);
  volume.write().set(volumeAccumulatorData(user.address));
}

/** The lamports that the creator vault lacks to be rent exempt. */
function creatorVaultShortage(accounts: TradeAccounts): bigint {
  const { creatorVault, curve } = accounts;
  if (curve.cashback || curve.creator === zeroAddress) return 0n;
  const shortage = minimumBalance(0) - creatorVault.lamports;
  return shortage > 0n ? shortage : 0n;
}

/** Creates the accounts that receive something if they are missing. The trader pays their rent, before the trade pays out. */
export function ensureAccounts(context: AnchorContext, accounts: TradeAccounts): void {
  const { user, creatorVault, volume, quote } = accounts;
  ensureVolumeAccumulator(context, accounts);
  const shortage = creatorVaultShortage(accounts);
  if (shortage > 0n) context.raw.invoke(transferInstruction(user.address, creatorVault.address, shortage));
  if (quote === null || volume === null) return;
  for (const [account, owner] of [
    [quote.creatorVault, creatorVault],
    [quote.volume, volume],
  ] as const) {
    if (account.owner === quote.program) continue;
    context.raw.invoke(associatedTokenInstruction(user.address, owner.address, quote.mint.address, quote.program, true));
  }
}

interface Shares {
  readonly creator: bigint;
  readonly curve: bigint;
  readonly buyback: bigint;
  readonly protocol: bigint;
}

function sharesOf(accounts: TradeAccounts, amounts: TradeAmounts): Shares {
  const buyback = (amounts.protocolFee * accounts.global.buybackBps) / basisPoints;
  return { creator: amounts.creatorFee, curve: amounts.quote, buyback, protocol: amounts.protocolFee - buyback };
}

function moveTokens(context: AnchorContext, accounts: TradeAccounts, amount: bigint, isBuy: boolean): void {
  const { mint, tokenProgram, curveAccount, curveTokens, userTokens, user } = accounts;
  const instruction = transferCheckedInstruction({
    programId: tokenProgram,
    source: isBuy ? curveTokens.address : userTokens.address,
    mint: mint.address,
    destination: isBuy ? userTokens.address : curveTokens.address,
    authority: isBuy ? curveAccount.address : user.address,
    amount,
    decimals: tokenDecimals,
  });
  context.raw.invoke(instruction, isBuy ? [['bonding-curve', addressBytes(mint.address)]] : []);
}

/** The creator's part goes to the creator's vault, or back to the trader's accumulator if the coin pays cashback. */
function creatorTarget(context: AnchorContext, accounts: TradeAccounts): InstructionAccount {
  if (!accounts.curve.cashback) return accounts.creatorVault;
  return accounts.volume ?? context.throws(pumpError.missingCashbackAccounts);
}

function payInSol(context: AnchorContext, accounts: TradeAccounts, shares: Shares): void {
  const from = accounts.user.address;
  const pay = (to: InstructionAccount, lamports: bigint): void => {
    if (lamports > 0n) context.raw.invoke(transferInstruction(from, to.address, lamports));
  };
  pay(creatorTarget(context, accounts), shares.creator);
  pay(accounts.curveAccount, shares.curve);
  pay(accounts.buyback, shares.buyback);
  pay(accounts.feeRecipient, shares.protocol);
}

function payInTokens(context: AnchorContext, accounts: TradeAccounts, quote: QuoteAccounts, shares: Shares, isBuy: boolean): void {
  const source = isBuy ? quote.user : quote.curve;
  const authority = isBuy ? accounts.user.address : accounts.curveAccount.address;
  const signers = isBuy ? [] : [['bonding-curve', addressBytes(accounts.mint.address)]];
  const pay = (to: InstructionAccount, amount: bigint): void => {
    if (amount === 0n) return;
    const parts = { programId: quote.program, source: source.address, mint: quote.mint.address, destination: to.address, authority };
    context.raw.invoke(transferCheckedInstruction({ ...parts, amount, decimals: quote.decimals }), signers);
  };
  pay(accounts.curve.cashback ? quote.volume : quote.creatorVault, shares.creator);
  pay(isBuy ? quote.curve : quote.user, isBuy ? shares.curve : shares.curve - shares.creator - shares.buyback - shares.protocol);
  pay(quote.buyback, shares.buyback);
  pay(quote.feeRecipient, shares.protocol);
}

/** The curve pays for a sale out of its own lamports. */
function payOutSol(context: AnchorContext, accounts: TradeAccounts, shares: Shares): void {
  const { curveAccount, user, buyback, feeRecipient } = accounts;
  if (curveAccount.lamports - minimumBalance(curveAccount.data.length) < shares.curve) {
    context.raw.plainLog(`Transfer: insufficient lamports ${curveAccount.lamports}, need ${shares.curve}`);
    failCustom(negativeLamports);
  }
  curveAccount.debit(shares.curve);
  user.credit(shares.curve - shares.creator - shares.buyback - shares.protocol);
  creatorTarget(context, accounts).credit(shares.creator);
  buyback.credit(shares.buyback);
  feeRecipient.credit(shares.protocol);
}

function afterTrade(curve: Curve, amounts: TradeAmounts, isBuy: boolean): Curve {
  const sign = isBuy ? 1n : -1n;
  const realToken = curve.realToken - sign * amounts.tokens;
  return {
    ...curve,
    virtualToken: curve.virtualToken - sign * amounts.tokens,
    virtualQuote: curve.virtualQuote + sign * amounts.quote,
    realToken,
    realQuote: curve.realQuote + sign * amounts.quote,
    complete: realToken === 0n,
  };
}

function record(context: AnchorContext, accounts: TradeAccounts, amounts: TradeAmounts, rates: TradeRates, trade: Trade): void {
  const after = afterTrade(accounts.curve, amounts, trade.isBuy);
  accounts.curveAccount.write().set(curveData(after));
  const shares = sharesOf(accounts, amounts);
  if (after.cashback && accounts.volume?.owner === context.programId) {
    addCashback(accounts.volume.write(), shares.creator, accounts.quote !== null);
  }
  context.emit(
    tradeEvent({
      mint: accounts.mint.address,
      user: accounts.user.address,
      timestamp: context.raw.clock.unixTimestamp,
      isBuy: trade.isBuy,
      tokens: amounts.tokens,
      quote: amounts.quote,
      curve: after,
      isSol: after.quoteMint === systemProgram,
      feeRecipient: accounts.feeRecipient.address,
      protocolBps: rates.protocol,
      protocolFee: amounts.protocolFee,
      creatorBps: rates.creator,
      creatorFee: amounts.creatorFee,
      buybackBps: accounts.global.buybackBps,
      buybackFee: shares.buyback,
      trackVolume: trade.trackVolume,
      ixName: trade.ixName,
    }),
  );
  if (!after.complete) return;
  const { clock } = context.raw;
  context.emit(
    completeEvent(accounts.user.address, accounts.mint.address, accounts.curveAccount.address, clock.unixTimestamp, after.quoteMint),
  );
}

export interface Trade {
  readonly isBuy: boolean;
  readonly ixName: string;
  readonly trackVolume: boolean;
}

/** Moves tokens and money of a priced buy, and records it. */
export function settleBuy(context: AnchorContext, accounts: TradeAccounts, amounts: TradeAmounts, rates: TradeRates, trade: Trade): void {
  const shares = sharesOf(accounts, amounts);
  moveTokens(context, accounts, amounts.tokens, true);
  if (accounts.quote === null) payInSol(context, accounts, shares);
  else payInTokens(context, accounts, accounts.quote, shares, true);
  record(context, accounts, amounts, rates, trade);
}

/** Moves tokens and money of a priced sale, and records it. */
export function settleSell(
  context: AnchorContext,
  accounts: TradeAccounts,
  amounts: TradeAmounts,
  rates: TradeRates,
  ixName: string,
): void {
  const shares = sharesOf(accounts, amounts);
  moveTokens(context, accounts, amounts.tokens, false);
  if (accounts.quote === null) payOutSol(context, accounts, shares);
  else payInTokens(context, accounts, accounts.quote, shares, false);
  record(context, accounts, amounts, rates, { isBuy: false, ixName, trackVolume: false });
}

export function userTokenAmount(accounts: TradeAccounts): bigint {
  return tokenFields.amount(accounts.userTokens.data);
}
