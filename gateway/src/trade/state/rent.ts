import { BorshReader } from '@sluice/shared/solana/bytes.ts';

/** What the runtime counts for each account beside its data. */
const accountOverheadBytes = 128;
/** `Rent` of the sysvar: lamports_per_byte_year u64, exemption_threshold f64, burn_percent u8. */
const rentLength = 17;
const sysvarOwner = 'Sysvar1111111111111111111111111111111111111';

export interface RentRates {
  readonly lamportsPerByte: bigint;
  readonly threshold: number;
}

/** Reads the Rent sysvar; null where the account is not it. */
export function decodeRent(owner: string, data: Uint8Array): RentRates | null {
  if (owner !== sysvarOwner || data.length < rentLength) return null;
  const lamportsPerByte = new BorshReader(data, 0).u64();
  const threshold = new DataView(data.buffer, data.byteOffset, data.length).getFloat64(8, true);
  const isSensible = threshold > 0 && threshold <= 100 && lamportsPerByte < 1_000_000_000n;
  return isSensible ? { lamportsPerByte, threshold } : null;
}

/** Lamports by which an account of so many bytes is exempt from rent, as the runtime rounds it. */
export function rentOf({ lamportsPerByte, threshold }: RentRates, bytes: number): bigint {
  return BigInt(Math.floor(Number(BigInt(accountOverheadBytes + bytes) * lamportsPerByte) * threshold));
}
