import { anchorNames, bytes } from '../../kit/decode.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';

/** PumpSwap. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`, `account:Name`. */
export const programId = 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA';
/** pump.fun bonding curves, which open pools here. */
const curveProgramId = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P';
export const globalConfig = 'ADyA8hdefvWN2dbGGWFotbzWxrAvLW83WG6QCVXvJKqw';
export const eventAuthority = 'GS4CU59F31iL7aR2Q8zVS8DRrcRnXX1yjQ66TqNVQnaR';
export const globalVolumeAccumulator = 'C2aFPdENg4A2HQsmrd5rTw5TaYBX5Ku887cWjbFKtZpw';
export const feeConfig = '5PHirr8joyTMp9JMm6nW7hNDVyEYdkzDqazxPD7RaTjx';
export const feeProgram = 'pfeeUxB6jkeY1Hxd7CsFCAjcbHA9rWtchMGdZ6VojVZ';

/** Supply from which the market cap of a mayhem coin's pool is computed, for its fee tier. */
export const mayhemTierSupply = 1_000_000_000_000_000n;

/** Tag before the discriminator in the instruction data of a self-CPI event (Anchor's `emit_cpi!`). */
export const eventCpiTag = bytes('e445a52e51cb9a1d');

export const instructionDiscriminators = {
  buy: bytes('66063d1201daebea'),
  buyExactQuoteIn: bytes('c62e1552b4d9e870'),
  sell: bytes('33e685a4017f83ad'),
  extendAccount: bytes('ea66c2cb96483ee5'),
} as const;

export const accountDiscriminators = { pool: bytes('f19a6d0411b16dbc'), globalConfig: bytes('95089ccaa0fcb0d9') } as const;

export const eventDiscriminators = {
  buy: bytes('67f4521f2cf57777'),
  sell: bytes('3e2f370aa503dc2a'),
  createPool: bytes('b1310cd2a076a774'),
  deposit: bytes('78f83d531f8e6b90'),
  withdraw: bytes('1609851aa02c47c0'),
  initBoost: bytes('ae7c4af90451f611'),
  boostBuyAndBurn: bytes('3f451c16305cc2b9'),
} as const;

/** Indexes of the accounts of `deposit` and `withdraw`. Source: the IDL `pump_amm`. */
export const liquidityAccounts = { pool: 0, baseMint: 3, quoteMint: 4 } as const;

/** Known events without a trade, a new pool or reserves. */
export const ignoredEvents = anchorNames(
  'event',
  `AdminCtoPoolEvent AdminSetCoinCreatorEvent AdminUpdateTokenIncentivesEvent ClaimCashbackEvent
  ClaimTokenIncentivesEvent CloseUserVolumeAccumulatorEvent CollectCoinCreatorFeeEvent CreateConfigEvent
  DisableEvent ExtendAccountEvent InitUserVolumeAccumulatorEvent MigratePoolCoinCreatorEvent ReservedFeeRecipientsEvent
  SetBondingCurveCoinCreatorEvent SetBoostAuthorityEvent SetMetaplexCoinCreatorEvent SweepPoolFeeEvent
  SyncUserVolumeAccumulatorEvent UpdateAdminEvent UpdateCreatorFeeConfigEvent UpdateFeeConfigEvent`,
);

const seed = (text: string): Uint8Array => Buffer.from(text);
const find = (...seeds: Uint8Array[]): string => findProgramAddress(seeds, programId).address;

/** A curve's canonical pool has index 0 and pump's pool authority as creator. The functions below throw TypeError for what is no address. */
export function poolAddress(index: number, creator: string, baseMint: string, quoteMint: string): string {
  return find(seed('pool'), Uint8Array.of(index & 255, index >> 8), addressBytes(creator), addressBytes(baseMint), addressBytes(quoteMint));
}
/** Pool 0 of pump's pool authority, to which a completed curve migrates. */
export function canonicalPoolAddress(baseMint: string, quoteMint: string): string {
  const authority = findProgramAddress([seed('pool-authority'), addressBytes(baseMint)], curveProgramId).address;
  return poolAddress(0, authority, baseMint, quoteMint);
}
export const poolV2Address = (baseMint: string): string => find(seed('pool-v2'), addressBytes(baseMint));
export const lpMintAddress = (pool: string): string => find(seed('pool_lp_mint'), addressBytes(pool));
export const coinCreatorVaultAuthority = (coinCreator: string): string => find(seed('creator_vault'), addressBytes(coinCreator));
export const userVolumeAccumulatorAddress = (user: string): string => find(seed('user_volume_accumulator'), addressBytes(user));
