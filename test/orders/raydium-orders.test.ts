import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { addressBytes, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import { describe, expect, it } from 'vitest';
import * as amm from '../../venues/src/raydium/amm/program.ts';
import { pool as ammAt, poolLength as ammLength } from '../../venues/src/raydium/amm/layout.ts';
import * as cpmm from '../../venues/src/raydium/cpmm/program.ts';
import { config as configAt, pool as cpmmAt, poolLength as cpmmLength } from '../../venues/src/raydium/cpmm/layout.ts';
import { mintData, tokenAccountData } from '../simnet/layout/token-state.ts';
import { minimumBalance } from '../simnet/ledger/rent.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { programsNote, programsPresent, RealPrograms } from '../support/chain/real-programs.ts';
import { changed, faultOf, openPoolOf, sendTrade, startChain, tokensHeld, tradeAll, tradeAsQuoted } from './built-trades.ts';

/** Our orders on pools of Raydium, in the real programs: the result equals the quote, to the unit. */
const here = process.env['PROGRAMS_DIR'] ?? '';
const isPresent = programsPresent && [amm, cpmm].every(({ programId }) => existsSync(join(here, `${programId}.so`)));
const note = isPresent || !programsPresent ? programsNote : 'SKIPPED: PROGRAMS_DIR lacks a program of Raydium';

const keyOf = (name: string): string => wallet('raydium', name).publicKey;
const [mint, pool, vaultOfCoin, vaultOfQuote] = ['coin', 'pool', 'vault of the coin', 'vault of the quote coin'].map(keyOf) as [
  string,
  string,
  string,
  string,
];
const supply = 10n ** 18n;
const held = { coin: 10n ** 15n, quote: 10n ** 12n };

interface Terms {
  readonly quoteMint: string;
  /** The coin comes first in the pool. */
  readonly isFirst: boolean;
  /** Basis points that the coin withholds from transfers; null for a coin of the older program. */
  readonly withheldBps: number | null;
}

function put(world: RealPrograms, address: string, owner: string, data: Uint8Array): void {
  world.put(address, { lamports: minimumBalance(data.length), owner, data });
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

/** A world with a coin and the vaults of its pool. */
function worldOf({ quoteMint, withheldBps }: Terms, authority: string): RealPrograms {
  const world = new RealPrograms(startChain());
  const program = withheldBps === null ? tokenProgram : token2022Program;
  const coin = mintData(6, supply, null);
  const vault = tokenAccountData(mint, authority, held.coin + 7n);
  put(world, mint, program, withheldBps === null ? coin : extended(1, coin, 1, transferFee(withheldBps)));
  put(world, vaultOfCoin, program, withheldBps === null ? vault : extended(2, vault, 2, Buffer.alloc(8)));
  const quoteVault = Buffer.from(tokenAccountData(quoteMint, authority, held.quote + 5n));
  const lamports = minimumBalance(quoteVault.length);
  if (quoteMint === wrappedSolMint) {
    // `is_native`: the rent that is not wrapped SOL.
    quoteVault.writeUInt32LE(1, 109);
    quoteVault.writeBigUInt64LE(lamports, 113);
  }
  world.put(vaultOfQuote, { lamports: lamports + held.quote + 5n, owner: tokenProgram, data: quoteVault });
  return world;
}

function withKeys(length: number, keys: readonly (readonly [number, string])[]): Buffer {
  const data = Buffer.alloc(length);
  for (const [at, key] of keys) data.set(addressBytes(key), at);
  return data;
}

/** What the pool has first and second. */
function inOrder({ isFirst }: Terms, ofCoin: string, ofQuote: string): readonly [string, string] {
  return isFirst ? [ofCoin, ofQuote] : [ofQuote, ofCoin];
}

function ammWorld(terms: Terms): RealPrograms {
  const world = worldOf(terms, amm.authority);
  const [mints, vaults] = [inOrder(terms, mint, terms.quoteMint), inOrder(terms, vaultOfCoin, vaultOfQuote)];
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
  put(world, pool, amm.programId, data);
  return world;
}

function cpmmWorld(terms: Terms): RealPrograms {
  const world = worldOf(terms, cpmm.authority);
  const [config, observation] = [keyOf('fee tier'), keyOf('observation')];
  const [mints, vaults] = [inOrder(terms, mint, terms.quoteMint), inOrder(terms, vaultOfCoin, vaultOfQuote)];
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
  put(world, pool, cpmm.programId, data);
  const tier = Buffer.alloc(236);
  tier.set(cpmm.accountDiscriminators.config);
  for (const [at, rate] of [
    [configAt.tradeFeeRate, 2_500n],
    [configAt.protocolFeeRate, 120_000n],
    [configAt.fundFeeRate, 40_000n],
  ] as const)
    tier.writeBigUInt64LE(rate, at);
  put(world, config, cpmm.programId, tier);
  // `ObservationState`: its discriminator, and the pool after `initialized` and the index.
  const history = withKeys(4_075, [[11, pool]]);
  history.set(Buffer.from('7aaec5358109a584', 'hex'));
  put(world, observation, cpmm.programId, history);
  return world;
}

const coinOf = ({ quoteMint, withheldBps }: Terms, venue: KnownPool['venue']) => ({
  mint,
  quoteMint,
  mayhem: false,
  tokenProgram: withheldBps === null ? tokenProgram : token2022Program,
  known: [{ venue, address: pool, quoteMint, depthSol: 1, slot: 1 }],
});

const plain = [
  ['against SOL', { quoteMint: wrappedSolMint, isFirst: true, withheldBps: null }],
  ['against SOL, which the pool has first', { quoteMint: wrappedSolMint, isFirst: false, withheldBps: null }],
  ['against USDC', { quoteMint: usdcMint, isFirst: false, withheldBps: null }],
] as const;
const withholding = [
  ['of Token-2022', { quoteMint: wrappedSolMint, isFirst: true, withheldBps: 0 }],
  ['that withholds 3 % of transfers', { quoteMint: wrappedSolMint, isFirst: true, withheldBps: 300 }],
  ['that withholds 0.01 % of transfers, against USDC', { quoteMint: usdcMint, isFirst: false, withheldBps: 1 }],
] as const;

describe.skipIf(!isPresent)(`orders on Raydium in the real programs (${note})`, () => {
  it.each(plain)('AMM v4, a coin %s', (_, terms) => tradeAll(ammWorld(terms), coinOf(terms, 'raydium-amm')));

  it.each([...plain, ...withholding])('CPMM, a coin %s', (_, terms) => tradeAll(cpmmWorld(terms), coinOf(terms, 'raydium-cpmm')));

  it('errors have the expected meaning', () => {
    const [, terms] = plain[0];
    for (const [venue, world] of [
      ['raydium-amm', ammWorld(terms)],
      ['raydium-cpmm', cpmmWorld(terms)],
    ] as const) {
      const coin = coinOf(terms, venue);
      tradeAsQuoted(world, coin, { exact: 'quoteIn', amount: 1_000_000_000n });
      const { pool: open } = openPoolOf(world, coin);
      const tight = changed(open, (order) => open.build({ ...order, minOut: order.minOut + 1n, maxIn: order.maxIn - 1n }));
      for (const exact of ['baseOut', 'baseIn'] as const)
        expect(faultOf(sendTrade(world, coin, { exact, amount: 9_000_000n }, { pool: tight })), `${venue} ${exact}`).toBe('slippage');
      expect(sendTrade(world, coin, { exact: 'baseIn', amount: tokensHeld(world, coin) + 1n }).failed).toBe(true);
    }
  });
});
