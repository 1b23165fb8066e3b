import { afterEach, describe, expect, it } from 'vitest';
import { ChainSlot } from '@sluice/shared/solana/pubsub/chain-slot.ts';
import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import { createHarness, recordingLog, type Harness } from './harness.ts';
import { until } from '../support/until.ts';
import { addressOf, curveAccountBytes, pumpProgram, signatureOf, whirlpoolBytes } from './pump-frames.ts';
import { dataLine, invoked, routedTradeLogs } from './log-frames.ts';
import { curveBuy } from './some-trades.ts';
import { accountAnswers, accountJson, startScriptedNode, type ScriptedNode } from './scripted-node.ts';
import { logsSighting } from './sightings.ts';
import { testConfig } from '../support/test-config.ts';

const absurd = Number.MAX_SAFE_INTEGER;
const nowMs = Date.now();

describe('the slot of the chain', () => {
  it('is the newest reported slot, within the fastest possible pace', () => {
    const chain = new ChainSlot();
    chain.judge([], 0);
    expect(chain.slot).toBe(0);
    chain.judge([460_000_000], 0);
    chain.judge([460_000_001, 459_999_000], 1);
    expect(chain.slot).toBe(460_000_001);
    for (let slot = 460_000_002; slot < 460_010_000; slot++) {
      chain.judge([slot, 460_000_000], 2);
      expect(chain.slot).toBe(slot);
    }
    // An hour without any report.
    chain.judge([460_019_000, 460_000_000], 3_600_002);
    expect(chain.slot).toBe(460_019_000);
  });

  it('cannot be moved far ahead by one endpoint against the others, but by two, or by the only one', () => {
    const chain = new ChainSlot();
    chain.judge([1_000, 999], 0);
    chain.judge([2_000_000, 1_000], 100);
    expect(chain.slot).toBe(1_000);
    chain.judge([2_000_000, 1_001], 200);
    expect(chain.slot).toBe(1_001);
    chain.judge([2_000_001, 2_000_000], 300);
    expect(chain.slot).toBe(2_000_001);
    chain.judge([5_000], 400);
    expect(chain.slot).toBe(5_000);
  });

  it('is that of two endpoints, also if a third one reported another one before', () => {
    for (const before of [[], [1_000]]) {
      const chain = new ChainSlot();
      chain.judge([900_000_000], 0);
      chain.judge([900_000_001, ...before], 100);
      chain.judge([900_000_001, 1_001, 1_000], 200);
      expect(chain.slot).toBe(1_001);
      chain.judge([900_000_002, 1_002], 300);
      expect(chain.slot).toBe(1_002);
    }
  });

  it('is limited, without a clock, by what a network can reach', () => {
    expect(newestPossibleSlot).toBeGreaterThan(2 * 460_000_000);
    expect(newestPossibleSlot).toBeLessThan(2 ** 32);
  });
});

describe('an impossible slot', () => {
  let serial = 0;
  const take = (harness: Harness, slot: number): void => {
    const signature = signatureOf(`slot ${serial++}`);
    harness.pipeline.takeNew(
      logsSighting({ signature, slot, logs: invoked(pumpProgram, 1, [dataLine(curveBuy())]), receivedUs: nowMs * 1000 }),
    );
  };
  const kinds = (harness: Harness): string[] => harness.events.map((event) => event.type);

  it('of a trade does not suppress later prices', () => {
    const harness = createHarness();
    for (const slot of [100, absurd, 101, 100]) take(harness, slot);
    expect(kinds(harness)).toEqual(['trade', 'price', 'trade', 'price', 'trade', 'price', 'trade']);
  });

  it('of an account does not suppress later accounts', () => {
    const harness = createHarness();
    take(harness, 100);
    const address = bondingCurveAddress(addressOf('coin'));
    const states = [
      [absurd, 32_000_000_000n],
      [101, 33_000_000_000n],
    ] as const;
    for (const [slot, sol] of states) {
      harness.pipeline.takeAccount({
        address,
        owner: pumpProgram,
        data: curveAccountBytes(10n ** 15n, sol),
        slot,
        receivedUs: nowMs * 1000,
      });
    }
    harness.pipeline.ticks.release(0);
    expect(harness.events.at(-1)).toMatchObject({ type: 'price', source: 'account', slot: 101, priceSol: 3.3e-8 });
  });

  it('of the SOL/USD pool is refused, and replaced if it was the first', () => {
    const { solUsd } = createHarness();
    const report = (price: number, slot: number, afterMs = 0): number | undefined => {
      const receivedUs = (nowMs + afterMs) * 1000;
      solUsd.take({ address: solPricePool.address, owner: whirlpoolProgram, data: whirlpoolBytes(price), slot, receivedUs });
      return solUsd.current?.slot;
    };
    expect(report(9_999, absurd)).toBe(absurd);
    expect(report(150, 460_000_000)).toBe(460_000_000);
    expect(report(9_999, absurd)).toBe(460_000_000);
    expect(report(149, 459_999_999)).toBe(460_000_000);
    expect(solUsd.refused).toBe(1);
    expect(solUsd.current?.price).toBeCloseTo(150, 6);
    expect(report(151, 460_000_001)).toBe(460_000_001);
    // After a silence the chain may be anywhere.
    expect(report(152, 470_000_000, 25_000)).toBe(470_000_000);
  });
});

describe('an endpoint that reports impossible slots', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  async function start(): Promise<{ liar: ScriptedNode; honest: ScriptedNode; ingest: Ingest; bus: Bus }> {
    const [liar, honest] = [await startScriptedNode(), await startScriptedNode()];
    closers.push(
      () => liar.close(),
      () => honest.close(),
    );
    const accounts = new Map([[solPricePool.address, accountJson(whirlpoolProgram, whirlpoolBytes(150))]]);
    for (const node of [liar, honest]) node.onCall = accountAnswers(accounts, 1_000);
    const bus = createInProcessBus();
    closers.push(() => bus.close());
    const rpc = { httpUrls: [liar.httpUrl, honest.httpUrl], wsUrls: [liar.wsUrl, honest.wsUrl] };
    const config = { ...testConfig, rpc };
    const ingest = await startIngest({ config, bus, log: recordingLog([]), signal: new AbortController().signal });
    closers.push(() => ingest.close());
    await until('both are up and report slots', () => {
      const { endpoints } = ingest.stats();
      return endpoints.length === 2 && endpoints.every(({ state, slot }) => state === 'up' && slot > 1_000);
    });
    return { liar, honest, ingest, bus };
  }

  it('makes no other endpoint lag, even if it reported first of three', async () => {
    const nodes = [await startScriptedNode(), await startScriptedNode(), await startScriptedNode()];
    const [liar, ...honest] = nodes;
    for (const node of nodes) closers.push(() => node.close());
    liar!.slot = 900_000_000;
    for (const node of honest) node.reportsSlots = false;
    const bus = createInProcessBus();
    closers.push(() => bus.close());
    const rpc = { httpUrls: nodes.map(({ httpUrl }) => httpUrl), wsUrls: nodes.map(({ wsUrl }) => wsUrl) };
    const config = { ...testConfig, rpc };
    const ingest = await startIngest({ config, bus, log: recordingLog([]), signal: new AbortController().signal });
    closers.push(() => ingest.close());
    await until('the liar is believed', () => ingest.stats().slot > 900_000_000);
    for (const node of honest) node.reportsSlots = true;
    await until('the others are', () => ingest.stats().slot < 100_000);
    await until('they do not lag', () =>
      ingest.stats().endpoints.every(({ state, slot }, i) => i === 0 || (state === 'up' && slot > 1_020)),
    );
  });

  it('makes no other endpoint lag, and does not affect its trades', async () => {
    const { liar, honest, ingest } = await start();
    const malformed = (): number => {
      const { endpoints, notifications } = ingest.stats();
      return notifications.malformed + endpoints.reduce((sum, { malformedFrames }) => sum + malformedFrames, 0);
    };
    liar.reportsSlots = false;
    liar.notify('slotNotification', 'slotSubscribe', { slot: 9e15, parent: 1, root: 1 });
    liar.notify('slotNotification', 'slotSubscribe', { slot: 900_000_000, parent: 1, root: 1 });
    const account = { context: { slot: absurd }, value: accountJson(whirlpoolProgram, whirlpoolBytes(9_999)) };
    liar.notify('accountNotification', 'accountSubscribe', account, ([address]) => address === solPricePool.address);
    liar.logs(signatureOf('liar'), routedTradeLogs(curveBuy()), { slot: absurd });
    await until('three were refused', () => malformed() === 3);
    const slotThen = ingest.stats().slot;
    await until('the chain continues', () => ingest.stats().slot > slotThen + 20);
    expect(ingest.stats().slot).toBeLessThan(100_000);
    expect(ingest.stats().endpoints[1]).toMatchObject({ state: 'up' });
    expect(ingest.stats().solUsd).toMatchObject({ price: expect.closeTo(150, 6) as number });
    // The same transaction, reported by the other endpoint.
    honest.logs(signatureOf('liar'), routedTradeLogs(curveBuy()));
    await until('the trade was published', () => ingest.stats().events.trades === 1);
    honest.account(solPricePool.address, whirlpoolProgram, whirlpoolBytes(151));
    await until('the price was published', () => Math.round(ingest.stats().solUsd?.price ?? 0) === 151);
    // Its later reports count again.
    expect(ingest.stats().endpoints[0]!.slot).toBe(900_000_000);
    liar.reportsSlots = true;
    await until('the liar is back', () => ingest.stats().endpoints[0]!.slot < 100_000);
  });
});
