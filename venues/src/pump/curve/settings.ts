import { BorshReader, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import type { DecodedSettings } from '../fees/fee-config.ts';
import { addresses, readLaterSettings, type CommonSettings } from '../fees/recipients.ts';
import { globalMinLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The fields of `Global` on which trades depend. */
export type PumpSettings = CommonSettings;

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
  const later = readLaterSettings(reader, 40); // initial_virtual_quote_reserves, whitelisted_quote_mints
  if (reader.failed || later.buybackBps > 10_000n)
    return { kind: 'malformed', reason: 'Global ends inside a field or has an invalid value' };
  return { kind: 'decoded', settings: { feeRecipients, ...later } };
}
