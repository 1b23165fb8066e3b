import { anchorNames, bytes } from '../../kit/decode.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';

/** Orca Whirlpools. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`. */
export const programId = 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc';

export const eventDiscriminators = { traded: bytes('e1ca49af932ba096'), poolInitialized: bytes('6476ad570cc6fee5') } as const;

/** An instruction that swaps, with the places of the user and of the vaults of A and B among its accounts. */
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

/** Known events without a trade or a new pool. */
export const ignoredEvents = anchorNames('event', 'LiquidityIncreased LiquidityDecreased LiquidityRepositioned');

/** Address of the account with the ticks from `start` on. Throws TypeError if the pool is not an address. */
export function tickArrayAddress(pool: string, start: number): string {
  return findProgramAddress([Buffer.from('tick_array'), addressBytes(pool), Buffer.from(String(start))], programId).address;
}
