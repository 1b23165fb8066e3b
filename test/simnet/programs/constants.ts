import { bytes } from '@sluice/venues/kit/decode.ts';
import * as amm from '@sluice/venues/pump/amm/program.ts';
import * as curve from '@sluice/venues/pump/curve/program.ts';

/** With those that only the programs themselves use. */
export const curveInstructions = {
  ...curve.instructionDiscriminators,
  buy: bytes('66063d1201daebea'),
  buyExactSolIn: bytes('38fc74089edfcd5f'),
  sell: bytes('33e685a4017f83ad'),
  create: bytes('181ec828051c0777'),
  createV2: bytes('d6904cec5f8b31b4'),
  migrate: bytes('9beae792ec9ea21e'),
  migrateV2: bytes('bbcb121fceedfe29'),
} as const;

export const curveAccounts = {
  ...curve.accountDiscriminators,
  globalVolumeAccumulator: bytes('ca2af62b8ebe1eff'),
  quoteControl: bytes('38f423eec1d5a2c9'),
  userVolumeAccumulator: bytes('56ff700e66359afa'),
} as const;

export const ammInstructions = {
  ...amm.instructionDiscriminators,
  createPool: bytes('e992d18ecf6840bc'),
  initBoost: bytes('8ce9215e845ac28f'),
} as const;

export const ammAccounts = {
  ...amm.accountDiscriminators,
  globalVolumeAccumulator: bytes('ca2af62b8ebe1eff'),
  userVolumeAccumulator: bytes('56ff700e66359afa'),
} as const;

export const feeEventAuthority = 'D6QxXDt6hhcCpto4HiZKkN2YQ2iZRF5R7S3caCHpUsML';
export const mayhemGlobalParams = '13ec7XdrjF3h3YcqBTFDSReRcUFwbCnJaAQspM4j6DDJ';
export const mayhemSolVault = 'BwWK17cbHxwWBKZkUYvzxLcNQ1YVyaFezduWbtm2de6s';
