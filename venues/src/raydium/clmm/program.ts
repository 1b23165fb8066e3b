import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';

/** Raydium CLMM. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`, `account:Name`. */
export const programId = 'CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK';

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));

export const eventDiscriminators = { swap: bytes('40c6cde8260871e2'), poolCreated: bytes('195e4b2f7063353f') } as const;

export const accountDiscriminators = {
  pool: bytes('f7ede3f5d7c3de46'),
  config: bytes('daf42168cbcb2b6f'),
  tickArray: bytes('c09b55cd31f9812a'),
} as const;

/** `swap` and `swap_v2`, with the places of the fee tier, the pool, and the vaults of the coins that come in and go out. */
export const swapInstructions: readonly Uint8Array[] = [bytes('f8c69e91e17587c8'), bytes('2b04ed0b1ac91e62')];
export const swapAccounts = { config: 1, pool: 2, inputVault: 5, outputVault: 6 } as const;

/** The creator of a pool, in both instructions that make one. */
export const creatorAccount = 0;

/** Known events without a trade or a new pool: discriminator in hex → name. */
export const ignoredEvents: ReadonlyMap<string, string> = new Map([
  ['f7bd07776a705f97', 'ConfigChangeEvent'],
  ['641e57f9c4df9ace', 'CreatePersonalPositionEvent'],
  ['314f69d420221e54', 'IncreaseLiquidityEvent'],
  ['3ade563a44325538', 'DecreaseLiquidityEvent'],
  ['ed7094e63954b4a2', 'LiquidityCalculateEvent'],
  ['7ef0afce9e58996b', 'LiquidityChangeEvent'],
  ['a6ae69c051a15369', 'CollectPersonalFeeEvent'],
  ['ce57114f2d29d53d', 'CollectProtocolFeeEvent'],
  ['6d7fba4e724125ec', 'UpdateRewardInfosEvent'],
  ['6a18475539a99ed8', 'OpenLimitOrderEvent'],
  ['0b780dccc75713c8', 'IncreaseLimitOrderEvent'],
  ['463028dddbedd4a3', 'DecreaseLimitOrderEvent'],
  ['58774da47d7c0ac2', 'SettleLimitOrderEvent'],
]);

export const ignoredAccounts: readonly (readonly [Uint8Array, string])[] = [
  [accountDiscriminators.config, 'AmmConfig'],
  [accountDiscriminators.tickArray, 'TickArrayState'],
  [bytes('3c9624db61808b99'), 'TickArrayBitmapExtension'],
  [bytes('7aaec5358109a584'), 'ObservationState'],
  [bytes('466f967ee60f1975'), 'PersonalPositionState'],
  [bytes('64e2916392daa06a'), 'ProtocolPositionState'],
  [bytes('13ec3aed51deb7fc'), 'OperationState'],
];

/** Address of the account with the ticks from `start` on. Throws TypeError if the pool is not an address. */
export function tickArrayAddress(pool: string, start: number): string {
  const index = Buffer.alloc(4);
  index.writeInt32BE(start);
  return findProgramAddress([Buffer.from('tick_array'), addressBytes(pool), index], programId).address;
}
