import { describe, expect, it } from 'vitest';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { topicsOf, type PublishableEvent } from '../../ingest/src/publisher/outgoing.ts';
import { noteBurnedLp } from '../../ingest/src/sources/decode/lp-tokens.ts';
import type { LocatedEvent } from '../../ingest/src/sources/decode/transaction-decoder.ts';
import { raydiumCpmm } from '../../venues/src/raydium/cpmm/index.ts';
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

  it('count LP tokens that the transaction burned, and those that it gave to a locker', () => {
    const amount = (tag: number, value: bigint): Uint8Array => Uint8Array.of(tag, ...new Uint8Array(BigUint64Array.of(value).buffer));
    const inner = [
      { programId: raydiumCpmm.programId, accounts: [], data: Uint8Array.of(0), stackHeight: 2 },
      { programId: tokenProgram, accounts: ['lp', 'user', 'authority'], data: amount(7, 1_000n), stackHeight: 3 },
      { programId: tokenProgram, accounts: ['user', 'lp', 'owner'], data: amount(8, 400n), stackHeight: 2 },
    ];
    const held = { account: 'vault', mint: 'lp', decimals: 9, before: 0n, after: 600n };
    const seen = (owner: string): unknown[] => {
      const tokenBalances = [{ ...held, owner }];
      const view = {
        instructions: [{ programId: 'launch', accounts: [], data: Uint8Array.of(0) }],
        inner: new Map([[0, inner]]),
        tokenBalances,
      };
      const created = { type: 'poolCreated', pool: 'pool', baseMint: 'coin', quoteMint: 'money' };
      const events = [{ venue: 'raydium-cpmm', path: '0.1', event: created }] as unknown as LocatedEvent[];
      const isVenue = (programId: string): boolean => programId === raydiumCpmm.programId;
      noteBurnedLp(view as unknown as TransactionView, events, isVenue, new Set([raydiumCpmm.lpLocker!]));
      return events;
    };
    const event = { type: 'liquidityLocked', pool: 'pool', lpAmount: 600n, timestamp: null };
    expect(seen(raydiumCpmm.lpLocker!)).toEqual([
      expect.objectContaining({ lpBurned: 400n }),
      { venue: 'raydium-cpmm', path: '0.1-locked', event },
    ]);
    expect(seen('somebody')).toEqual([expect.objectContaining({ lpBurned: 400n })]);
  });
});
