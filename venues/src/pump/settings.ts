import { BorshReader, hasPrefix } from '@sluice/shared/solana/bytes.ts';
import type { DecodedSettings } from '../pump-fees/fee-config.ts';
import { globalMinLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The fields of `Global` on which trades depend. */
export interface PumpSettings {
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

const addresses = (reader: BorshReader, count: number): string[] => Array.from({ length: count }, () => reader.address());

/** Decodes `Global`. A field that its layout lacks is empty, zero or false, as the program reads it. Never throws. */
export function decodeGlobal(data: Uint8Array): DecodedSettings<PumpSettings> {
  if (!hasPrefix(data, accountDiscriminators.global)) return { kind: 'malformed', reason: 'not a Global' };
  if (data.length < globalMinLength) return { kind: 'malformed', reason: 'Global too short' };
  const reader = new BorshReader(data, 8);
  reader.skip(33); // initialized, authority
  const feeRecipient = reader.address();
  reader.skip(89); // initial reserves, supply, fee_basis_points, withdraw_authority, enable_migrate, pool_migration_fee, creator_fee_basis_points
  const feeRecipients = [feeRecipient, ...addresses(reader, 7)];
  reader.skip(97); // set_creator_authority, admin_set_creator_authority, create_v2_enabled, whitelist_pda
  const reservedFeeRecipient = reader.address();
  reader.skip(1); // mayhem_mode_enabled
  const reservedFeeRecipients = [reservedFeeRecipient, ...addresses(reader, 7)];
  let buybackFeeRecipients: string[] = [];
  let buybackBps = 0n;
  let creatorFeeConfigurable = false;
  if (reader.has(1)) reader.skip(1); // is_cashback_enabled
  if (reader.has(264)) {
    buybackFeeRecipients = addresses(reader, 8);
    buybackBps = reader.u64();
  }
  if (reader.has(40)) reader.skip(40); // initial_virtual_quote_reserves, whitelisted_quote_mints
  if (reader.has(1)) creatorFeeConfigurable = reader.bool();
  if (reader.failed || buybackBps > 10_000n) return { kind: 'malformed', reason: 'Global ends inside a field or has an invalid value' };
  return { kind: 'decoded', settings: { feeRecipients, reservedFeeRecipients, buybackFeeRecipients, buybackBps, creatorFeeConfigurable } };
}
