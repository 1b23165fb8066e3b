import { curveAccounts } from '../constants.ts';
import { BorshReader, BorshWriter } from '../../layout/borsh.ts';

/** Length of a curve since October 2026; older ones are shorter, and the real program extends them. */
export const curveBytes = 166;
/** User volume accumulators are allocated longer than their fields. */
export const volumeAccumulatorBytes = 137;

export interface Curve {
  readonly virtualToken: bigint;
  readonly virtualQuote: bigint;
  readonly realToken: bigint;
  readonly realQuote: bigint;
  readonly supply: bigint;
  readonly complete: boolean;
  readonly creator: string;
  readonly mayhem: boolean;
  readonly cashback: boolean;
  /** The zero key for SOL. */
  readonly quoteMint: string;
  readonly creatorFeeBps: bigint;
  readonly canEditCreatorFee: boolean;
  readonly holderReward: boolean;
}

export function curveData(curve: Curve): Uint8Array {
  return new BorshWriter()
    .bytes(curveAccounts.bondingCurve)
    .u64(curve.virtualToken)
    .u64(curve.virtualQuote)
    .u64(curve.realToken)
    .u64(curve.realQuote)
    .u64(curve.supply)
    .bool(curve.complete)
    .address(curve.creator)
    .bool(curve.mayhem)
    .bool(curve.cashback)
    .address(curve.quoteMint)
    .u64(curve.creatorFeeBps)
    .bool(curve.canEditCreatorFee)
    .bool(curve.holderReward)
    .done(curveBytes);
}

export function readCurve(data: Uint8Array): Curve {
  const reader = new BorshReader(data, 8);
  return {
    virtualToken: reader.u64(),
    virtualQuote: reader.u64(),
    realToken: reader.u64(),
    realQuote: reader.u64(),
    supply: reader.u64(),
    complete: reader.bool(),
    creator: reader.address(),
    mayhem: reader.bool(),
    cashback: reader.bool(),
    quoteMint: reader.address(),
    creatorFeeBps: reader.u64(),
    canEditCreatorFee: reader.bool(),
    holderReward: reader.bool(),
  };
}

export interface Global {
  readonly authority: string;
  readonly initialVirtualToken: bigint;
  readonly initialVirtualSol: bigint;
  readonly initialRealToken: bigint;
  readonly supply: bigint;
  readonly feeBps: bigint;
  readonly withdrawAuthority: string;
  readonly enableMigrate: boolean;
  readonly poolMigrationFee: bigint;
  readonly creatorFeeBps: bigint;
  /** Eight; the first is `fee_recipient`. */
  readonly feeRecipients: readonly string[];
  readonly setCreatorAuthority: string;
  readonly adminSetCreatorAuthority: string;
  readonly createV2Enabled: boolean;
  readonly whitelistPda: string;
  readonly mayhemEnabled: boolean;
  /** Eight; the first is `reserved_fee_recipient`. */
  readonly reservedFeeRecipients: readonly string[];
  readonly cashbackEnabled: boolean;
  readonly buybackFeeRecipients: readonly string[];
  readonly buybackBps: bigint;
  readonly initialVirtualQuote: bigint;
  readonly whitelistedQuoteMint: string;
  readonly creatorFeeConfigurable: boolean;
  readonly maxCreatorFeeBps: bigint;
  readonly holderRewardClaimAuthority: string;
  readonly holderRewardEnabled: boolean;
}

function writeAddresses(writer: BorshWriter, addresses: readonly string[]): BorshWriter {
  for (const address of addresses) writer.address(address);
  return writer;
}

export function globalData(global: Global): Uint8Array {
  const writer = new BorshWriter()
    .bytes(curveAccounts.global)
    .bool(true)
    .address(global.authority)
    .address(global.feeRecipients[0] ?? global.authority)
    .u64(global.initialVirtualToken)
    .u64(global.initialVirtualSol)
    .u64(global.initialRealToken)
    .u64(global.supply)
    .u64(global.feeBps)
    .address(global.withdrawAuthority)
    .bool(global.enableMigrate)
    .u64(global.poolMigrationFee)
    .u64(global.creatorFeeBps);
  writeAddresses(writer, global.feeRecipients.slice(1))
    .address(global.setCreatorAuthority)
    .address(global.adminSetCreatorAuthority)
    .bool(global.createV2Enabled)
    .address(global.whitelistPda)
    .address(global.reservedFeeRecipients[0] ?? global.authority)
    .bool(global.mayhemEnabled);
  writeAddresses(writer, global.reservedFeeRecipients.slice(1)).bool(global.cashbackEnabled);
  return writeAddresses(writer, global.buybackFeeRecipients)
    .u64(global.buybackBps)
    .u64(global.initialVirtualQuote)
    .address(global.whitelistedQuoteMint)
    .bool(global.creatorFeeConfigurable)
    .u64(global.maxCreatorFeeBps)
    .address(global.holderRewardClaimAuthority)
    .bool(global.holderRewardEnabled)
    .done();
}

export function readGlobal(data: Uint8Array): Global {
  const reader = new BorshReader(data, 9);
  const authority = reader.address();
  const feeRecipient = reader.address();
  const head = {
    authority,
    initialVirtualToken: reader.u64(),
    initialVirtualSol: reader.u64(),
    initialRealToken: reader.u64(),
    supply: reader.u64(),
    feeBps: reader.u64(),
    withdrawAuthority: reader.address(),
    enableMigrate: reader.bool(),
    poolMigrationFee: reader.u64(),
    creatorFeeBps: reader.u64(),
    feeRecipients: [feeRecipient, ...reader.addresses(7)],
    setCreatorAuthority: reader.address(),
    adminSetCreatorAuthority: reader.address(),
    createV2Enabled: reader.bool(),
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
    initialVirtualQuote: reader.u64(),
    whitelistedQuoteMint: reader.address(),
    creatorFeeConfigurable: reader.bool(),
    maxCreatorFeeBps: reader.u64(),
    holderRewardClaimAuthority: reader.address(),
    holderRewardEnabled: reader.bool(),
  };
}

/** A new user volume accumulator: the user's key and zeros. */
export function volumeAccumulatorData(user: string): Uint8Array {
  return new BorshWriter().bytes(curveAccounts.userVolumeAccumulator).address(user).done(volumeAccumulatorBytes);
}

const cashbackEarnedAt = 82;
const stableCashbackEarnedAt = 98;

/** Adds cashback to an accumulator's bytes, in lamports or in units of a stable coin. */
export function addCashback(data: Uint8Array, amount: bigint, stable: boolean): void {
  const at = stable ? stableCashbackEarnedAt : cashbackEarnedAt;
  const view = Buffer.from(data.buffer, data.byteOffset, data.length);
  view.writeBigUInt64LE(view.readBigUInt64LE(at) + amount, at);
}
