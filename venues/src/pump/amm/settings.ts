import { BorshReader, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import type { DecodedSettings } from '../fees/fee-config.ts';
import { addresses, readLaterSettings, type CommonSettings } from '../fees/recipients.ts';
import { globalConfigMinLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The fields of `GlobalConfig` on which trades depend. */
export interface PumpAmmSettings extends CommonSettings {
  readonly buyDisabled: boolean;
  readonly sellDisabled: boolean;
}

const disableBuy = 1 << 3;
const disableSell = 1 << 4;

/** Decodes `GlobalConfig`. A field that its layout lacks is empty, zero or false, as the program reads it. Never throws. */
export function decodeGlobalConfig(data: Uint8Array): DecodedSettings<PumpAmmSettings> {
  if (!hasPrefix(data, accountDiscriminators.globalConfig)) return { kind: 'malformed', reason: 'not a GlobalConfig' };
  if (data.length < globalConfigMinLength) return { kind: 'malformed', reason: 'GlobalConfig too short' };
  const reader = new BorshReader(data, 8);
  reader.skip(48); // admin, lp_fee_basis_points, protocol_fee_basis_points
  const flags = reader.u8();
  const feeRecipients = addresses(reader, 8);
  reader.skip(72); // coin_creator_fee_basis_points, admin_set_coin_creator_authority, whitelist_pda
  const later = readLaterSettings(reader, 33); // boost_authority, boost_enabled
  if (reader.failed || later.buybackBps > 10_000n)
    return { kind: 'malformed', reason: 'GlobalConfig ends inside a field or has an invalid value' };
  const [buyDisabled, sellDisabled] = [(flags & disableBuy) !== 0, (flags & disableSell) !== 0];
  return {
    kind: 'decoded',
    settings: { buyDisabled, sellDisabled, feeRecipients, ...later },
  };
}
