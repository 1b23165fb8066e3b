import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { token2022Program, tokenProgram, usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import { describe, expect, it } from 'vitest';
import * as amm from '../../venues/src/raydium/amm/program.ts';
import * as cpmm from '../../venues/src/raydium/cpmm/program.ts';
import { programsNote, programsPresent, RealPrograms } from '../support/chain/real-programs.ts';
import { ammPool, cpmmPool, type OpenedPool, type Terms } from '../support/chain/venue-pools.ts';
import { changed, faultOf, openPoolOf, sendTrade, startChain, tokensHeld, tradeAll, tradeAsQuoted } from './built-trades.ts';

/** Our orders on pools of Raydium, in the real programs: the result equals the quote, to the unit. */
const here = process.env['PROGRAMS_DIR'] ?? '';
const isPresent = programsPresent && [amm, cpmm].every(({ programId }) => existsSync(join(here, `${programId}.so`)));
const note = isPresent || !programsPresent ? programsNote : 'SKIPPED: PROGRAMS_DIR lacks a program of Raydium';

function worldOf({ accounts }: OpenedPool): RealPrograms {
  const world = new RealPrograms(startChain());
  for (const [address, account] of accounts) world.put(address, account);
  return world;
}

const ammWorld = (terms: Terms): RealPrograms => worldOf(ammPool(terms));
const cpmmWorld = (terms: Terms): RealPrograms => worldOf(cpmmPool(terms));
const { mint, pool } = ammPool({ quoteMint: wrappedSolMint, isFirst: true, withheldBps: null });

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
