import { anchorNames, bytes } from '../../kit/decode.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';

/** Raydium CLMM. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`, `account:Name`. */
export const programId = 'CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK';

export const eventDiscriminators = {
  swap: bytes('40c6cde8260871e2'),
  poolCreated: bytes('195e4b2f7063353f'),
  opened: bytes('641e57f9c4df9ace'),
  increased: bytes('314f69d420221e54'),
  decreased: bytes('3ade563a44325538'),
} as const;

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

/** Instructions that change a position, old and new, with the places of the pool and of the vaults. The owner is the first account. */
export const increaseForms = { discriminators: [bytes('2e9cf3760dcdfbb2'), bytes('851d59df45eeb00a')], pool: 2, vaults: [9, 10] } as const;
export const decreaseForms = { discriminators: [bytes('a026d06f685b2c01'), bytes('3a7fbc3e4f52c460')], pool: 3, vaults: [5, 6] } as const;
/** How far the vaults are behind the pool in all instructions that open a position. */
export const vaultsBehindPool = 7;

/** Known events without a trade, a new pool or liquidity that comes or goes. */
export const ignoredEvents = anchorNames(
  'event',
  `ConfigChangeEvent LiquidityCalculateEvent
  LiquidityChangeEvent CollectPersonalFeeEvent CollectProtocolFeeEvent UpdateRewardInfosEvent OpenLimitOrderEvent
  IncreaseLimitOrderEvent DecreaseLimitOrderEvent SettleLimitOrderEvent`,
);

export const ignoredAccounts = anchorNames(
  'account',
  `AmmConfig TickArrayState TickArrayBitmapExtension ObservationState PersonalPositionState ProtocolPositionState
  OperationState`,
);

/** Address of the account with the ticks from `start` on. Throws TypeError if the pool is not an address. */
export function tickArrayAddress(pool: string, start: number): string {
  const index = Buffer.alloc(4);
  index.writeInt32BE(start);
  return findProgramAddress([Buffer.from('tick_array'), addressBytes(pool), index], programId).address;
}
