import type { BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';

/** The fields that the settings of pump and of PumpSwap have in common. */
export interface CommonSettings {
  /** The eight possible recipients of the protocol fee. */
  readonly feeRecipients: readonly string[];
  /** The eight possible recipients for mayhem coins. */
  readonly reservedFeeRecipients: readonly string[];
  /** The eight possible recipients of the buyback share of the protocol fee; empty in accounts that are older than this share. */
  readonly buybackFeeRecipients: readonly string[];
  readonly buybackBps: bigint;
  /** Whether a creator fee that was set for one coin applies. */
  readonly creatorFeeConfigurable: boolean;
}

export const addresses = (reader: BorshReader, count: number): string[] => Array.from({ length: count }, () => reader.address());

/** The recipients for mayhem coins and all fields after them. `later`: bytes before the last field, in accounts that have them. */
export function readLaterSettings(reader: BorshReader, later: number): Omit<CommonSettings, 'feeRecipients'> {
  const reservedFeeRecipient = reader.address();
  reader.skip(1); // mayhem_mode_enabled
  const reservedFeeRecipients = [reservedFeeRecipient, ...addresses(reader, 7)];
  let buybackFeeRecipients: string[] = [];
  let buybackBps = 0n;
  if (reader.has(1)) reader.skip(1); // is_cashback_enabled
  if (reader.has(264)) {
    buybackFeeRecipients = addresses(reader, 8);
    buybackBps = reader.u64();
  }
  if (reader.has(later)) reader.skip(later);
  const creatorFeeConfigurable = reader.has(1) && reader.bool();
  return { reservedFeeRecipients, buybackFeeRecipients, buybackBps, creatorFeeConfigurable };
}
