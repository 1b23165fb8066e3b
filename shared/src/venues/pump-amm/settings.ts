import { BorshReader, hasPrefix } from '../../solana/bytes.ts';
import type { DecodedSettings } from '../pump-fees/fee-config.ts';
import { globalConfigMinLength } from './layout.ts';
import { accountDiscriminators } from './program.ts';

/** What of `GlobalConfig` trades depend on. */
export interface PumpAmmSettings {
  readonly buyDisabled: boolean;
  readonly sellDisabled: boolean;
  /** Any of these eight takes the protocol fee. */
  readonly feeRecipients: readonly string[];
  /** The eight that take it on pools of mayhem coins. */
  readonly reservedFeeRecipients: readonly string[];
  /** Any of these eight takes the buyback share of the protocol fee; empty in accounts older than it. */
  readonly buybackFeeRecipients: readonly string[];
  readonly buybackBps: bigint;
  /** Whether a creator fee set for one coin holds. */
  readonly creatorFeeConfigurable: boolean;
}

const disableBuy = 1 << 3;
const disableSell = 1 << 4;
const addresses = (reader: BorshReader, count: number): string[] => Array.from({ length: count }, () => reader.address());

/** Decodes `GlobalConfig`; fields that its layout does not reach to are empty, zero or false, as the program reads them. Never throws. */
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
    return { kind: 'malformed', reason: 'GlobalConfig ends inside a field or has a senseless one' };
  const [buyDisabled, sellDisabled] = [(flags & disableBuy) !== 0, (flags & disableSell) !== 0];
  return {
    kind: 'decoded',
    settings: { buyDisabled, sellDisabled, feeRecipients, reservedFeeRecipients, buybackFeeRecipients, buybackBps, creatorFeeConfigurable },
  };
}
