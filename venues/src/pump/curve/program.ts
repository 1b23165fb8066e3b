import { anchorNames, bytes } from '../../kit/decode.ts';
import { keepDerived } from '@sluice/shared/solana/addresses/derived.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';

/** pump.fun bonding curve. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`, `account:Name`. */
export const programId = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P';
export const globalAddress = '4wTV1YmiEkRvAtNtsSGPtUrqRYQMe5SKy2uB4Jjaxnjf';
export const eventAuthority = 'Ce6TQqeHC9p8KetsN6JsjHK7UTZk7nasjjnr7XxXp9F1';
export const mintAuthority = 'TSLvdd1pWpHVjahSpsvCXUbgwsL3JAcvokwaKt1eokM';
export const globalVolumeAccumulator = 'Hq2wp8uJ9jCPsYgNHex8RtqdvMPfVGoYwjvF1ATiwn2Y';
export const quoteControl = '6z6GDdfb2AjR9ZhJmAUQ5cipJCVxQvLJhB2H8mCwTFBP';
export const feeConfig = '8Wf5TiAheLUqBrKXeYg2JtAFFMWtKdG2BSFgqUcPVwTt';
export const feeProgram = 'pfeeUxB6jkeY1Hxd7CsFCAjcbHA9rWtchMGdZ6VojVZ';
export const mayhemProgram = 'MAyhSmzXzV1pTf7LsNkrNwkWKTo4ougAJ1PPg47MD4e';

/** Tokens of this venue have six decimals. */
export const tokenDecimals = 6;
export const initialVirtualToken = 1_073_000_000_000_000n;
export const initialVirtualSol = 30_000_000_000n;
export const initialRealToken = 793_100_000_000_000n;
export const initialSupply = 1_000_000_000_000_000n;
/** For a mayhem coin, the vault of the mayhem program starts with the same amount again (README.md describes the evidence). */
export const mayhemInitialSupply = 2n * initialSupply;

/** Tag before the discriminator in the instruction data of a self-CPI event (Anchor's `emit_cpi!`). */
export const eventCpiTag = bytes('e445a52e51cb9a1d');

export const instructionDiscriminators = {
  buyV2: bytes('b817ee6167c5d33d'),
  buyExactQuoteInV2: bytes('c2ab1c46684d5b2f'),
  sellV2: bytes('5df6823ce7e940b2'),
  extendAccount: bytes('ea66c2cb96483ee5'),
} as const;

export const accountDiscriminators = { bondingCurve: bytes('17b7f83760d8ac60'), global: bytes('a7e8e8b1c86c727f') } as const;

export const eventDiscriminators = {
  trade: bytes('bddb7fd34ee661ee'),
  create: bytes('1b72a94ddeeb6376'),
  complete: bytes('5f72619cd42e9808'),
  completePumpAmmMigration: bytes('bde95db95c94ea94'),
  postCompleteBuy: bytes('6fb06d8b316cd5fb'),
  updateMayhemVirtualParams: bytes('757be4b6a1a8dcd6'),
} as const;

/** Known events without data about trades, prices or tokens of the stream. */
export const ignoredEvents = anchorNames(
  'event',
  `AddQuoteControlMintEvent AdminCtoEvent AdminSetCreatorEvent AdminSetIdlAuthorityEvent AdminUpdateTokenIncentivesEvent
  ClaimCashbackEvent ClaimTokenIncentivesEvent CloseUserVolumeAccumulatorEvent CollectCreatorFeeEvent
  DistributeCreatorFeesEvent DistributeFeeToHoldersEvent ExtendAccountEvent InitUserVolumeAccumulatorEvent
  MigrateBondingCurveCreatorEvent MinimumDistributableFeeEvent RemoveQuoteControlMintEvent ReservedFeeRecipientsEvent
  SetCreatorEvent SetMetaplexCreatorEvent SetParamsEvent SetQuoteControlAdminEvent SetQuoteControlMintReservesEvent
  SetQuoteControlReservesAdminEvent SweepBondingCurveFeeEvent SyncUserVolumeAccumulatorEvent UpdateCreatorFeeConfigEvent
  UpdateGlobalAuthorityEvent`,
);

const derived =
  (seed: string, program = programId) =>
  (key: string): string =>
    findProgramAddress([Buffer.from(seed), addressBytes(key)], program).address;

/** Bonding curve of a mint. The functions below throw TypeError if the argument is not an address. */
export const bondingCurveAddress = derived('bonding-curve');
/** The same, derived once. */
export const curveOf = keepDerived(bondingCurveAddress);
/** Creator of a mint's canonical PumpSwap pool. */
export const poolAuthorityAddress = derived('pool-authority');
/** Of a creator. */
export const creatorVaultAddress = derived('creator-vault');
/** Of a user. */
export const userVolumeAccumulatorAddress = derived('user_volume_accumulator');
export const sharingConfigAddress = derived('sharing-config', feeProgram);
