import { usdcMint } from '@sluice/shared/solana/well-known.ts';
import { expect, test } from 'vitest';
import type { NewCoin } from '../simnet/market/instructions.ts';
import type { SimChain } from '../simnet/sim-chain.ts';
import { launchOlderCoin } from '../support/chain/older-coin.ts';
import { launchCoin, maker, moveToPool, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import {
  buyTheRest,
  changed,
  faultOf,
  openPoolOf,
  sendTrade,
  simulated,
  startChain,
  tokensHeld,
  tradeAll,
  tradeAsQuoted,
} from './built-trades.ts';

/** Builds, signs and sends trades: they land on the simulated chain with exactly the quoted amounts, to the lamport. */
function live(chain: SimChain, coin: QuotedCoin, boost: boolean): void {
  const world = simulated(chain);
  tradeAll(world, coin);
  buyTheRest(world, coin);
  moveToPool(chain, coin, boost);
  tradeAll(world, coin);
}

const kinds: readonly (readonly [string, Partial<NewCoin>, boolean])[] = [
  ['an ordinary coin', {}, true],
  ['a mayhem coin', { mayhem: true }, false],
  ['a cashback coin', { cashback: true }, false],
  ['a holder-reward coin', { holderReward: true }, true],
  ['a coin with its own creator fee', { creatorFeeBps: 120n }, false],
  ['a coin against USDC', { quoteMint: usdcMint }, true],
  ['a cashback coin against USDC', { quoteMint: usdcMint, cashback: true }, false],
];

test.each(kinds)('%s: bought, sold, completed and traded on its pool', { timeout: 120_000 }, (_, parts, boost) => {
  const chain = startChain();
  live(chain, launchCoin(chain, parts), boost);
});

test('a coin of SPL Token', async () => {
  const chain = startChain();
  live(chain, await launchOlderCoin(chain), false);
});

test('refusals of the program are reported by code: bounds, an ended curve, other recipients, missing tokens', () => {
  const chain = startChain();
  const world = simulated(chain);
  const coin = launchCoin(chain);
  const buy = { exact: 'quoteIn', amount: 1_000_000_000n } as const;
  tradeAsQuoted(world, coin, buy);
  const { pool } = openPoolOf(world, coin);
  const tight = changed(pool, (order) => pool.build({ ...order, minOut: order.minOut + 1n, maxIn: order.maxIn - 1n }));
  expect(faultOf(sendTrade(world, coin, buy, { pool: tight }))).toBe('slippage');
  expect(faultOf(sendTrade(world, coin, { exact: 'baseOut', amount: 9_000_000n }, { pool: tight }))).toBe('slippage');
  expect(faultOf(sendTrade(world, coin, { exact: 'baseIn', amount: 9_000_000n }, { pool: tight }))).toBe('slippage');
  const more = { exact: 'baseIn', amount: tokensHeld(world, coin) + 1n } as const;
  expect(faultOf(sendTrade(world, coin, more))).toBe('insufficient_tokens');
  const stranger = changed(pool, (order) => {
    const built = pool.build(order);
    const accounts = built.instruction.accounts.map((meta, i) => (i === 6 ? { ...meta, address: maker.publicKey } : meta));
    return { ...built, instruction: { ...built.instruction, accounts } };
  });
  expect(faultOf(sendTrade(world, coin, { exact: 'baseOut', amount: 9_000_000n }, { pool: stranger }))).toBe('stale_accounts');
  buyTheRest(world, coin);
  moveToPool(chain, coin, false);
  expect(faultOf(sendTrade(world, coin, { exact: 'baseIn', amount: 1_000_000n }, { pool }))).toBe('complete');
  const amm = openPoolOf(world, coin).pool;
  const ammTight = changed(amm, (order) => amm.build({ ...order, minOut: order.minOut + 1n, maxIn: order.maxIn - 1n }));
  for (const exact of ['quoteIn', 'baseOut', 'baseIn'] as const)
    expect(faultOf(sendTrade(world, coin, { exact, amount: 9_000_000n }, { pool: ammTight }))).toBe('slippage');
});
