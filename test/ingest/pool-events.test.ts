import { describe, expect, it } from 'vitest';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { topicsOf, type PublishableEvent } from '../../ingest/src/publisher/outgoing.ts';
import { createHarness, type Harness } from './harness.ts';
import {
  addressOf,
  ammProgram,
  createPoolEventBytes,
  keyOf,
  liquidityEventBytes,
  mintAccountBytes,
  poolAccountBytes,
} from './pump-frames.ts';
import { accountJson } from './scripted-node.ts';
import { mint, mintAddress, take } from './some-coin.ts';

const pool = keyOf('pool');
const timestamp = 1_791_485_924;
const opened = createPoolEventBytes(pool, mint, 1_000_000_000n, 100_000_000_000n, timestamp);
const withdrawal = (baseAmount: bigint, quoteAmount: bigint): Buffer =>
  liquidityEventBytes({
    isAdded: false,
    pool,
    lpAmount: 900n,
    baseBefore: 1_000_000_000n,
    quoteBefore: 100_000_000_000n,
    baseAmount,
    quoteAmount,
    timestamp,
  });
const of = <T extends StreamEvent['type']>(harness: Harness, type: T) =>
  harness.events.findLast((event): event is Extract<StreamEvent, { type: T }> => event.type === type)!;
const solUsd = { price: 150, slot: 1, atMs: Date.now() };

describe('events of pools', () => {
  it('tell of a new pool, with its pair, amounts, value and reserves', () => {
    const harness = createHarness({ solUsd });
    const signature = take(harness, ammProgram, [opened]);
    expect(of(harness, 'poolCreated')).toMatchObject({
      id: `${signature}:0`,
      mint: mintAddress,
      quoteMint: wrappedSolMint,
      pool: 'pump-amm',
      poolAddress: addressOf('pool'),
      creator: addressOf('pool authority'),
      baseAmount: '1000000000',
      tokenAmount: 1_000,
      quoteAmount: '100000000000',
      solAmount: 100,
      priceSol: 0.1,
      valueSol: 200,
      valueUsd: 30_000,
      lpBurned: null,
      lpLocked: null,
      blockTime: timestamp,
    });
    expect(topicsOf(of(harness, 'poolCreated') as PublishableEvent)).toEqual(['pools', `pools:${mintAddress}`]);
  });

  it('tell what left, what is left, and its value; the price stays, and the depth follows', () => {
    const harness = createHarness({ solUsd });
    take(harness, ammProgram, [opened]);
    const signature = take(harness, ammProgram, [withdrawal(900_000_000n, 90_000_000_000n)]);
    expect(of(harness, 'liquidityRemoved')).toMatchObject({
      id: `${signature}:0`,
      provider: addressOf('provider'),
      baseAmount: '900000000',
      quoteAmount: '90000000000',
      solAmount: 90,
      valueSol: 180,
      baseLeft: '100000000',
      quoteLeft: '10000000000',
      leftSol: 20,
      leftUsd: 3_000,
      reserves: { virtualBase: '100000000', virtualQuote: '10000000000', realBase: '100000000', realQuote: '10000000000' },
      lpAmount: '900',
      lpBurned: '900',
      priceSol: 0.1,
    });
    expect(of(harness, 'price')).toMatchObject({
      id: `${signature}:0.price`,
      source: 'account',
      priceSol: 0.1,
      reserves: { virtualBase: '100000000', virtualQuote: '10000000000', realBase: '100000000', realQuote: '10000000000' },
    });
  });

  it('a drained pool keeps its last price, has no depth, and loses its place to the next pool', () => {
    const harness = createHarness();
    take(harness, ammProgram, [opened]);
    take(harness, ammProgram, [withdrawal(1_000_000_000n, 100_000_000_000n)]);
    expect(of(harness, 'liquidityRemoved')).toMatchObject({ baseLeft: '0', quoteLeft: '0', leftSol: 0, priceSol: 0.1, valueSol: 200 });
    const reserves = { virtualBase: '0', virtualQuote: '0', realBase: '0', realQuote: '0' };
    expect(of(harness, 'price')).toMatchObject({ priceSol: 0.1, reserves });
  });

  it('of a pool that nobody has seen wait for its account', async () => {
    const accounts = new Map([
      [addressOf('pool'), accountJson(ammProgram, poolAccountBytes(mint, addressBytes(wrappedSolMint)))],
      [mintAddress, accountJson(tokenProgram, mintAccountBytes(6, 10n ** 15n))],
    ]);
    const harness = createHarness({ accounts });
    take(harness, ammProgram, [withdrawal(900_000_000n, 90_000_000_000n)]);
    await expect.poll(() => harness.events.map(({ type }) => type)).toEqual(['liquidityRemoved']);
    expect(of(harness, 'liquidityRemoved')).toMatchObject({
      mint: mintAddress,
      solAmount: 90,
      priceSol: null,
      valueSol: null,
      leftSol: null,
    });
  });
});
