import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { anchorNames, bytes } from '../../kit/decode.ts';

/** Meteora DLMM. Discriminators: first eight bytes of sha256 of `event:Name`, `account:Name`. */
export const programId = 'LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo';
export const eventAuthority = 'D1ZN9Wj1fRSUQfCjhvnu1hqDMT7hzjzBBpi12nVniYD6';

export const eventDiscriminators = {
  swap: bytes('516ce3becdd00ac4'),
  swap2: bytes('2e7452d7941b544d'),
  created: bytes('b94afc7d1bd7bc6f'),
  added: bytes('1f5e7d5ae3343dba'),
  removed: bytes('74f461e8671f983a'),
  rebalanced: bytes('006d75b33d5bc7c8'),
} as const;

export const accountDiscriminators = { pair: bytes('210b3162b565b10d'), binArray: bytes('5c8e5cdc059446b5') } as const;

/** Places among the accounts, the same in all six instructions that swap. */
export const swapAccounts = {
  pair: 0,
  reserveX: 2,
  reserveY: 3,
  userIn: 4,
  userOut: 5,
  mintX: 6,
  mintY: 7,
  programX: 11,
  programY: 12,
} as const;
/** Of the instructions that move liquidity in both coins. Those for one coin name only that coin. */
export const liquidityAccounts = { pair: 1, reserveX: 5, reserveY: 6, mintX: 7, mintY: 8 } as const;
/** All instructions that open a pair. The active bin is their first argument. */
export const openingInstructions = ['2d9aedd2dd0fa65c', '493b2478ed536cc6', '2e2729876fb7c840', 'f349817e3313f16b', '6c66d555fb033515'].map(
  bytes,
);
/** Who pays for a new pair, in all instructions that open one. */
export const funderAccount = 8;

/** Known events without a trade, a new pool or liquidity that comes or goes. A limit order waits apart from the liquidity. */
export const ignoredEvents = anchorNames(
  'event',
  `CancelLimitOrderEvt ClaimFee ClaimFee2 ClaimReward ClaimReward2 CloseLimitOrderEvt CompositionFee DecreasePositionLength
  DynamicFeeParameterUpdate FeeParameterUpdate FundReward GoToABin IncreaseObservation IncreasePositionLength InitializeReward PlaceLimitOrderEvt
  PositionClose PositionCreate SetPositionPermissionlessOperationBitsEvt UpdatePositionLockReleasePoint UpdatePositionOperator
  UpdateRewardDuration UpdateRewardFunder WithdrawIneligibleReward`,
);

export const ignoredAccounts = anchorNames(
  'account',
  `BinArray BinArrayBitmapExtension ClaimFeeOperator DummyZcAccount LimitOrder Operator Oracle PositionV2 PresetParameter PresetParameter2
  TokenBadge`,
);

/** Address of the account with the bins from `70 * index` on. Throws TypeError if the pair is not an address. */
export function binArrayAddress(pair: string, index: number): string {
  const number = Buffer.alloc(8);
  number.writeBigInt64LE(BigInt(index));
  return findProgramAddress([Buffer.from('bin_array'), addressBytes(pair), number], programId).address;
}
