import { BorshReader, hasPrefix } from '@sluice/shared/solana/bytes.ts';
import type { DecodedSettings } from '../pump-fees/fee-config.ts';
import { globalConfigMinLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** The fields of `GlobalConfig` on which trades depend. */
export interface PumpAmmSettings {
  readonly buyDisabled: boolean;
  readonly sellDisabled: boolean;
  /** The eight possible recipients of the protocol fee. */
  readonly feeRecipients: readonly string[];
  /** The eight possible recipients on pools of mayhem coins. */
  readonly reservedFeeRecipients: readonly string[];
  /** The eight possible recipients of the buyback share of the protocol fee; empty in accounts that are older than this share. */
  readonly buybackFeeRecipients: readonly string[];
  readonly buybackBps: bigint;
  /** Whether a creator fee that was set for one coin applies. */
  readonly creatorFeeConfigurable: boolean;
}

const disableBuy = 1 << 3;
const disableSell = 1 << 4;
const addresses = (reader: BorshReader, count: number): string[] => Array.from({ length: count }, () => reader.address());

/** Decodes `GlobalConfig`. A field that its layout lacks is empty, zero or false, as the program reads it. Never throws. */
export function decodeGlobalConfig(data: Uint8Array): DecodedSettings<PumpAmmSettings> {
  if (!hasPrefix(data, accountDiscriminators.globalConfig)) return { kind: 'malformed', reason: 'not a GlobalConfig' };
  if (data.length < globalConfigMinLength) return { kind: 'malformed', reason: 'GlobalConfig too short' };
  const reader = new BorshReader(data, 8);
  reader.skip(48); // admin, lp_fee_basis_points, protocol_fee_basis_points
  const flags = reader.u8();
  const feeRecipients = addresses(reader, 8);
  reader.skip(72); // coin_creator_fee_basis_points, admin_set_coin_creator_authority, whitelist_pda
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
  if (reader.has(33)) reader.skip(33); // boost_authority, boost_enabled
  if (reader.has(1)) creatorFeeConfigurable = reader.bool();
  if (reader.failed || buybackBps > 10_000n)
    return { kind: 'malformed', reason: 'GlobalConfig ends inside a field or has an invalid value' };
  const [buyDisabled, sellDisabled] = [(flags & disableBuy) !== 0, (flags & disableSell) !== 0];
  return {
    kind: 'decoded',
    settings: { buyDisabled, sellDisabled, feeRecipients, reservedFeeRecipients, buybackFeeRecipients, buybackBps, creatorFeeConfigurable },
  };
}
