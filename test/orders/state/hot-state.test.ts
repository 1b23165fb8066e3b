import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { maxSilenceMs } from '../../../trading/src/state/accounts/link.ts';
import { maxBehindSlots } from '../../../trading/src/state/accounts/watched-accounts.ts';
import { rentOf } from '../../../trading/src/state/chain/rent.ts';
import type { HotState } from '../../../trading/src/state/hot-state.ts';
import { unitPriceInstruction } from '../../simnet/programs/compute-budget.ts';
import { minimumBalance } from '../../simnet/ledger/rent.ts';
import { signTransaction } from '../../simnet/runtime/wallets.ts';
import { transferInstruction } from '../../simnet/programs/system.ts';
import { address } from '../../simnet/support/test-chain.ts';
import { until } from '../../support/gateway.ts';
import { launchCoin, maker, moveToPool, tokensOf, tradeOnChain, trader } from '../../support/chain/quoted-trades.ts';
import { startVirtualTime } from '../../support/virtual-time.ts';
import { reservesIn, slotsTooOld, startTradedWorld, type TradedWorld } from './traded-world.ts';

const slotMs = 40;

let endTime: () => void;
beforeEach(() => {
  endTime = startVirtualTime();
});
afterEach(() => endTime());

/** Requests both coins again and again: nothing is ever older than it states. Returns how often no node had to be asked. */
async function askFor(world: TradedWorld, state: HotState, ms: number): Promise<{ hits: number; reads: number; worstBehind: number }> {
  const asked = { hits: 0, reads: 0, worstBehind: 0 };
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) {
    for (const { mint } of [world.curve, world.pool]) {
      const answer = state.markets.read(mint);
      const { slot } = world.chain;
      const isHit = !(answer instanceof Promise);
      const read = await answer;
      asked[isHit ? 'hits' : 'reads']++;
      expect(slotsTooOld(world.past(mint), read)).toBeLessThanOrEqual(0);
      asked.worstBehind = Math.max(asked.worstBehind, slot - read.slot);
    }
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  return asked;
}

/** Whether it is returned without asking a node. */
function isInMemory(state: HotState, mint: string): boolean {
  const answer = state.markets.read(mint);
  if (!(answer instanceof Promise)) return true;
  // The result does not matter, because the test may be over by then.
  answer.catch(() => undefined);
  return false;
}

/** A dropped connection is opened again after growing pauses. */
const followedWithinMs = 30_000;

async function inMemory(state: HotState, ...mints: readonly string[]): Promise<void> {
  for (const mint of mints) await until('it is followed', () => isInMemory(state, mint), followedWithinMs);
}

describe('traded markets', () => {
  let world: TradedWorld;
  let stop: () => void;
  beforeEach(async () => {
    world = await startTradedWorld();
    stop = world.run(slotMs);
  });
  afterEach(async () => {
    stop();
    await world.close();
  });

  it('are in memory after the first request, and current', async () => {
    const state = world.open();
    await inMemory(state, world.curve.mint, world.pool.mint);
    const { hits, reads, worstBehind } = await askFor(world, state, 1_000);
    expect(hits).toBeGreaterThan(reads);
    expect(worstBehind).toBeLessThanOrEqual(maxBehindSlots);
    expect(state.counts()).toMatchObject({ keeper: { failures: 0 }, watched: { lostUpdates: 0 }, blockhashes: { failures: 0 } });
  });

  it('are read while the node reports nothing, and followed again afterwards', async () => {
    const state = world.open();
    const [node] = world.nodes;
    await inMemory(state, world.curve.mint, world.pool.mint);
    node!.control.stall();
    await askFor(world, state, maxSilenceMs);
    await until('it noticed', () => !isInMemory(state, world.pool.mint) && !isInMemory(state, world.curve.mint));
    const silent = await askFor(world, state, 500);
    expect(silent.hits).toBe(0);
    expect(silent.worstBehind).toBeLessThanOrEqual(maxBehindSlots);
    node!.control.clear();
    await inMemory(state, world.curve.mint, world.pool.mint);
    await askFor(world, state, 300);
  });

  it('are read while the connection is cut', async () => {
    const state = world.open();
    await inMemory(state, world.curve.mint, world.pool.mint);
    for (let cuts = 0; cuts < 3; cuts++) {
      world.nodes[0]!.control.cut();
      await until('it noticed', () => state.counts().links[0]!.state === 'down');
      expect(isInMemory(state, world.pool.mint)).toBe(false);
      await askFor(world, state, 200);
      await inMemory(state, world.curve.mint, world.pool.mint);
    }
    await askFor(world, state, 300);
    expect(state.counts().links[0]!.connects).toBe(4);
  });

  it('are read if the node reports late', async () => {
    const state = world.open();
    await inMemory(state, world.curve.mint, world.pool.mint);
    world.nodes[0]!.control.lag({ ms: 20 * slotMs });
    await until('it noticed', () => !isInMemory(state, world.curve.mint));
    await askFor(world, state, 1_500);
    world.nodes[0]!.control.clear('lag');
    await inMemory(state, world.curve.mint, world.pool.mint);
  });

  it('are those of the living fork', async () => {
    const state = world.open();
    await inMemory(state, world.curve.mint, world.pool.mint);
    for (let forks = 0; forks < 6; forks++) {
      world.nodes[0]!.control.fork({ slots: 1 + (forks % 2), replay: forks % 3 === 0 });
      await askFor(world, state, 150);
    }
    stop();
    world.chain.advance();
    await until('the newest slot', () => state.chain.slot === world.chain.slot);
    for (const { mint } of [world.curve, world.pool]) {
      const truth = world.past(mint).at(-1)!.reserves;
      await until('the truth', async () => reservesIn((await state.markets.read(mint)).result) === truth);
    }
    expect(state.counts().links[0]!.forks).toBeGreaterThan(0);
  });

  it('are not changed by repeated notifications', async () => {
    const state = world.open();
    world.nodes[0]!.control.duplicate({ share: 0.5 });
    await inMemory(state, world.curve.mint, world.pool.mint);
    const { hits, reads } = await askFor(world, state, 500);
    expect(hits).toBeGreaterThan(reads);
  });

  it('are corrected after a lost notification', async () => {
    const state = world.open();
    await inMemory(state, world.curve.mint, world.pool.mint);
    world.nodes[0]!.control.drop({ share: 1, kinds: ['account'] });
    await until('the audit', () => state.counts().watched.lostUpdates > 0);
    expect(world.lines.map(({ name }) => name)).toContain('account_update_lost');
    const { hits, worstBehind } = await askFor(world, state, 300);
    expect(hits).toBe(0);
    expect(worstBehind).toBeLessThanOrEqual(maxBehindSlots);
  });

  it('are available for trading, unlike an unknown coin', async () => {
    const state = world.open();
    const read = await state.markets.read(world.pool.mint);
    expect(read.result.kind === 'market' && read.result.market.pools.map(({ venue }) => venue.name)).toEqual(['pump', 'pump-amm']);
    expect((await state.markets.read(address('no mint'))).result.kind).toBe('no_mint');
    expect(() => state.markets.read('no address')).toThrow(TypeError);
  });
});

describe('with two nodes', () => {
  let world: TradedWorld;
  let stop: () => void;
  beforeEach(async () => {
    world = await startTradedWorld(2);
    stop = world.run(slotMs);
  });
  afterEach(async () => {
    stop();
    await world.close();
  });

  it('one is enough', async () => {
    const state = world.open();
    await inMemory(state, world.curve.mint, world.pool.mint);
    await until(
      'both follow everything',
      () => state.counts().links.every(({ slot }) => slot !== null) && world.nodes.every((node) => node.subscriptions('account') > 0),
    );
    for (const node of world.nodes) {
      await askFor(world, state, 300);
      node.control.stall();
      const { hits, reads } = await askFor(world, state, maxSilenceMs + 500);
      expect(hits).toBeGreaterThan(reads);
      node.control.clear('stall');
      await until('it has reconnected', () =>
        state.counts().links.every(({ state: one, slot }) => one === 'up' && slot !== null && world.chain.slot - slot <= 2),
      );
      await askFor(world, state, 300);
    }
  });

  it('the answer of a lagging one is not used', async () => {
    const state = world.open();
    await inMemory(state, world.curve.mint);
    // The second node has the same chain; the first one reports late, and the second nothing at all.
    world.nodes[0]!.control.lag({ ms: 20 * slotMs });
    world.nodes[1]!.control.stall();
    await askFor(world, state, maxSilenceMs + 800);
  });
});

describe('a coin that leaves its curve', () => {
  it('is followed into its pool', async () => {
    const world = await startTradedWorld();
    const stop = world.run(slotMs);
    try {
      const state = world.open();
      const coin = launchCoin(world.chain);
      await inMemory(state, coin.mint);
      tradeOnChain(world.chain, coin, 'pump', { exact: 'baseOut', amount: 793_100_000_000_000n }, 10n ** 14n);
      const pools = async (): Promise<readonly string[]> => {
        const { result } = await state.markets.read(coin.mint);
        return result.kind === 'market' ? result.market.pools.map(({ venue, pool }) => `${venue.name} ${pool.complete}`) : [];
      };
      await until('its end', async () => (await pools()).join() === 'pump true');
      moveToPool(world.chain, coin, false);
      await until('its pool', async () => (await pools()).join() === 'pump true,pump-amm false');
      await inMemory(state, coin.mint);
    } finally {
      stop();
      await world.close();
    }
  });
});

describe('besides the markets', () => {
  let world: TradedWorld;
  let stop: () => void;
  beforeEach(async () => {
    world = await startTradedWorld();
    stop = world.run(slotMs);
  });
  afterEach(async () => {
    stop();
    await world.close();
  });

  it('the balance of a wallet is followed', async () => {
    const state = world.open();
    const { publicKey } = trader;
    const account = associatedTokenAddress(publicKey, world.curve.mint, world.curve.tokenProgram);
    const none = associatedTokenAddress(publicKey, address('no mint'), world.curve.tokenProgram);
    const first = await state.wallets.read(publicKey, [account, none]);
    expect(first.tokenAccounts.get(none)).toBeNull();
    await until('it is followed', async () => {
      const answer = state.wallets.read(publicKey, [account, none]);
      await answer;
      return !(answer instanceof Promise);
    });
    stop();
    world.step();
    world.step();
    world.chain.advance();
    const followed = await until('the newest slot', async () => {
      const read = await state.wallets.read(publicKey, [account, none]);
      return read.slot >= world.chain.slot - 1 && read;
    });
    expect(followed.lamports).toBe(world.chain.account(publicKey)!.lamports);
    expect(followed.tokenAccounts.get(account)).toMatchObject({
      owner: publicKey,
      mint: world.curve.mint,
      amount: tokensOf(world.chain, world.curve),
    });
    expect((await state.wallets.read(address('nobody'))).lamports).toBe(0n);
  });

  it('the blockhash is usable, and its height is reported', async () => {
    const state = world.open();
    await until('a blockhash', () => state.blockhashes.current !== null);
    const endMs = performance.now() + 20_000;
    let height = 0;
    const seen = new Set<string>();
    while (seen.size < 3 && performance.now() < endMs) {
      const { blockhash, lastValidBlockHeight, ageMs } = state.blockhashes.current!;
      expect(world.chain.isBlockhashValid(blockhash)).toBe(true);
      expect(ageMs).toBeLessThan(20_000);
      expect(lastValidBlockHeight - 150).toBe(state.blockhashes.height!);
      expect(state.blockhashes.height!).toBeLessThanOrEqual(world.chain.blockHeight);
      expect(state.blockhashes.height!).toBeGreaterThanOrEqual(height);
      height = state.blockhashes.height!;
      seen.add(blockhash);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(seen.size).toBe(3);
  });

  it('rent is that of the chain', async () => {
    const state = world.open();
    await until('the rates', () => state.rent.rates !== null);
    for (const bytes of [0, 82, 165, 170, 300]) expect(rentOf(state.rent.rates!, bytes)).toBe(minimumBalance(bytes));
  });

  it('fees are those that others pay for the same accounts, up to the cap', async () => {
    const state = world.open();
    await inMemory(state, world.curve.mint);
    const { result } = await state.markets.read(world.curve.mint);
    const pool = result.kind === 'market' ? result.market.pools[0]!.pool.address : '';
    expect(state.fees.level([pool, trader.publicKey])).toBe(0n);
    stop();
    const pay = (price: number, to: string): void => {
      const { blockhash: recentBlockhash } = world.chain.latestBlockhash();
      const instructions = [unitPriceInstruction(BigInt(price)), transferInstruction(trader.publicKey, to, 1_000_000n)];
      world.chain.send(signTransaction({ version: 0, recentBlockhash, instructions, signers: [trader] }), { skipPreflight: true });
    };
    for (let i = 0; i < 150; i++) {
      pay(1_000 + i, maker.publicKey);
      pay(2_000 + i, pool);
      world.chain.advance();
    }
    await until('the level of all', () => state.fees.level([]) === 1_112n);
    await until('that of the pool, for any payer', () => state.fees.level([pool, trader.publicKey]) === 2_112n);
    expect(state.fees.level([pool, maker.publicKey])).toBe(2_112n);
    for (let i = 0; i < 150; i++) {
      pay(90_000_000, maker.publicKey);
      world.chain.advance();
    }
    await until('the cap', () => state.fees.level([]) === 20_000_000n);
    expect(state.counts().fees.capped).toBeGreaterThan(0);
  });
});
