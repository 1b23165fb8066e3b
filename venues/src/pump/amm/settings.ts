import type { DecodedSettings } from '../fees/fee-config.ts';
import { addresses, decodeSettings, readLaterSettings, type CommonSettings } from '../fees/settings.ts';
import { globalConfigMinLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The fields of `GlobalConfig` on which trades depend. */
export interface PumpAmmSettings extends CommonSettings {
  readonly buyDisabled: boolean;
  readonly sellDisabled: boolean;
}

const disableBuy = 1 << 3;
const disableSell = 1 << 4;
const globalConfig = { name: 'GlobalConfig', discriminator: accountDiscriminators.globalConfig, minLength: globalConfigMinLength };

/** Decodes `GlobalConfig`. */
export function decodeGlobalConfig(data: Uint8Array): DecodedSettings<PumpAmmSettings> {
  return decodeSettings(data, globalConfig, (reader) => {
    reader.skip(48); // admin, lp_fee_basis_points, protocol_fee_basis_points
    const flags = reader.u8();
    const feeRecipients = addresses(reader, 8);
    reader.skip(72); // coin_creator_fee_basis_points, admin_set_coin_creator_authority, whitelist_pda
    const later = readLaterSettings(reader, 33); // boost_authority, boost_enabled
    return { buyDisabled: (flags & disableBuy) !== 0, sellDisabled: (flags & disableSell) !== 0, feeRecipients, ...later };
  });
}
