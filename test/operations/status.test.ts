import { chainStatus, sourceStatuses } from '@sluice/gateway/operations/ingest-report.ts';
import { LagMeter } from '@sluice/gateway/operations/lag.ts';
import { shownHost } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { statusEndpoint } from '@sluice/shared/wire/rest/operations/operations.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const { chain: chainSchema, sources: sourcesSchema } = statusEndpoint.answer.properties;

/** A report as an ingest process writes it every second. */
const report = {
  leads: true,
  version: '0.1.0',
  slot: 1_000,
  slotAgeMs: 80,
  endpoints: [
    { index: 0, host: 'helius-rpc.com', state: 'up', slot: 1_000, slotsBehind: 0, connects: 1, faults: 0 },
    { index: 1, host: null, state: 'down', slot: 0, slotsBehind: 1_000, connects: 7, faults: 2 },
  ],
  sources: [
    { name: 'logs', slot: 1_000, endpointsUp: 2, first: 90, leadMs: 212.5, holes: 0, contradicted: 1 },
    { name: 'blocks', first: 10, leadMs: null, holes: 'many', contradicted: -1 },
  ],
  continuity: { watermark: 996, slots: { dead: 3 }, gaps: { filled: 5, lostTransactions: 1, lostSlots: 2 } },
  publisher: { retracted: 4 },
  venues: { 'pump-amm': { events: {} }, pump: { events: {} }, later: {} },
  solUsd: { price: 151.5, slot: 990, ageMs: 1_200, stale: false },
};

it('the status shows how far the leading ingest process has followed the chain, and its nodes', () => {
  const ingests = [
    { name: 'ingest:b', value: { ...report, leads: false, slot: 7 } },
    { name: 'ingest:a', value: report },
  ];
  expect(chainStatus(ingests)).toEqual({
    ingest: 'ingest:a',
    version: '0.1.0',
    venues: ['pump', 'pump-amm'],
    slot: 1_000,
    slotAgeMs: 80,
    watermark: 996,
    solUsd: { price: 151.5, slot: 990, ageMs: 1_200 },
    gaps: { filled: 5, lostTransactions: 1, lostSlots: 2 },
    sources: [
      { name: 'logs', first: 90, leadMs: 212.5, holes: 0, contradicted: 1 },
      { name: 'blocks', first: 10, leadMs: null, holes: null, contradicted: 0 },
    ],
    forks: { deadSlots: 3, retracted: 4 },
  });
  expect(sourceStatuses(ingests.slice(1), 0)).toEqual([
    { ingest: 'ingest:a', endpoint: 1, host: 'helius-rpc.com', state: 'up', slotsBehind: 0, connects: 1, faults: 0 },
    { ingest: 'ingest:a', endpoint: 2, host: null, state: 'down', slotsBehind: null, connects: 7, faults: 2 },
  ]);
  expect(chainStatus(ingests.slice(0, 1))).toBeNull();
});

it('a stream that keeps up is 0 slots behind, although each report of ingest is up to two seconds old', () => {
  let nowMs = 0;
  const health = { slot: 0, reportedSlotAgeMs: 80 };
  const ownSlot = (): number => Math.floor(nowMs / 200);
  const meter = new LagMeter({ ownSlot, health, now: () => nowMs });
  const lagAfter = (seconds: number, reportedSlot: () => number): typeof meter.lag => {
    for (const end = nowMs + seconds * 1_000; nowMs < end; nowMs += 500) {
      // The oldest report that is no fault.
      if (nowMs % 1_000 === 0) health.slot = reportedSlot();
      meter.sample();
    }
    return meter.lag;
  };
  expect(lagAfter(1, ownSlot)).toEqual({ slots: null, ms: 80 });
  expect(lagAfter(20, () => Math.max(1, ownSlot() - 5))).toEqual({ slots: 0, ms: 80 });
  // Ingest has stopped.
  const { slot } = health;
  const { slots } = lagAfter(10, () => slot);
  expect(slots).toBeGreaterThanOrEqual(35);
  // Its nodes are behind too, even the newest.
  expect(sourceStatuses([{ name: 'ingest:a', value: report }], slots!).map(({ slotsBehind }) => slotsBehind)).toEqual([slots, null]);
});

it('has its form even if a process reports something else', () => {
  const [isChain, areSources] = [validator(chainSchema), validator(sourcesSchema)];
  const odd = fc.oneof(fc.anything(), fc.double(), fc.constantFrom(-1, 0, 1.5, Number.NaN, 1e300, '', 'up', null));
  const endpoint = fc.record({ index: odd, host: odd, state: odd, slot: odd, slotsBehind: odd, connects: odd, faults: odd });
  const value = fc.record({
    leads: fc.constant(true),
    version: odd,
    slot: odd,
    slotAgeMs: odd,
    endpoints: fc.oneof(odd, fc.array(fc.oneof(endpoint, odd))),
    continuity: fc.oneof(odd, fc.record({ watermark: odd, slots: odd, gaps: fc.oneof(odd, fc.record({ filled: odd })) })),
    publisher: odd,
    venues: odd,
    solUsd: fc.oneof(odd, fc.record({ price: odd, slot: odd, ageMs: odd })),
  });
  fc.assert(
    fc.property(value, (reported) => {
      const ingests = [{ name: 'ingest:a', value: reported as Readonly<Record<string, unknown>> }];
      expect(isChain(chainStatus(ingests))).toMatchObject({ ok: true });
      expect(areSources(sourceStatuses(ingests, 0))).toMatchObject({ ok: true });
    }),
  );
});

it.each([
  ['https://mainnet.helius-rpc.com/?api-key=secret', 'helius-rpc.com'],
  ['wss://user:secret@secret-name.solana-mainnet.quiknode.pro/secret/', 'quiknode.pro'],
  ['https://RPC.Example.com:8899/', 'example.com'],
  ['https://example.com./', 'example.com'],
  ['http://127.0.0.1:8899', null],
  ['http://[::1]:8899', null],
  ['http://node:8899', null],
  ['secret', null],
])('of %s only %s is shown', (url, host) => expect(shownHost(url)).toBe(host));
