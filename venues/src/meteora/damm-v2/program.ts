import { anchorNames, bytes } from '../../kit/decode.ts';

/** Meteora DAMM v2 (`cp_amm`). Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`, `account:Name`. */
export const programId = 'cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG';

/** The PDA `["__event_authority"]`. */
export const eventAuthority = '3rmHSu74h1ZcmAisVcWerTCiRDQbUrBKmcwptYGjHfet';
/** Owns the vaults of all pools: the PDA `["pool_authority"]`. */
export const poolAuthority = 'HLnpSz9h2S4hiLQ43rnSD9XkcUThA7B8hQMKmDaiTLcC';

export const poolDiscriminator = bytes('f19a6d0411b16dbc');

export const events = {
  swap: bytes('1b3c15d58aaabb93'),
  swap2: bytes('bd4233a826507599'),
  initializePool: bytes('e432f655cb428625'),
  addLiquidity: bytes('aff2089d1ef7b9a9'),
  removeLiquidity: bytes('572e5862af60225b'),
  liquidityChange: bytes('c5ab4e7fe0d3570d'),
  permanentLock: bytes('918fa2dada50430b'),
  lock: bytes('a83f6c53db5202c8'),
} as const;

/** Both have the same accounts. `swap` has an exact input; `swap2` has a mode. */
export const swap = bytes('f8c69e91e17587c8');
export const swap2 = bytes('414b3f4ceb5b5b88');
export const swapAccounts = { pool: 1, input: 2, output: 3, mintA: 6, mintB: 7, user: 8, count: 14 } as const;
export const swapModes = { exactIn: 0, exactOut: 2 } as const;
/** Places of the mints after that of the pool in instructions that add or remove liquidity. */
export const mintsAfterPool = [6, 7] as const;

/** In which coin a pool collects its fees: both, each from the output; only B; only B, and a part of it joins the pool. */
export const collectFeeModes = { bothCoins: 0, onlyB: 1, compounding: 2 } as const;

/** Known events without a trade, a new pool or liquidity. */
export const ignoredEvents = anchorNames(
  'event',
  `EvtClaimPartnerFee EvtClaimPositionFee EvtClaimProtocolFee EvtClaimProtocolFee2 EvtClaimReward EvtCloseClaimFeeOperator EvtCloseConfig
  EvtClosePosition EvtCreateClaimFeeOperator EvtCreateConfig EvtCreateDynamicConfig EvtCreatePosition EvtCreateTokenBadge EvtFundReward
  EvtInitializeReward EvtSetPoolStatus EvtSplitPosition EvtSplitPosition2 EvtSplitPosition3
  EvtUpdateDelegatePermission EvtUpdatePoolFees EvtUpdateRewardDuration EvtUpdateRewardFunder EvtWithdrawDeadLiquidityReward
  EvtWithdrawIneligibleReward`,
);

export const ignoredAccounts = anchorNames(
  'account',
  `ClaimFeeOperator Config Operator PodAlignedFeeMarketCapScheduler PodAlignedFeeRateLimiter PodAlignedFeeTimeScheduler Position TokenBadge
  Vesting`,
);
