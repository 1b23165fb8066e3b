import { anchorNames, bytes } from '../../kit/decode.ts';

/** Raydium CPMM. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`, `account:Name`. */
export const programId = 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C';

/** Owns the vaults of all pools: the PDA `["vault_and_lp_mint_auth_seed"]`. */
export const authority = 'GpMZbSM2GgvTKHJirzeGfMFoaZ8UR2X7F4v8vHTvxFbL';

/** "Burn & Earn" locks LP tokens, and pays their fees: the PDA `["lock_cp_authority_seed"]` of LockrWmn6K5twhz3y9w1dQERbmgSaRkfnTeTKbpofwE. */
export const lpLocker = '3f7GcQFG397GAaEnv51zR6tsTVihYRydnydDD1cXekxH';

export const swapEvent: Uint8Array = bytes('40c6cde8260871e2');

export const accountDiscriminators = { pool: bytes('f7ede3f5d7c3de46'), config: bytes('daf42168cbcb2b6f') } as const;

/** `swap_base_input` and `swap_base_output`. Both have the accounts of `swapAccounts`. */
export const swapInstructions: readonly Uint8Array[] = [bytes('8fbe5adac41e33de'), bytes('37d96256a34ab4ad')];
export const swapAccounts = { user: 0, config: 2, pool: 3, inputMint: 10, outputMint: 11 } as const;

export const liquidityEvent: Uint8Array = bytes('79a3cdc939da753c');
/** `deposit` and `withdraw`. */
export const liquidityInstructions = [bytes('f223c68952e1f2b6'), bytes('b712469c946da122')] as const;
export const liquidityAccounts = { owner: 0, pool: 2, mint0: 10, mint1: 11 } as const;

/** An instruction that opens a pool, with the places of its accounts. */
export interface OpeningForm {
  readonly discriminator: Uint8Array;
  readonly creator: number;
  readonly pool: number;
  readonly mints: readonly [number, number];
  readonly vaults: readonly [number, number];
  readonly tokenPrograms: readonly [number, number];
}

/** `initialize` and `initialize_with_permission`. They emit no event. */
export const openingInstructions: readonly OpeningForm[] = [
  { discriminator: bytes('afaf6d1f0d989bed'), creator: 0, pool: 3, mints: [4, 5], vaults: [10, 11], tokenPrograms: [15, 16] },
  { discriminator: bytes('3f37fe4131b25979'), creator: 1, pool: 4, mints: [5, 6], vaults: [11, 12], tokenPrograms: [17, 18] },
];

export const ignoredAccounts = anchorNames('account', 'AmmConfig ObservationState Permission');
