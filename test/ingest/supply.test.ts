import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { StreamEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { createHarness, type Harness } from './harness.ts';
import { until } from '../support/until.ts';
import {
  addressOf,
  ammProgram,
  ammTradeEventBytes,
  createEventBytes,
  curveAccountBytes,
  keyOf,
  migrationEventBytes,
  mintAccountBytes,
  poolAccountBytes,
  pumpProgram,
} from './pump-frames.ts';
import { curveAddress, mint, mintAddress, take } from './some-coin.ts';
import { curveBuy } from './some-trades.ts';
import { accountJson } from './scripted-node.ts';

const trader = keyOf('trader');
const pool = keyOf('pool');
const timestamp = 1_791_485_924;

function sold(overrides: Partial<Parameters<typeof ammTradeEventBytes>[0]> = {}): Buffer {
  const amounts = { baseAmount: 1_000_000n, quoteAmount: 2_000_000n, baseBefore: 1_000_000_000n, quoteBefore: 2_000_000_000n };
  return ammTradeEventBytes({ side: 'sell', pool, trader, ...amounts, timestamp, ...overrides });
}

/** In milliseconds from now. */
const received = (afterMs: number) => ({ receivedMs: Date.now() + afterMs });

const supplyOf = (harness: Harness): bigint | null => harness.pipeline.book.token(mintAddress).supply;
const askedFor = (harness: Harness, address: string): number =>
  harness.calls.filter(({ method, params }) => method === 'getMultipleAccounts' && (params[0] as string[]).includes(address)).length;

function last<T extends StreamEvent['type']>(harness: Harness, type: T): Extract<StreamEvent, { type: T }> {
  const found = harness.events.findLast((event) => event.type === type);
  if (found === undefined) throw new Error(`No ${type} was published.`);
  return found as Extract<StreamEvent, { type: T }>;
}

/** The supply by which an event multiplied the price that counts. All events are of one slot, in which the token begins, or of the next one. */
const worth = (harness: Harness, { marketCapSol, slot }: Pick<TradeEvent, 'marketCapSol' | 'slot'>): number =>
  Math.round(marketCapSol! / harness.pipeline.book.token(mintAddress).settled!.at(slot));

describe('the supply of a mayhem coin', () => {
  const created = createEventBytes({
    mint,
    curve: addressBytes(curveAddress),
    trader,
    name: 'Coin',
    symbol: 'COIN',
    uri: 'https://example.org/coin.json',
    timestamp,
    tokenProgram: addressBytes(token2022Program),
    mayhem: true,
  });
  const migrated = migrationEventBytes({
    mint,
    curve: addressBytes(curveAddress),
    pool,
    baseAmount: 206_900_000_000_000n,
    quoteAmount: 84_990_359_057n,
    fee: 15_000_001n,
    timestamp,
  });

  it("is that of its mint in every event, including the agent's part", () => {
    const harness = createHarness();
    take(harness, pumpProgram, [created, curveBuy()]);
    expect(last(harness, 'newToken')).toMatchObject({ supply: '2000000000000000', traits: ['mayhemMode'] });
    harness.pipeline.takeAccount({
      address: curveAddress,
      owner: pumpProgram,
      data: curveAccountBytes(10n ** 15n, 32_000_000_000n, true),
      slot: 101,
      receivedUs: Date.now() * 1000,
    });
    harness.pipeline.ticks.release(0);
    take(harness, pumpProgram, [migrated]);
    expect(harness.events.map(({ type }) => type)).toEqual(['newToken', 'trade', 'price', 'price', 'migration']);
    for (const event of harness.events) {
      if ('marketCapSol' in event) expect(worth(harness, event)).toBe(2_000_000_000);
    }
    expect(harness.calls).toEqual([]);
  });

  it('is read from the mint if the creation was not seen, and not from the curve', async () => {
    const accounts = new Map([
      [curveAddress, accountJson(pumpProgram, curveAccountBytes(undefined, undefined, true))],
      [mintAddress, accountJson(token2022Program, mintAccountBytes(6, 1_500_000_000_000_000n))],
    ]);
    const harness = createHarness({ accounts });
    take(harness, pumpProgram, [curveBuy()]);
    expect(last(harness, 'trade').marketCapSol).toBeNull();
    await until('the mint was read', () => supplyOf(harness) !== null);
    take(harness, pumpProgram, [curveBuy()]);
    expect(worth(harness, last(harness, 'trade'))).toBe(1_500_000_000);
    expect(worth(harness, last(harness, 'price'))).toBe(1_500_000_000);
  });

  it('is read again, because the agent burns its tokens after a day', async () => {
    const accounts = new Map([[mintAddress, accountJson(token2022Program, mintAccountBytes(6, 1_200_000_000_000_000n))]]);
    const harness = createHarness({ accounts });
    take(harness, pumpProgram, [created]);
    take(harness, pumpProgram, [curveBuy()], received(30_000));
    expect(harness.calls).toEqual([]);
    take(harness, pumpProgram, [curveBuy()], received(61_000));
    expect(worth(harness, last(harness, 'trade'))).toBe(2_000_000_000);
    await until('the mint was read', () => supplyOf(harness) === 1_200_000_000_000_000n);
    take(harness, pumpProgram, [curveBuy()]);
    expect(worth(harness, last(harness, 'trade'))).toBe(1_200_000_000);
    expect(askedFor(harness, mintAddress)).toBe(1);
  });

  it("is the mint's in its pool too, not that of the trade", async () => {
    const accounts = new Map([
      [addressOf('pool'), accountJson(ammProgram, poolAccountBytes(mint, addressBytes(wrappedSolMint), { mayhem: true }))],
      [mintAddress, accountJson(token2022Program, mintAccountBytes(6, 1_300_000_000_000_000n))],
    ]);
    const harness = createHarness({ accounts });
    take(harness, ammProgram, [sold({ supply: 10n ** 15n })]);
    await until('the trade was published', () => harness.events.length === 2);
    expect(worth(harness, last(harness, 'trade'))).toBe(1_300_000_000);
  });
});

describe('the supply of other coins', () => {
  it('is that of the curve, requested once', async () => {
    const harness = createHarness({ accounts: new Map([[curveAddress, accountJson(pumpProgram, curveAccountBytes())]]) });
    take(harness, pumpProgram, [curveBuy()]);
    await until('the curve was read', () => supplyOf(harness) !== null);
    take(harness, pumpProgram, [curveBuy()], received(3_600_000));
    expect(worth(harness, last(harness, 'trade'))).toBe(1_000_000_000);
    expect(harness.calls).toHaveLength(1);
  });

  it('is read for the next trade if the pair was contested and forgotten during the request', async () => {
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    const harness = createHarness({
      accounts: new Map([[curveAddress, accountJson(pumpProgram, curveAccountBytes())]]),
      answer: () => held,
    });
    const signature = take(harness, pumpProgram, [curveBuy()]);
    await until('the request', () => harness.calls.length === 1);
    expect(harness.pipeline.unlearn(signature)).not.toBeNull();
    answer();
    // All that waits for the answer goes on.
    await pause(20);
    take(harness, pumpProgram, [curveBuy()]);
    await until('the supply', () => supplyOf(harness) !== null);
  });

  it('is read again from the mint if the pool is reversed, or its trades do not show the supply', async () => {
    for (const flipped of [true, false]) {
      const pair = flipped ? ([addressBytes(wrappedSolMint), mint] as const) : ([mint, addressBytes(wrappedSolMint)] as const);
      const accounts = new Map([
        [addressOf('pool'), accountJson(ammProgram, poolAccountBytes(...pair))],
        [mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 5_000_000_000n))],
      ]);
      const harness = createHarness({ accounts });
      const trade = sold({ supply: flipped ? 777n : 0n });
      take(harness, ammProgram, [trade]);
      await until('the trade was published', () => harness.events.length === 2);
      expect(worth(harness, last(harness, 'trade'))).toBe(5_000);
      accounts.set(mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 4_000_000_000n)));
      take(harness, ammProgram, [trade]);
      expect(askedFor(harness, mintAddress)).toBe(1);
      take(harness, ammProgram, [trade], received(120_000));
      await until('the mint was read again', () => supplyOf(harness) === 4_000_000_000n);
      take(harness, ammProgram, [trade]);
      expect(worth(harness, last(harness, 'trade'))).toBe(4_000);
    }
  });
});
