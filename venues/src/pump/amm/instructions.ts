import { keepDerived, tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { readonlyAccount, signerAccount, withU64s, writableAccount } from '@sluice/shared/solana/transaction/instructions.ts';
import type { AccountMeta } from '@sluice/shared/solana/transaction/transaction.ts';
import { associatedTokenProgram, systemProgram, wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { madeAccount, recipientAt, type BuiltTrade, type ProgramAccount, type TradeOrder } from '../../seam/trading.ts';
import type { QuotedAmmPool } from './decode.ts';
import { volumeAccumulatorBytes } from '../fees/fees.ts';
import * as program from './program.ts';
import type { PumpAmmSettings } from './settings.ts';

const poolV2Of = keepDerived(program.poolV2Address);
const creatorAuthorityOf = keepDerived(program.coinCreatorVaultAuthority);
const volumeAccumulatorOf = keepDerived(program.userVolumeAccumulatorAddress);

/** The fields of the pool on which its instructions depend. */
export interface PoolAndSettings {
  readonly address: string;
  readonly pool: QuotedAmmPool;
  readonly settings: PumpAmmSettings;
  /** Size of the pool's account in bytes, and its lamports. */
  readonly bytes: number;
  readonly rent: bigint;
}

/** Compute units of the instruction, with accounts that it may have to create: the maximum measured on the real program (README.md), rounded up. */
const units = { buy: 145_000, sell: 110_000 } as const;

/** The trader's volume is tracked, as in the official client's buys. */
const trackVolume = 1;

/** The layout of 2026-10. The first trade on a shorter pool grows its account. */
const newestPoolBytes = 287;

type Parties = ReturnType<typeof partiesOf>;

function partiesOf({ pool }: PoolAndSettings, { user, baseTokenProgram, quoteTokenProgram, wrappedSol }: TradeOrder) {
  const quoteOf = (owner: string): string => tokenAddress(owner, pool.quoteMint, quoteTokenProgram);
  return {
    user,
    base: tokenAddress(user, pool.baseMint, baseTokenProgram),
    quote: pool.quoteMint === wrappedSolMint ? wrappedSol() : quoteOf(user),
    volume: volumeAccumulatorOf(user),
    creatorAuthority: creatorAuthorityOf(pool.coinCreator),
    quoteOf,
  };
}

function feeRecipientOf({ pool, settings }: PoolAndSettings, { recipient }: TradeOrder): string {
  return recipientAt(pool.mayhemMode ? settings.reservedFeeRecipients : settings.feeRecipients, recipient);
}

/** After those of the IDL: the destination of cashback, the pool's second account if it has a coin creator, the buyback recipient. */
function remainingAccounts({ pool, settings }: PoolAndSettings, order: TradeOrder, { volume, quoteOf }: Parties): AccountMeta[] {
  const isSell = order.trade.exact === 'baseIn';
  const buyback = recipientAt(settings.buybackFeeRecipients, order.recipient);
  return [
    ...(pool.cashback ? [writableAccount(quoteOf(volume)), ...(isSell ? [writableAccount(volume)] : [])] : []),
    ...(pool.coinCreator === zeroAddress ? [] : [readonlyAccount(poolV2Of(pool.baseMint))]),
    readonlyAccount(buyback),
    writableAccount(quoteOf(buyback)),
  ];
}

function accountsOf(traded: PoolAndSettings, order: TradeOrder, parties: Parties): AccountMeta[] {
  const { address, pool } = traded;
  const { user, base, quote, volume, creatorAuthority, quoteOf } = parties;
  const feeRecipient = feeRecipientOf(traded, order);
  const isSell = order.trade.exact === 'baseIn';
  return [
    writableAccount(address),
    signerAccount(user),
    readonlyAccount(program.globalConfig),
    readonlyAccount(pool.baseMint),
    readonlyAccount(pool.quoteMint),
    writableAccount(base),
    writableAccount(quote),
    writableAccount(pool.baseVault),
    writableAccount(pool.quoteVault),
    readonlyAccount(feeRecipient),
    writableAccount(quoteOf(feeRecipient)),
    readonlyAccount(order.baseTokenProgram),
    readonlyAccount(order.quoteTokenProgram),
    readonlyAccount(systemProgram),
    readonlyAccount(associatedTokenProgram),
    readonlyAccount(program.eventAuthority),
    readonlyAccount(program.programId),
    writableAccount(quoteOf(creatorAuthority)),
    readonlyAccount(creatorAuthority),
    ...(isSell ? [] : [readonlyAccount(program.globalVolumeAccumulator), writableAccount(volume)]),
    readonlyAccount(program.feeConfig),
    readonlyAccount(program.feeProgram),
    ...remainingAccounts(traded, order, parties),
  ];
}

function dataOf({ trade, quote, minOut, maxIn }: TradeOrder): Uint8Array {
  const { buy, buyExactQuoteIn, sell } = program.instructionDiscriminators;
  if (trade.exact === 'baseIn') return withU64s(sell, trade.amount, minOut);
  const amounts = trade.exact === 'quoteIn' ? withU64s(buyExactQuoteIn, trade.amount, minOut) : withU64s(buy, quote.baseAmount, maxIn);
  const data = new Uint8Array(amounts.length + 1);
  data.set(amounts);
  data[amounts.length] = trackVolume;
  return data;
}

/** Accounts that the real program was seen to create if they are missing (README.md). */
function programAccountsOf(traded: PoolAndSettings, order: TradeOrder, { volume, creatorAuthority, quoteOf }: Parties): ProgramAccount[] {
  const { address, bytes, rent, pool } = traded;
  const { cashback } = pool;
  const receivers = [feeRecipientOf(traded, order), creatorAuthority, ...(cashback ? [volume] : [])];
  const made = receivers.map((owner) => madeAccount(quoteOf(owner), order.quoteAccountBytes));
  if (bytes < newestPoolBytes) made.push({ address, bytes: newestPoolBytes, grows: { from: bytes, rent } });
  if (cashback || order.trade.exact !== 'baseIn') made.push(madeAccount(volume, volumeAccumulatorBytes));
  return made;
}

/** Quote coins, wrapped SOL included, move between token accounts. Throws TypeError if an address of the order is invalid. */
export function buildPoolTrade(traded: PoolAndSettings, order: TradeOrder): BuiltTrade {
  const { pool } = traded;
  const parties = partiesOf(traded, order);
  const isBuy = order.trade.exact !== 'baseIn';
  return {
    instruction: { programId: program.programId, accounts: accountsOf(traded, order, parties), data: dataOf(order) },
    baseMint: pool.baseMint,
    quoteMint: pool.quoteMint,
    baseAccount: parties.base,
    quoteAccount: parties.quote,
    programAccounts: programAccountsOf(traded, order, parties),
    computeUnits: isBuy ? units.buy : units.sell,
  };
}
