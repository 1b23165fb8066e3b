import { BorshReader, hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import { usdcMint, wrappedSolMint, zeroAddress } from '@sluice/shared/solana/well-known.ts';

/** FeeConfig of pump's fee program, one for each of both programs. Source: IDL `pump_fees` of `@pump-fun/pump-sdk` 2.0.0, and its SDKs. */

/** Basis points. */
export interface FeeRates {
  readonly lp: bigint;
  readonly protocol: bigint;
  readonly creator: bigint;
}

export interface FeeTier {
  /** Market cap from which the tier applies, in the smallest unit of the quote coin. */
  readonly marketCap: bigint;
  readonly rates: FeeRates;
}

export interface FeeConfig {
  /** For pools that did not come from a curve. */
  readonly flat: FeeRates;
  /** For coins against SOL; never empty. */
  readonly tiers: readonly FeeTier[];
  /** For coins against USDC; empty in accounts that are older than this field. */
  readonly stableTiers: readonly FeeTier[];
  /** For coins against any other quote; all zero if it is not set. */
  readonly exoticFlat: FeeRates;
}

export type DecodedSettings<T> =
  | { readonly kind: 'decoded'; readonly settings: T }
  | { readonly kind: 'malformed'; readonly reason: string };

const discriminator = Uint8Array.from(Buffer.from('8f3492bbdb7b4c9b', 'hex'));
const flatAt = 41; // after discriminator, bump and admin
const maxTiers = 50;
/** The length of an account shows which fields it has. Bytes after them may be left from earlier. */
const bytesWithStable = 4_073;
const bytesWithExotic = 4_097;
const noRates: FeeRates = { lp: 0n, protocol: 0n, creator: 0n };
const maxBps = 10_000n;
/** Wrapped SOL as a Token-2022 mint, which the fee program treats as SOL. */
const wrappedSol2022Mint = '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP';

function readRates(reader: BorshReader): FeeRates {
  const rates = { lp: reader.u64(), protocol: reader.u64(), creator: reader.u64() };
  if (rates.lp + rates.protocol + rates.creator > maxBps) reader.failed = true;
  return rates;
}

function readTiers(reader: BorshReader): FeeTier[] {
  const count = reader.u32();
  if (count > maxTiers) reader.failed = true;
  if (reader.failed) return [];
  return Array.from({ length: count }, () => ({ marketCap: reader.u128(), rates: readRates(reader) }));
}

/** Decodes a FeeConfig in any of its lengths. Never throws. */
export function decodeFeeConfig(data: Uint8Array): DecodedSettings<FeeConfig> {
  if (!hasPrefix(data, discriminator)) return { kind: 'malformed', reason: 'not a FeeConfig' };
  const reader = new BorshReader(data, flatAt);
  const settings: FeeConfig = {
    flat: readRates(reader),
    tiers: readTiers(reader),
    stableTiers: data.length >= bytesWithStable ? readTiers(reader) : [],
    exoticFlat: data.length >= bytesWithExotic ? readRates(reader) : noRates,
  };
  if (reader.failed) return { kind: 'malformed', reason: 'FeeConfig ends inside a field or has an invalid value' };
  if (settings.tiers.length === 0) return { kind: 'malformed', reason: 'FeeConfig without tiers' };
  return { kind: 'decoded', settings };
}

/** The last tier that the market cap reaches; the first tier if it reaches none. */
function tierOf(tiers: readonly FeeTier[], marketCap: bigint): FeeRates {
  let found = tiers[0]?.rates ?? noRates;
  for (const tier of tiers) if (marketCap >= tier.marketCap) found = tier.rates;
  return found;
}

/** Rates on a curve, or on the pool to which one migrated. The market cap is in the smallest unit of the quote coin. */
export function curveRates(config: FeeConfig, quoteMint: string, marketCap: bigint): FeeRates {
  if (quoteMint === wrappedSolMint || quoteMint === zeroAddress || quoteMint === wrappedSol2022Mint) return tierOf(config.tiers, marketCap);
  if (quoteMint === usdcMint) return tierOf(config.stableTiers.length > 0 ? config.stableTiers : config.tiers, marketCap);
  const { lp, protocol, creator } = config.exoticFlat;
  return lp + protocol + creator === 0n ? config.flat : config.exoticFlat;
}
