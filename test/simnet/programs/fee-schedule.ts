import { systemProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { BorshReader, BorshWriter } from '../layout/borsh.ts';

/** Basis points. */
export interface FeeRates {
  readonly lp: bigint;
  readonly protocol: bigint;
  readonly creator: bigint;
}

export interface FeeTier {
  /** In base units of the quote coin. */
  readonly marketCap: bigint;
  readonly rates: FeeRates;
}

export interface FeeSchedule {
  readonly flat: FeeRates;
  readonly tiers: readonly FeeTier[];
  readonly stableTiers: readonly FeeTier[];
  readonly exoticFlat: FeeRates;
}

export const feeConfigDiscriminator = Uint8Array.from(Buffer.from('8f3492bbdb7b4c9b', 'hex'));
/** Length since the exotic fees were added. */
const feeConfigBytes = 4097;

const basisPoints = 10_000n;

export function feeOf(amount: bigint, bps: bigint): bigint {
  return (amount * bps + basisPoints - 1n) / basisPoints;
}

function writeRates(writer: BorshWriter, rates: FeeRates): void {
  writer.u64(rates.lp).u64(rates.protocol).u64(rates.creator);
}

function writeTiers(writer: BorshWriter, tiers: readonly FeeTier[]): void {
  writer.u32(tiers.length);
  for (const tier of tiers) {
    writer.u128(tier.marketCap);
    writeRates(writer, tier.rates);
  }
}

export function feeConfigData(bump: number, admin: string, schedule: FeeSchedule): Uint8Array {
  const writer = new BorshWriter().bytes(feeConfigDiscriminator).u8(bump).address(admin);
  writeRates(writer, schedule.flat);
  writeTiers(writer, schedule.tiers);
  writeTiers(writer, schedule.stableTiers);
  writeRates(writer, schedule.exoticFlat);
  return writer.done(feeConfigBytes);
}

function readRates(reader: BorshReader): FeeRates {
  return { lp: reader.u64(), protocol: reader.u64(), creator: reader.u64() };
}

function readTiers(reader: BorshReader): FeeTier[] {
  return Array.from({ length: reader.u32() }, () => ({ marketCap: reader.u128(), rates: readRates(reader) }));
}

export function readFeeConfig(data: Uint8Array): FeeSchedule {
  const reader = new BorshReader(data, 8 + 1 + 32);
  return { flat: readRates(reader), tiers: readTiers(reader), stableTiers: readTiers(reader), exoticFlat: readRates(reader) };
}

function tierFor(tiers: readonly FeeTier[], marketCap: bigint): FeeRates | null {
  let found = tiers[0]?.rates ?? null;
  for (const tier of tiers) if (marketCap >= tier.marketCap) found = tier.rates;
  return found;
}

/** Fees of a pump curve or of a pool that a curve migrated to; the flat fees for any other pool. */
export function ratesFor(schedule: FeeSchedule, isPumpPool: boolean, quoteMint: string, marketCap: bigint): FeeRates {
  if (!isPumpPool) return schedule.flat;
  if (quoteMint === systemProgram || quoteMint === wrappedSolMint) return tierFor(schedule.tiers, marketCap) ?? schedule.flat;
  if (quoteMint === usdcMint) {
    const tiers = schedule.stableTiers.length > 0 ? schedule.stableTiers : schedule.tiers;
    return tierFor(tiers, marketCap) ?? schedule.flat;
  }
  const { exoticFlat } = schedule;
  return exoticFlat.lp + exoticFlat.protocol + exoticFlat.creator === 0n ? schedule.flat : exoticFlat;
}
