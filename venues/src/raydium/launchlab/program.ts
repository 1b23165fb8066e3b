import { keepDerived } from '@sluice/shared/solana/addresses/derived.ts';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import type { VenueName } from '@sluice/shared/wire/venues.ts';
import { anchorNames, bytes } from '../../kit/decode.ts';

/** Raydium LaunchLab. Discriminators: first eight bytes of sha256 of `global:name`, `event:Name`, `account:Name`. */
export const programId = 'LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj';
/** Owns the vaults of all curves: the PDA `["vault_auth_seed"]`. */
export const authority = 'WLHv2UAZm6z4KyaaELi5pjdbJh6RESMva1Rnn8pJVVh';
export const eventAuthority = '2DPAtwB8L12vrMRExbLuyGnC7n2J5LNoZQSejeQGpwkr';

export const eventDiscriminators = { trade: bytes('bddb7fd34ee661ee'), poolCreate: bytes('97d7e20976a173ae') } as const;

export const accountDiscriminators = {
  pool: bytes('f7ede3f5d7c3de46'),
  globalConfig: bytes('95089ccaa0fcb0d9'),
  platformConfig: bytes('a04e8000f853e6a0'),
} as const;

/** Known events without a trade or a new token. */
export const ignoredEvents = anchorNames('event', 'ClaimVestedEvent CreateVestingEvent');

export const ignoredAccounts = anchorNames('account', 'GlobalConfig PlatformConfig PlatformCurveRule VestingRecord');

export const tradeDiscriminators = {
  buyExactIn: bytes('faea0d7bd59c13ec'),
  buyExactOut: bytes('18d3742869039938'),
  sellExactIn: bytes('9527de9bd37c981a'),
  sellExactOut: bytes('5fc8472208090ba6'),
} as const;
export const tradeInstructions: readonly Uint8Array[] = Object.values(tradeDiscriminators);
/** Places of the accounts of all trade instructions. */
export const tradeAccounts = {
  user: 0,
  pool: 4,
  userBase: 5,
  userQuote: 6,
  baseMint: 9,
  quoteMint: 10,
  baseProgram: 11,
  quoteProgram: 12,
} as const;

/** An instruction that launches a coin. Its accounts differ only behind `quoteMint`. */
interface LaunchForm {
  readonly discriminator: Uint8Array;
  /** Place of the token program of the coin. */
  readonly tokenProgram: number;
}

export const launchForms: readonly LaunchForm[] = [
  { discriminator: bytes('4399af27da102620'), tokenProgram: 11 }, // initialize_v2
  { discriminator: bytes('25be7ede2c9aab11'), tokenProgram: 10 }, // initialize_with_token_2022
  { discriminator: bytes('afaf6d1f0d989bed'), tokenProgram: 11 }, // initialize
];
export const launchAccounts = { user: 0, platform: 3, pool: 5, baseMint: 6, quoteMint: 7 } as const;

export const migrations = { toCpswap: bytes('885cc8671cda908c'), toAmm: bytes('cf52c091fecf91df') } as const;
const raydiumAmm = '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8';
const raydiumCpmm = 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C';

/** An instruction that moves a completed curve to a pool, with the places of its accounts. The coins are at 1 and 2 in all forms. */
export interface MigrationForm {
  readonly discriminator: Uint8Array;
  readonly toVenue: VenueName;
  /** The program of the pool, and its place, which distinguishes the forms of one instruction. */
  readonly toProgram: string;
  readonly programAt: number;
  readonly toPool: number;
  readonly toVaults: readonly [base: number, quote: number];
  readonly fromPool: number;
}

export const migrationForms: readonly MigrationForm[] = [
  {
    discriminator: migrations.toCpswap,
    toVenue: 'raydium-cpmm',
    toProgram: raydiumCpmm,
    programAt: 4,
    toPool: 5,
    toVaults: [8, 9],
    fromPool: 17,
  },
  {
    // With an order book (2025).
    discriminator: migrations.toAmm,
    toVenue: 'raydium-amm',
    toProgram: raydiumAmm,
    programAt: 12,
    toPool: 13,
    toVaults: [17, 18],
    fromPool: 23,
  },
  {
    // Without one (2026).
    discriminator: migrations.toAmm,
    toVenue: 'raydium-amm',
    toProgram: raydiumAmm,
    programAt: 4,
    toPool: 5,
    toVaults: [8, 9],
    fromPool: 14,
  },
];

const derived = (...seeds: Uint8Array[]): string => findProgramAddress(seeds, programId).address;

/** The curve of a coin. The functions below throw TypeError if an argument is not an address. */
export const poolOf = keepDerived((baseMint: string, quoteMint: string) =>
  derived(Buffer.from('pool'), addressBytes(baseMint), addressBytes(quoteMint)),
);
/** Where the fees of a platform (its config) or of a creator wait, in one quote coin. */
export const feeVaultOf = keepDerived((owner: string, quoteMint: string) => derived(addressBytes(owner), addressBytes(quoteMint)));
