import { isAddress } from '@sluice/shared/solana/base58.ts';
import type { Venue } from '../venue.ts';
import { decode, decodeAccount } from './decode.ts';
import {
  accountDiscriminators,
  bondingCurveAddress,
  eventAuthority,
  initialRealToken,
  initialSupply,
  programId,
  tokenDecimals,
} from './program.ts';
import { quoting } from './quote.ts';
import { signing } from './signing.ts';
import { tradeFault } from './errors.ts';

/** pump.fun bonding curves. `poolOfMint` computes hashes and checks curve points on every call, so callers cache its results. */
export const pump: Venue = {
  name: 'pump',
  programId,
  reveals: 'logs',
  needsTransaction: false,
  textPrefix: null,
  eventAuthority,
  watchedAccountPrefixes: [accountDiscriminators.bondingCurve],
  decode,
  decodeAccount,
  poolOfMint: (mint) => (isAddress(mint) ? bondingCurveAddress(mint) : null),
  derivedPools: (mint) => (isAddress(mint) ? [{ address: bondingCurveAddress(mint), vaults: [] }] : []),
  curves: {
    decimals: tokenDecimals,
    usualSupply: initialSupply,
    mintEnding: 'pump',
    progress: (realBase) => Math.min(100, Math.max(0, Number(((initialRealToken - realBase) * 1_000_000n) / initialRealToken) / 10_000)),
  },
  quoting,
  signing,
  tradeFault,
};
