import { ammAccounts } from '../constants.ts';
import { BorshReader, BorshWriter } from '../../layout/borsh.ts';

/** Pools are allocated longer than their fields. */
export const poolBytes = 301;
export const volumeAccumulatorBytes = 137;

export interface Pool {
  readonly bump: number;
  readonly index: number;
  readonly creator: string;
  readonly baseMint: string;
  readonly quoteMint: string;
  readonly lpMint: string;
  readonly baseVault: string;
  readonly quoteVault: string;
  readonly lpSupply: bigint;
  readonly coinCreator: string;
  readonly mayhem: boolean;
  readonly cashback: boolean;
  readonly virtualQuote: bigint;
  readonly creatorFeeBps: bigint;
  readonly canEditCreatorFee: boolean;
  readonly holderReward: boolean;
}

export function poolData(pool: Pool): Uint8Array {
  return new BorshWriter()
    .bytes(ammAccounts.pool)
    .u8(pool.bump)
    .u16(pool.index)
    .address(pool.creator)
    .address(pool.baseMint)
    .address(pool.quoteMint)
    .address(pool.lpMint)
    .address(pool.baseVault)
    .address(pool.quoteVault)
    .u64(pool.lpSupply)
    .address(pool.coinCreator)
    .bool(pool.mayhem)
    .bool(pool.cashback)
    .i128(pool.virtualQuote)
    .u64(pool.creatorFeeBps)
    .bool(pool.canEditCreatorFee)
    .bool(pool.holderReward)
    .done(poolBytes);
}

export function readPool(data: Uint8Array): Pool {
  const reader = new BorshReader(data, 8);
  return {
    bump: reader.u8(),
    index: reader.u16(),
    creator: reader.address(),
    baseMint: reader.address(),
    quoteMint: reader.address(),
    lpMint: reader.address(),
    baseVault: reader.address(),
    quoteVault: reader.address(),
    lpSupply: reader.u64(),
    coinCreator: reader.address(),
    mayhem: reader.bool(),
    cashback: reader.bool(),
    virtualQuote: reader.i128(),
    creatorFeeBps: reader.u64(),
    canEditCreatorFee: reader.bool(),
    holderReward: reader.bool(),
  };
}

export interface AmmConfig {
  readonly admin: string;
  readonly lpBps: bigint;
  readonly protocolBps: bigint;
  readonly disableFlags: number;
  readonly protocolFeeRecipients: readonly string[];
  readonly creatorBps: bigint;
  readonly adminSetCoinCreatorAuthority: string;
  readonly whitelistPda: string;
  readonly mayhemEnabled: boolean;
  /** Eight; the first is `reserved_fee_recipient`. */
  readonly reservedFeeRecipients: readonly string[];
  readonly cashbackEnabled: boolean;
  readonly buybackFeeRecipients: readonly string[];
  readonly buybackBps: bigint;
  readonly boostAuthority: string;
  readonly boostEnabled: boolean;
  readonly creatorFeeConfigurable: boolean;
  readonly maxCreatorFeeBps: bigint;
}

function writeAddresses(writer: BorshWriter, addresses: readonly string[]): BorshWriter {
  for (const address of addresses) writer.address(address);
  return writer;
}

export function ammConfigData(config: AmmConfig): Uint8Array {
  const writer = new BorshWriter()
    .bytes(ammAccounts.globalConfig)
    .address(config.admin)
    .u64(config.lpBps)
    .u64(config.protocolBps)
    .u8(config.disableFlags);
  writeAddresses(writer, config.protocolFeeRecipients)
    .u64(config.creatorBps)
    .address(config.adminSetCoinCreatorAuthority)
    .address(config.whitelistPda)
    .address(config.reservedFeeRecipients[0] ?? config.admin)
    .bool(config.mayhemEnabled);
  writeAddresses(writer, config.reservedFeeRecipients.slice(1)).bool(config.cashbackEnabled);
  return writeAddresses(writer, config.buybackFeeRecipients)
    .u64(config.buybackBps)
    .address(config.boostAuthority)
    .bool(config.boostEnabled)
    .bool(config.creatorFeeConfigurable)
    .u64(config.maxCreatorFeeBps)
    .done();
}

export function readAmmConfig(data: Uint8Array): AmmConfig {
  const reader = new BorshReader(data, 8);
  const head = {
    admin: reader.address(),
    lpBps: reader.u64(),
    protocolBps: reader.u64(),
    disableFlags: reader.u8(),
    protocolFeeRecipients: reader.addresses(8),
    creatorBps: reader.u64(),
    adminSetCoinCreatorAuthority: reader.address(),
    whitelistPda: reader.address(),
  };
  const reserved = reader.address();
  return {
    ...head,
    mayhemEnabled: reader.bool(),
    reservedFeeRecipients: [reserved, ...reader.addresses(7)],
    cashbackEnabled: reader.bool(),
    buybackFeeRecipients: reader.addresses(8),
    buybackBps: reader.u64(),
    boostAuthority: reader.address(),
    boostEnabled: reader.bool(),
    creatorFeeConfigurable: reader.bool(),
    maxCreatorFeeBps: reader.u64(),
  };
}

/** A new user volume accumulator of this program: the user's key and zeros. */
export function volumeAccumulatorData(user: string): Uint8Array {
  return new BorshWriter().bytes(ammAccounts.userVolumeAccumulator).address(user).done(volumeAccumulatorBytes);
}

const cashbackEarnedAt = 82;

export function addCashback(data: Uint8Array, amount: bigint): void {
  const view = Buffer.from(data.buffer, data.byteOffset, data.length);
  view.writeBigUInt64LE(view.readBigUInt64LE(cashbackEarnedAt) + amount, cashbackEarnedAt);
}
