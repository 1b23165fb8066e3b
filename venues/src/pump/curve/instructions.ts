import { keepDerived, tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { readonlyAccount, signerAccount, withU64s, writableAccount } from '@sluice/shared/solana/transaction/instructions.ts';
import type { AccountMeta } from '@sluice/shared/solana/transaction/transaction.ts';
import { associatedTokenProgram, systemProgram, token2022Program, wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { madeAccount, recipientAt, type BuiltTrade, type ProgramAccount, type TradeOrder } from '../../seam/trading.ts';
import type { QuotedCurve } from './decode.ts';
import { volumeAccumulatorBytes } from '../fees/fees.ts';
import * as program from './program.ts';
import type { CommonSettings } from '../fees/settings.ts';

const sharingConfigOf = keepDerived(program.sharingConfigAddress);
const creatorVaultOf = keepDerived(program.creatorVaultAddress);
const volumeAccumulatorOf = keepDerived(program.userVolumeAccumulatorAddress);

/** The fields of the curve on which its instructions depend. */
export interface TradedCurve {
  readonly mint: string;
  readonly address: string;
  readonly curve: QuotedCurve;
  readonly settings: CommonSettings;
  /** Size of the curve's account in bytes. */
  readonly bytes: number;
  /** Lamports of the curve's account that are not SOL of the curve. */
  readonly rent: bigint;
}

/** Compute units of the instruction, with accounts that it may have to create: the maximum measured on the real program (README.md), rounded up. */
const units = {
  sol: { buy: 107_000, sell: 93_000 },
  token: { buy: 158_000, sell: 121_000 },
  token2022: { buy: 230_000, sell: 170_000 },
} as const;

/** The layout of 2026-10. The first trade on a shorter curve grows its account. */
const newestCurveBytes = 166;

type Parties = ReturnType<typeof partiesOf>;

function partiesOf({ mint, curve }: TradedCurve, { user, baseTokenProgram, quoteTokenProgram }: TradeOrder) {
  const quoteOf = (owner: string): string => tokenAddress(owner, curve.quoteMint, quoteTokenProgram);
  return {
    user,
    base: tokenAddress(user, mint, baseTokenProgram),
    quote: quoteOf(user),
    volume: volumeAccumulatorOf(user),
    creatorVault: creatorVaultOf(curve.creator),
    quoteOf,
  };
}

/** Accounts of `buy_v2` and `buy_exact_quote_in_v2`, for every coin. `sell_v2` has the same except the global volume. */
function accountsOf(pool: TradedCurve, order: TradeOrder, { user, base, quote, volume, creatorVault, quoteOf }: Parties): AccountMeta[] {
  const { mint, address, curve, settings } = pool;
  const { baseTokenProgram, quoteTokenProgram, recipient } = order;
  const feeRecipient = recipientAt(curve.mayhemMode ? settings.reservedFeeRecipients : settings.feeRecipients, recipient);
  const buyback = recipientAt(settings.buybackFeeRecipients, recipient);
  return [
    readonlyAccount(program.globalAddress),
    readonlyAccount(mint),
    readonlyAccount(curve.quoteMint),
    readonlyAccount(baseTokenProgram),
    readonlyAccount(quoteTokenProgram),
    readonlyAccount(associatedTokenProgram),
    writableAccount(feeRecipient),
    writableAccount(quoteOf(feeRecipient)),
    writableAccount(buyback),
    writableAccount(quoteOf(buyback)),
    writableAccount(address),
    writableAccount(tokenAddress(address, mint, baseTokenProgram)),
    writableAccount(quoteOf(address)),
    signerAccount(user),
    writableAccount(base),
    writableAccount(quote),
    writableAccount(creatorVault),
    writableAccount(quoteOf(creatorVault)),
    readonlyAccount(sharingConfigOf(mint)),
    ...(order.trade.exact === 'baseIn' ? [] : [readonlyAccount(program.globalVolumeAccumulator)]),
    writableAccount(volume),
    writableAccount(quoteOf(volume)),
    readonlyAccount(program.feeConfig),
    readonlyAccount(program.feeProgram),
    readonlyAccount(systemProgram),
    readonlyAccount(program.eventAuthority),
    readonlyAccount(program.programId),
  ];
}

/** An amount that would buy more than the curve has left must use the exact-out instruction; the program would refuse the exact-in one. */
function dataOf({ trade, quote, minOut, maxIn }: TradeOrder): Uint8Array {
  const { buyV2, buyExactQuoteInV2, sellV2 } = program.instructionDiscriminators;
  if (trade.exact === 'baseIn') return withU64s(sellV2, trade.amount, minOut);
  if (trade.exact === 'quoteIn' && !quote.cut) return withU64s(buyExactQuoteInV2, trade.amount, minOut);
  return withU64s(buyV2, quote.baseAmount, maxIn);
}

/** Accounts that the real program was seen to create if they are missing (README.md). */
function programAccountsOf(traded: TradedCurve, order: TradeOrder, isSol: boolean, parties: Parties): ProgramAccount[] {
  const { address, curve, bytes, rent } = traded;
  const { volume, creatorVault, quoteOf } = parties;
  const made: ProgramAccount[] = [madeAccount(volume, volumeAccumulatorBytes)];
  if (bytes < newestCurveBytes) made.push({ address, bytes: newestCurveBytes, grows: { from: bytes, rent } });
  if (curve.creator !== zeroAddress && !curve.cashback) made.push(madeAccount(creatorVault, 0));
  if (!isSol) for (const owner of [creatorVault, volume]) made.push(madeAccount(quoteOf(owner), order.quoteAccountBytes));
  return made;
}

/** If the quote coin is SOL, the program moves lamports, so no wrapped SOL is needed. Throws TypeError if an address of the order is invalid. */
export function buildCurveTrade(pool: TradedCurve, order: TradeOrder): BuiltTrade {
  const parties = partiesOf(pool, order);
  const isBuy = order.trade.exact !== 'baseIn';
  const isSol = pool.curve.quoteMint === wrappedSolMint;
  const quoteKind = isSol ? 'sol' : order.quoteTokenProgram === token2022Program ? 'token2022' : 'token';
  return {
    instruction: { programId: program.programId, accounts: accountsOf(pool, order, parties), data: dataOf(order) },
    baseMint: pool.mint,
    quoteMint: pool.curve.quoteMint,
    baseAccount: parties.base,
    quoteAccount: isSol ? null : parties.quote,
    programAccounts: programAccountsOf(pool, order, isSol, parties),
    computeUnits: units[quoteKind][isBuy ? 'buy' : 'sell'],
  };
}
