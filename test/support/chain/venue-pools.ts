import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { readonlyAccount, signerAccount, writableAccount } from '@sluice/shared/solana/transaction/instructions.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { metadataProgram, systemProgram, token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import * as dbc from '../../../venues/src/meteora/dbc/program.ts';
import * as damm from '../../../venues/src/meteora/damm-v2/program.ts';
import { dynamicFee, pool as dammAt } from '../../../venues/src/meteora/damm-v2/layout.ts';
import * as amm from '../../../venues/src/raydium/amm/program.ts';
import { pool as ammAt, poolLength as ammLength } from '../../../venues/src/raydium/amm/layout.ts';
import * as cpmm from '../../../venues/src/raydium/cpmm/program.ts';
import { config as configAt, pool as cpmmAt, poolLength as cpmmLength } from '../../../venues/src/raydium/cpmm/layout.ts';
import { fixtureBytes } from '../../golden/fixtures.ts';
import type { ChainAccount } from '../../simnet/chain.ts';
import { mintData, tokenAccountData } from '../../simnet/layout/token-state.ts';
import { minimumBalance } from '../../simnet/ledger/rent.ts';
import { wallet } from '../../simnet/runtime/wallets.ts';

/** Pools with all accounts that the real programs need, in the state after they were opened. */

const keyOf = (name: string): string => wallet('venue pools', name).publicKey;
const supply = 10n ** 18n;

export interface Terms {
  readonly quoteMint: string;
  /** The coin comes first in the pool. */
  readonly isFirst: boolean;
  /** Basis points that the coin withholds from transfers; null for a coin of the older program. */
  readonly withheldBps: number | null;
  /** Names of the coin and of the pool, of which the addresses follow. */
  readonly coin?: string;
  readonly name?: string;
  /** What the pool holds of the quote coin. */
  readonly quote?: bigint;
}

type Accounts = [address: string, account: ChainAccount][];

export interface OpenedPool {
  readonly mint: string;
  readonly pool: string;
  readonly accounts: Accounts;
}

const held = { coin: 10n ** 15n, quote: 10n ** 12n };

function stored(owner: string, data: Uint8Array): ChainAccount {
  return { lamports: minimumBalance(data.length), owner, data, executable: false };
}

/** Adds an extension to the bytes of a mint (1) or of a token account (2). */
function extended(kind: 1 | 2, base: Uint8Array, type: number, value: Uint8Array): Buffer {
  const data = Buffer.alloc(166 + 4 + value.length);
  data.set(base);
  data[165] = kind;
  data.writeUInt16LE(type, 166);
  data.writeUInt16LE(value.length, 168);
  data.set(value, 170);
  return data;
}

function transferFee(bps: number): Buffer {
  const config = Buffer.alloc(108);
  for (const from of [72, 90]) {
    config.writeBigUInt64LE(10n ** 18n, from + 8);
    config.writeUInt16LE(bps, from + 16);
  }
  return config;
}

interface Parts extends OpenedPool {
  /** Of the coin and of the quote coin. */
  readonly vaults: readonly [string, string];
}

/** A coin, and the vaults of its pool. */
function partsOf(terms: Terms, authority: string): Parts {
  const { quoteMint, withheldBps, coin: coinName = 'coin', name = 'pool', quote = held.quote } = terms;
  const [mint, pool] = [keyOf(coinName), keyOf(`${coinName} ${name}`)];
  const vaults = [keyOf(`${coinName} ${name} vault of the coin`), keyOf(`${coinName} ${name} vault of the quote coin`)] as const;
  const program = withheldBps === null ? tokenProgram : token2022Program;
  const coin = mintData(6, supply, null);
  const vault = tokenAccountData(mint, authority, held.coin + 7n);
  const quoteVault = Buffer.from(tokenAccountData(quoteMint, authority, quote + 5n));
  const lamports = minimumBalance(quoteVault.length);
  if (quoteMint === wrappedSolMint) {
    // `is_native`: the rent that is not wrapped SOL.
    quoteVault.writeUInt32LE(1, 109);
    quoteVault.writeBigUInt64LE(lamports, 113);
  }
  const accounts: Accounts = [
    [mint, stored(program, withheldBps === null ? coin : extended(1, coin, 1, transferFee(withheldBps)))],
    [vaults[0], stored(program, withheldBps === null ? vault : extended(2, vault, 2, Buffer.alloc(8)))],
    [vaults[1], { lamports: lamports + quote + 5n, owner: tokenProgram, data: quoteVault, executable: false }],
  ];
  return { mint, pool, vaults, accounts };
}

function withKeys(length: number, keys: readonly (readonly [number, string])[]): Buffer {
  const data = Buffer.alloc(length);
  for (const [at, key] of keys) data.set(addressBytes(key), at);
  return data;
}

/** What the pool has first and second. */
function inOrder<T>({ isFirst }: Terms, ofCoin: T, ofQuote: T): readonly [T, T] {
  return isFirst ? [ofCoin, ofQuote] : [ofQuote, ofCoin];
}

export function ammPool(terms: Terms): OpenedPool {
  const { mint, pool, vaults: own, accounts } = partsOf(terms, amm.authority);
  const [mints, vaults] = [inOrder(terms, mint, terms.quoteMint), inOrder(terms, ...own)];
  const data = withKeys(ammLength, [
    [ammAt.coinVault, vaults[0]],
    [ammAt.coinMint, mints[0]],
    [ammAt.pcVault, vaults[1]],
    [ammAt.pcMint, mints[1]],
  ]);
  const { bump } = findProgramAddress([Buffer.from('amm authority')], amm.programId);
  for (const [at, value] of [
    [ammAt.status, 6n],
    [8, BigInt(bump)],
    [ammAt.swapFeeNumerator, 25n],
    [ammAt.swapFeeDenominator, 10_000n],
    [ammAt.coinProfit, 3n],
    [ammAt.pcProfit, 2n],
  ] as const)
    data.writeBigUInt64LE(value, at);
  accounts.push([pool, stored(amm.programId, data)]);
  return { mint, pool, accounts };
}

export function cpmmPool(terms: Terms): OpenedPool {
  const { mint, pool, vaults: own, accounts } = partsOf(terms, cpmm.authority);
  const [config, observation] = [keyOf('fee tier'), keyOf(`${pool} observation`)];
  const [mints, vaults] = [inOrder(terms, mint, terms.quoteMint), inOrder(terms, ...own)];
  const owners = inOrder(terms, terms.withheldBps === null ? tokenProgram : token2022Program, tokenProgram);
  const data = withKeys(cpmmLength, [
    [cpmmAt.config, config],
    [cpmmAt.vault0, vaults[0]],
    [cpmmAt.vault1, vaults[1]],
    [cpmmAt.mint0, mints[0]],
    [cpmmAt.mint1, mints[1]],
    [232, owners[0]],
    [264, owners[1]],
    [cpmmAt.observation, observation],
  ]);
  data.set(cpmm.accountDiscriminators.pool);
  data[328] = findProgramAddress([Buffer.from('vault_and_lp_mint_auth_seed')], cpmm.programId).bump;
  data.writeBigUInt64LE(3n, cpmmAt.protocolFees0);
  accounts.push([pool, stored(cpmm.programId, data)]);
  const tier = Buffer.alloc(236);
  tier.set(cpmm.accountDiscriminators.config);
  for (const [at, rate] of [
    [configAt.tradeFeeRate, 2_500n],
    [configAt.protocolFeeRate, 120_000n],
    [configAt.fundFeeRate, 40_000n],
  ] as const)
    tier.writeBigUInt64LE(rate, at);
  accounts.push([config, stored(cpmm.programId, tier)]);
  // `ObservationState`: its discriminator, and the pool after `initialized` and the index.
  const history = withKeys(4_075, [[11, pool]]);
  history.set(Buffer.from('7aaec5358109a584', 'hex'));
  accounts.push([observation, stored(cpmm.programId, history)]);
  return { mint, pool, accounts };
}

/** A pool of the whole price range with a fee of 0.25 % in coin B. */
export function dammPool(terms: Terms): OpenedPool {
  const { mint, pool, vaults: own, accounts } = partsOf(terms, damm.poolAuthority);
  const [mints, vaults] = [inOrder(terms, mint, terms.quoteMint), inOrder(terms, ...own)];
  const [a, b] = inOrder(terms, held.coin, terms.quote ?? held.quote);
  const [low, high] = [4_295_048_016n, 79_226_673_521_066_979_257_578_248_091n];
  const price = squareRoot((b << 128n) / a);
  const data = Buffer.from(fixtureBytes('accounts/meteora-damm-v2/pool_account.bin'));
  data.fill(0, dammAt.cliff, 48);
  data.writeBigUInt64LE(2_500_000n, dammAt.cliff);
  data[dammAt.dynamicFee + dynamicFee.isEnabled] = 0;
  for (const [offset, address] of [
    [dammAt.mintA, mints[0]],
    [dammAt.mintB, mints[1]],
    [dammAt.vaultA, vaults[0]],
    [dammAt.vaultB, vaults[1]],
  ] as const)
    data.set(addressBytes(address), offset);
  for (const [offset, value] of [
    [dammAt.liquidity, (b << 128n) / (price - low)],
    [dammAt.sqrtMinPrice, low],
    [dammAt.sqrtMaxPrice, high],
    [dammAt.sqrtPrice, price],
  ] as const) {
    data.writeBigUInt64LE(value & ((1n << 64n) - 1n), offset);
    data.writeBigUInt64LE(value >> 64n, offset + 8);
  }
  data.fill(0, dammAt.activationPoint, dammAt.status + 1);
  data.set([1, 0, 0], dammAt.collectFeeMode);
  data[dammAt.layoutVersion] = 0;
  accounts.push([pool, stored(damm.programId, data)]);
  return { mint, pool, accounts };
}

function squareRoot(value: bigint): bigint {
  let root = 1n << BigInt((value.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** A recorded config of DBC. Half of the later liquidity is locked for the platform, and half for the creator, as newer versions require. */
export function dbcConfig(isToken2022 = true): Buffer {
  const data = fixtureBytes('accounts/meteora-dbc/fee_in_quote_config.bin');
  data.set([50, 0, 50, 0], 239);
  data[237] = isToken2022 ? 1 : 0;
  return data;
}

const derived = (programId: string, seed: string, ...keys: readonly string[]): string =>
  findProgramAddress([Buffer.from(seed), ...keys.map(addressBytes)], programId).address;
export const dbcVaultOf = (pool: string, coin: string): string => derived(dbc.programId, 'token_vault', coin, pool);

/** The launch of a coin against SOL. Coins of the older token program have their metadata in an account of their own. */
export function dbcLaunch(
  of: { readonly config: string; readonly creator: string; readonly mint: string },
  isToken2022 = true,
): Instruction {
  const { config, creator, mint } = of;
  const text = (value: string): Buffer => {
    const data = Buffer.alloc(4 + value.length);
    data.writeUInt32LE(value.length, 0);
    data.write(value, 4);
    return data;
  };
  const pool = dbc.poolOf(config, mint, wrappedSolMint);
  const metadata = isToken2022 ? [] : [derived(metadataProgram, 'metadata', metadataProgram, mint)];
  const accounts = [
    readonlyAccount(config),
    readonlyAccount(dbc.poolAuthority),
    signerAccount(creator),
    signerAccount(mint),
    readonlyAccount(wrappedSolMint),
    ...[pool, dbcVaultOf(pool, mint), dbcVaultOf(pool, wrappedSolMint), ...metadata].map(writableAccount),
    ...(isToken2022 ? [] : [readonlyAccount(metadataProgram)]),
    signerAccount(creator),
    ...[tokenProgram, isToken2022 ? token2022Program : tokenProgram, systemProgram, dbc.eventAuthority, dbc.programId].map(readonlyAccount),
  ];
  const form = dbc.openingInstructions[isToken2022 ? 1 : 0];
  const data = Buffer.concat([form.discriminator, ...['Coin', 'COIN', 'https://coin.example'].map(text)]);
  return { programId: dbc.programId, accounts, data };
}
