import { addressBytes, associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { KnownPool } from '@sluice/shared/market/pools/pool-directory.ts';
import { whirlpool } from '../../venues/src/orca/whirlpool/layout.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import * as amm from '@sluice/venues/pump/amm/program.ts';
import { beforeEach, expect, test } from 'vitest';
import { poolData } from '../simnet/programs/pump-amm/state.ts';
import { mintData, tokenAccountData } from '../simnet/layout/token-state.ts';
import { address, quietChain } from '../simnet/support/test-chain.ts';
import { whirlpoolAccountData } from '../support/chain/whirlpool-accounts.ts';
import { BookHarness } from './harness.ts';

const chain = quietChain();
const mint = address('coin of another origin');
const [vaultOf, zero] = [(pool: string, of: string): string => associatedTokenAddress(pool, of, tokenProgram), 0n];
let harness: BookHarness;
let accounts: Map<string, { readonly owner: string; readonly data: Uint8Array }>;

beforeEach(() => {
  harness = new BookHarness(chain);
  accounts = new Map([[mint, { owner: tokenProgram, data: mintData(6, 1_000_000_000_000n, null) }]]);
  harness.node.lie = (at, account) => {
    const own = accounts.get(at);
    if (own === undefined) return account;
    return { owner: own.owner, lamports: 1_000_000, data: [Buffer.from(own.data).toString('base64'), 'base64'], executable: false };
  };
});

/** A pool whose address does not follow from its mint. */
function putPool(name: string, quote: bigint, { baseMint = mint, owner = amm.programId } = {}): KnownPool {
  const pool = address(name);
  const [baseVault, quoteVault] = [vaultOf(pool, baseMint), vaultOf(pool, wrappedSolMint)];
  const data = poolData({
    bump: 255,
    index: 7,
    creator: address('somebody'),
    baseMint,
    quoteMint: wrappedSolMint,
    lpMint: address('lp'),
    baseVault,
    quoteVault,
    lpSupply: zero,
    coinCreator: address('somebody'),
    mayhem: false,
    cashback: false,
    virtualQuote: zero,
    creatorFeeBps: zero,
    canEditCreatorFee: false,
    holderReward: false,
  });
  accounts.set(pool, { owner, data });
  accounts.set(baseVault, { owner: tokenProgram, data: tokenAccountData(baseMint, pool, 1_000_000_000n) });
  accounts.set(quoteVault, { owner: tokenProgram, data: tokenAccountData(wrappedSolMint, pool, quote) });
  return { venue: 'pump-amm', address: pool, quoteMint: wrappedSolMint, depthSol: 1, slot: 1 };
}

test('a pool whose address does not follow from its mint is found by the directory', async () => {
  expect(await harness.info(mint)).toMatchObject({ poolAddress: null });
  const other = new BookHarness(chain);
  other.node.lie = harness.node.lie;
  const [shallow, deep] = [putPool('shallow', 2_000_000_000n), putPool('deep', 50_000_000_000n)];
  // The depth in the directory does not count.
  other.known.set(mint, [{ ...shallow, depthSol: 900 }, deep]);
  const { pools, ...info } = await other.info(mint);
  expect(info).toMatchObject({ venue: 'pump-amm', poolAddress: deep.address, priceSol: 0.05, liquiditySol: 50 });
  const [values, slot] = [{ venue: 'pump-amm', quoteMint: wrappedSolMint }, chain.slot];
  expect(pools).toEqual([
    { ...values, slot, poolAddress: deep.address, priceQuote: 0.05, priceSol: 0.05, priceUsd: 7.5, liquiditySol: 50, liquidityUsd: 7_500 },
    {
      ...values,
      slot,
      poolAddress: shallow.address,
      priceQuote: 0.002,
      priceSol: 0.002,
      priceUsd: 0.3,
      liquiditySol: 2,
      liquidityUsd: 300,
    },
  ]);
});

test.each(['token', 'quote coin'])(
  'a pool of concentrated liquidity whose base is the %s has a price, and what its vault holds',
  async (base) => {
    const [known, deep] = [putPool('concentrated', 7_000_000_000n), putPool('deep', 50_000_000_000n)];
    const isToken = base === 'token';
    const [mintA, mintB] = isToken ? [mint, wrappedSolMint] : [wrappedSolMint, mint];
    // A price of 0.25 lamports for one raw token.
    const sqrtPrice = isToken ? 1n << 63n : 1n << 65n;
    const pair = { mintA: addressBytes(mintA), mintB: addressBytes(mintB) };
    const put = (liquidity: bigint): void => {
      const data = whirlpoolAccountData({ tickSpacing: 1, feeRate: 0, protocolFeeRate: 0, liquidity, sqrtPrice, tick: 0, ...pair });
      data.set(addressBytes(vaultOf(known.address, mintA)), whirlpool.vaultA);
      data.set(addressBytes(vaultOf(known.address, mintB)), whirlpool.vaultB);
      accounts.set(known.address, { owner: whirlpoolProgram, data });
    };
    harness.known.set(mint, [{ ...known, venue: 'orca-whirlpool' }, deep]);
    put(1n);
    const { pools } = await harness.info(mint);
    expect(pools.map(({ poolAddress }) => poolAddress)).toEqual([deep.address, known.address]);
    expect(pools[1]).toMatchObject({ venue: 'orca-whirlpool', quoteMint: wrappedSolMint, priceSol: 0.25e-3, liquiditySol: 7 });
    // Its liquidity of 101 SOL at this price is deeper than 50 SOL of reserves at all prices.
    put(202n * 10n ** 9n);
    const other = new BookHarness(chain);
    other.node.lie = harness.node.lie;
    other.known.set(mint, [deep, { ...known, venue: 'orca-whirlpool' }]);
    expect(await other.info(mint)).toMatchObject({
      venue: 'orca-whirlpool',
      poolAddress: known.address,
      priceSol: 0.25e-3,
      liquiditySol: 7,
    });
  },
);

test('an entry of the directory is ignored if the account at its address is not a pool of this mint', async () => {
  const forged = putPool('forged', 90_000_000_000n, { owner: tokenProgram });
  const ofAnother = putPool('of another', 90_000_000_000n, { baseMint: address('another coin') });
  const missing: KnownPool = { ...forged, address: address('nothing there') };
  const senseless: KnownPool = { ...forged, address: 'no address' };
  harness.known.set(mint, [forged, ofAnother, missing, senseless, { ...forged, venue: 'raydium-cpmm' }]);
  expect(await harness.info(mint)).toMatchObject({ poolAddress: null, priceSol: null });
});

test('a token is read without the directory if the directory does not answer', async () => {
  harness.directory.poolsOf = () => Promise.reject(new Error('unavailable'));
  putPool('unknown', 1_000_000_000n);
  expect(await harness.info(mint)).toMatchObject({ poolAddress: null });
});
