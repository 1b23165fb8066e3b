import {
  lpMintAddress,
  poolAddress,
  poolV2Address,
  programId as ammProgram,
  coinCreatorVaultAuthority,
} from '@sluice/venues/pump/amm/program.ts';
import { userVolumeAccumulatorAddress as ammVolumeAccumulatorAddress } from '@sluice/venues/pump/amm/program.ts';
import {
  bondingCurveAddress,
  creatorVaultAddress,
  mayhemProgram,
  poolAuthorityAddress,
  programId as pumpProgram,
  sharingConfigAddress,
  userVolumeAccumulatorAddress,
} from '@sluice/venues/pump/curve/program.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { remember } from '../layout/derive.ts';

const derived = (seed: string, key = '', program = pumpProgram): string =>
  findProgramAddress([Buffer.from(seed), addressBytes(key)], program).address;

/** The programs' derived addresses, cached: a trade checks a dozen of them. */
export const curveOf = remember((mint) => bondingCurveAddress(mint ?? ''));
export const curveV2Of = remember((mint) => derived('bonding-curve-v2', mint));
export const poolAuthorityOf = remember((mint) => poolAuthorityAddress(mint ?? ''));
export const creatorVaultOf = remember((creator) => creatorVaultAddress(creator ?? ''));
export const holderRewardsOf = remember((mint) => derived('holder-rewards', mint));
export const volumeAccumulatorOf = remember((user) => userVolumeAccumulatorAddress(user ?? ''));
export const sharingConfigOf = remember((mint) => sharingConfigAddress(mint ?? ''));
export const mayhemStateOf = remember((mint) => derived('mayhem-state', mint, mayhemProgram));

export const canonicalPoolOf = remember((mint, quoteMint) => poolAddress(0, poolAuthorityOf(mint ?? ''), mint ?? '', quoteMint ?? ''));
export const poolV2Of = remember((mint) => poolV2Address(mint ?? ''));
export const lpMintOf = remember((pool) => lpMintAddress(pool ?? ''));
export const coinCreatorAuthorityOf = remember((creator) => coinCreatorVaultAuthority(creator ?? ''));
export const boostAuthorityOf = remember((pool) => derived('boost_vault', pool, ammProgram));
export const ammVolumeAccumulatorOf = remember((user) => ammVolumeAccumulatorAddress(user ?? ''));
