import { BorshReader, discriminatorLength, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import { malformed } from '../../kit/decode.ts';
import type { DecodedSettings } from './fee-config.ts';

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

/** Decodes the settings of a program. A field that the account's layout lacks is empty, zero or false, as the program reads it. Never throws. */
export function decodeSettings<T extends CommonSettings>(
  data: Uint8Array,
  { name, discriminator, minLength }: { readonly name: string; readonly discriminator: Uint8Array; readonly minLength: number },
  read: (reader: BorshReader) => T,
): DecodedSettings<T> {
  if (!hasPrefix(data, discriminator)) return malformed(`not a ${name}`);
  if (data.length < minLength) return malformed(`${name} too short`);
  const reader = new BorshReader(data, discriminatorLength);
  const settings = read(reader);
  const isSound = !reader.failed && settings.buybackBps <= 10_000n;
  return !isSound ? malformed(`${name} ends inside a field or has an invalid value`) : { kind: 'decoded', settings };
}

export const addresses = (reader: BorshReader, count: number): string[] => Array.from({ length: count }, () => reader.address());

/** The recipients for mayhem coins and all fields after them. `later`: bytes before the last field, in accounts that have them. */
export function readLaterSettings(reader: BorshReader, later: number): Omit<CommonSettings, 'feeRecipients'> {
  const reservedFeeRecipient = reader.address();
  reader.skip(1); // mayhem_mode_enabled
  const reservedFeeRecipients = [reservedFeeRecipient, ...addresses(reader, 7)];
  if (reader.has(1)) reader.skip(1); // is_cashback_enabled
  const buybackFeeRecipients = reader.has(264) ? addresses(reader, 8) : [];
  const buybackBps = buybackFeeRecipients.length > 0 ? reader.u64() : 0n;
  if (reader.has(later)) reader.skip(later);
  const creatorFeeConfigurable = reader.has(1) && reader.bool();
  return { reservedFeeRecipients, buybackFeeRecipients, buybackBps, creatorFeeConfigurable };
}
