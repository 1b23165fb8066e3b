import type { DecodedSettings } from '../fees/fee-config.ts';
import { addresses, decodeSettings, readLaterSettings, type CommonSettings } from '../fees/settings.ts';
import { globalMinLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

const global = { name: 'Global', discriminator: accountDiscriminators.global, minLength: globalMinLength };

/** Decodes the fields of `Global` on which trades depend. */
export function decodeGlobal(data: Uint8Array): DecodedSettings<CommonSettings> {
  return decodeSettings(data, global, (reader) => {
    reader.skip(33); // initialized, authority
    const feeRecipient = reader.address();
    reader.skip(89); // initial reserves, supply, fee_basis_points, withdraw_authority, enable_migrate, pool_migration_fee, creator_fee_basis_points
    const feeRecipients = [feeRecipient, ...addresses(reader, 7)];
    reader.skip(97); // set_creator_authority, admin_set_creator_authority, create_v2_enabled, whitelist_pda
    return { feeRecipients, ...readLaterSettings(reader, 40) }; // initial_virtual_quote_reserves, whitelisted_quote_mints
  });
}
