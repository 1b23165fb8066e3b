import {
  lpMintAddress,
  poolAddress,
  poolV2Address,
  coinCreatorVaultAuthority,
  boostVaultAuthority,
} from '@sluice/venues/pump/amm/program.ts';
import { userVolumeAccumulatorAddress as ammVolumeAccumulatorAddress } from '@sluice/venues/pump/amm/program.ts';
import {
  bondingCurveAddress,
  bondingCurveV2Address,
  creatorVaultAddress,
  holderRewardsAddress,
  mayhemStateAddress,
  poolAuthorityAddress,
  sharingConfigAddress,
  userVolumeAccumulatorAddress,
} from '@sluice/venues/pump/curve/program.ts';
import { remember } from '../layout/derive.ts';

/** The programs' derived addresses, cached: a trade checks a dozen of them. */
export const curveOf = remember((mint) => bondingCurveAddress(mint ?? ''));
export const curveV2Of = remember((mint) => bondingCurveV2Address(mint ?? ''));
export const poolAuthorityOf = remember((mint) => poolAuthorityAddress(mint ?? ''));
export const creatorVaultOf = remember((creator) => creatorVaultAddress(creator ?? ''));
export const holderRewardsOf = remember((mint) => holderRewardsAddress(mint ?? ''));
export const volumeAccumulatorOf = remember((user) => userVolumeAccumulatorAddress(user ?? ''));
export const sharingConfigOf = remember((mint) => sharingConfigAddress(mint ?? ''));
export const mayhemStateOf = remember((mint) => mayhemStateAddress(mint ?? ''));

export const canonicalPoolOf = remember((mint, quoteMint) => poolAddress(0, poolAuthorityOf(mint ?? ''), mint ?? '', quoteMint ?? ''));
export const poolV2Of = remember((mint) => poolV2Address(mint ?? ''));
export const lpMintOf = remember((pool) => lpMintAddress(pool ?? ''));
export const coinCreatorAuthorityOf = remember((creator) => coinCreatorVaultAuthority(creator ?? ''));
export const boostAuthorityOf = remember((pool) => boostVaultAuthority(pool ?? ''));
export const ammVolumeAccumulatorOf = remember((user) => ammVolumeAccumulatorAddress(user ?? ''));
