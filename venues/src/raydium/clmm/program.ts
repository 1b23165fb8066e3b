import { anchorNames, bytes } from '../../kit/decode.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';

/** Raydium CLMM. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`, `account:Name`. */
export const programId = 'CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK';

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

/** Known events without a trade or a new pool. */
export const ignoredEvents = anchorNames(
  'event',
  `ConfigChangeEvent CreatePersonalPositionEvent IncreaseLiquidityEvent DecreaseLiquidityEvent LiquidityCalculateEvent
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
