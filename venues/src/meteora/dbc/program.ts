import { keepDerived } from '@sluice/shared/solana/addresses/derived.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { anchorNames, bytes } from '../../kit/decode.ts';

/** Meteora DBC (dynamic bonding curve). Source: the IDL of `@meteora-ag/dynamic-bonding-curve-sdk` 1.5.12 (MIT). */
export const programId = 'dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN';
/** The PDA `["__event_authority"]`. */
export const eventAuthority = '8Ks12pbrD6PXxfty1hVQiE9sc289zgU1zHkvXhrSdriF';
/** Owns the vaults of all pools: the PDA `["pool_authority"]`. */
export const poolAuthority = 'FhVo3mqL8PW5pH5U2CN4XE33DokiyZnUwuGpH2hmHLuM';

/** Coins with a transfer hook have events, accounts and instructions of their own, with the same layouts. They come second. */
export const eventDiscriminators = {
  swap: bytes('1b3c15d58aaabb93'),
  swap2: [bytes('bd4233a826507599'), bytes('863ba8785e3372e7')],
  initializePool: [bytes('e432f655cb428625'), bytes('d589a435c14a0f6e')],
  curveComplete: [bytes('e5e756549c864b18'), bytes('3b2f6dcd0d1f2c9f')],
} as const;
export const accountDiscriminators = {
  pool: [bytes('d5e005d16245775c'), bytes('eddbb8172abda923')],
  config: [bytes('1a6c0e7b74e6812b'), bytes('28dcc2fb29c77bfd')],
} as const;

export const swap2: Uint8Array = bytes('414b3f4ceb5b5b88');
/** `swap`, `swap2` and `swap2_with_transfer_hook`. They have the accounts of `swapAccounts`. */
export const swapInstructions: readonly Uint8Array[] = [bytes('f8c69e91e17587c8'), swap2, bytes('b75d992818e6c297')];
export const swapAccounts = { config: 1, pool: 2, input: 3, output: 4, baseMint: 7, quoteMint: 8, user: 9, count: 15 } as const;
/** The third argument of `swap2`. */
export const swapModes = { exactIn: 0, partialFill: 1, exactOut: 2 } as const;

/** `initialize_virtual_pool_with_spl_token`, `_with_token2022` and `_with_token2022_transfer_hook`, with the accounts that differ. */
export const openingInstructions = [
  { discriminator: bytes('8c55d7b06636684f'), payer: 10, tokenProgram: 12 },
  { discriminator: bytes('a976334e916edc9b'), payer: 8, tokenProgram: 10 },
  { discriminator: bytes('b60de9b12a918702'), payer: 9, tokenProgram: 11 },
] as const;
export const openingAccounts = { baseMint: 3, quoteMint: 4, pool: 5, baseVault: 6 } as const;

/** Instructions that move a curve to a pool. They emit no event. The vaults are those of the new pool: in DAMM v1, they belong to a vault program. */
export const migrations = [
  {
    discriminator: bytes('9ca9e66735e45040'),
    name: 'migration_damm_v2',
    venue: 'meteora-damm-v2',
    accounts: { curve: 0, pool: 4, baseMint: 13, quoteMint: 14, baseVault: 15, quoteVault: 16 },
  },
  {
    discriminator: bytes('1b013016b43f76d9'),
    name: 'migrate_meteora_damm',
    venue: 'meteora-damm-v1',
    accounts: { curve: 0, pool: 4, baseMint: 7, quoteMint: 8, baseVault: 11, quoteVault: 12 },
  },
] as const;

/** Known events that sluice does not use. */
export const ignoredEvents = anchorNames(
  'event',
  `EvtClaimCreatorTradingFee EvtClaimPoolCreationFee EvtClaimProtocolFee EvtClaimProtocolFee2 EvtClaimProtocolLiquidityMigrationFee
  EvtClaimTradingFee EvtCloseClaimFeeOperator EvtCloseTokenBadge EvtCreateClaimFeeOperator EvtCreateConfig EvtCreateConfigV2
  EvtCreateConfigV2WithTransferHook EvtCreateMeteoraMigrationMetadata EvtCreateTokenBadge EvtCreatorWithdrawSurplus
  EvtPartnerClaimPoolCreationFee EvtPartnerMetadata EvtPartnerWithdrawMigrationFee EvtPartnerWithdrawSurplus EvtUpdatePoolCreator
  EvtVirtualPoolMetadata EvtWithdrawLeftover EvtWithdrawMigrationFee`,
);
export const ignoredAccounts = anchorNames(
  'account',
  `ClaimFeeOperator Config ConfigWithTransferHook LockEscrow MeteoraDammMigrationMetadata MeteoraDammV2Metadata Operator PartnerMetadata
  PoolConfig TokenBadge VirtualPoolMetadata`,
);

/** The pool of two coins under a config. Throws TypeError if an argument is not an address. */
export const poolOf = keepDerived((config: string, one: string, other: string): string => {
  const coins = [one, other].map(addressBytes).toSorted((left, right) => Buffer.compare(right, left));
  return findProgramAddress([Buffer.from('pool'), addressBytes(config), ...coins], programId).address;
});
