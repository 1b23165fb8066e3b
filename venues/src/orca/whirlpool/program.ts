import { anchorNames, bytes } from '../../kit/decode.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';

/** Orca Whirlpools. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`. */
export const programId = 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc';

export const eventDiscriminators = {
  traded: bytes('e1ca49af932ba096'),
  poolInitialized: bytes('6476ad570cc6fee5'),
  increased: bytes('1e0790b566fe9ba1'),
  decreased: bytes('a601244770cab5ab'),
} as const;

/** An instruction, with the places of the user and of the vaults of A and B among its accounts. */
export interface SwapForm {
  readonly discriminator: Uint8Array;
  readonly user: number;
  /** Null if it has the vaults of two pools. */
  readonly vaults: readonly [a: number, b: number] | null;
}

export const swapInstructions: readonly SwapForm[] = [
  { discriminator: bytes('f8c69e91e17587c8'), user: 1, vaults: [4, 6] }, // swap
  { discriminator: bytes('2b04ed0b1ac91e62'), user: 3, vaults: [8, 10] }, // swap_v2
  { discriminator: bytes('c360ed6c44a2dbe6'), user: 1, vaults: null }, // two_hop_swap
  { discriminator: bytes('ba8fd11dfe02c275'), user: 14, vaults: null }, // two_hop_swap_v2
];

/** Instructions that change a position on the pool that is their first account, with the places of its authority and of the vaults. */
const [older, newer] = [
  { user: 2, vaults: [7, 8] as const },
  { user: 4, vaults: [11, 12] as const },
];
export const liquidityInstructions: readonly SwapForm[] = [
  { discriminator: bytes('2e9cf3760dcdfbb2'), ...older }, // increase_liquidity
  { discriminator: bytes('a026d06f685b2c01'), ...older }, // decrease_liquidity
  { discriminator: bytes('851d59df45eeb00a'), ...newer }, // increase_liquidity_v2
  { discriminator: bytes('3a7fbc3e4f52c460'), ...newer }, // decrease_liquidity_v2
  { discriminator: bytes('effb097cd2c6352b'), ...newer }, // increase_liquidity_by_token_amounts_v2
];

/** The place of the pool among the accounts of `initialize_pool_with_adaptive_fee`. */
export const adaptivePoolAccount = 7;

/** Known events without a trade, a new pool, or liquidity that comes or goes. A repositioning moves liquidity within its pool. */
export const ignoredEvents = anchorNames('event', 'LiquidityRepositioned PositionOpened');

/** Address of the account with the ticks from `start` on. Throws TypeError if the pool is not an address. */
export function tickArrayAddress(pool: string, start: number): string {
  return findProgramAddress([Buffer.from('tick_array'), addressBytes(pool), Buffer.from(String(start))], programId).address;
}
