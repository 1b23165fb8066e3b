import { afterEach, describe, expect, it } from 'vitest';
import { Value } from 'typebox/value';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { venueByProgram } from '@sluice/shared/venues/registry.ts';
import { eventSchemas, type StreamEvent } from '@sluice/shared/wire/events.ts';
import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { recordingLog, until, type LogLine } from './harness.ts';

/** A minute and a half at 200 ms a slot: several coins complete and migrate. */
const slots = 450;

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Running {
  readonly simnet: Simnet;
  readonly ingest: Ingest;
  readonly events: StreamEvent[];
  readonly lines: LogLine[];
}

async function start(redis: TestRedis | null, second = false): Promise<Running> {
  const lines: LogLine[] = [];
  const log = recordingLog(lines);
  const simnet = await startSimnet({ seed: 11, autoStart: false, market: { completeEverySeconds: 20 } });
  closers.push(() => simnet.close());
  const bus: Bus = await createBus({ redisUrls: redis === null ? null : [redis.url], log });
  closers.push(() => bus.close());
  const events: StreamEvent[] = [];
  const subscriber = await bus.subscriber();
  await subscriber.start({
    onEntry: ({ json }) => void events.push(JSON.parse(Buffer.from(json).toString()) as StreamEvent),
    onLost: ({ from, to, reason }) => {
      throw new Error(`Entries ${from} to ${to} were lost: ${reason}.`);
    },
  });
  // The same node under two names is two endpoints.
  const also = (url: string): string[] => (second ? [url, url.replace('127.0.0.1', 'localhost')] : [url]);
  const config = { rpc: { httpUrls: also(simnet.rpcUrl), wsUrls: also(simnet.wsUrl) } } as unknown as Config;
  const ingest = await startIngest({ config, bus, log, signal: new AbortController().signal });
  closers.push(() => ingest.close());
  await until('subscribed', () => ingest.stats().endpointsUp === (second ? 2 : 1));
  return { simnet, ingest, events, lines };
}

/** Ids that the chain's own logs lead to: what a reader must have been told, and nothing else. */
function expected(simnet: Simnet, type: StreamEvent['type']): string[] {
  const kinds = { trade: 'trade', newToken: 'created', migration: 'migrated' } as Record<string, string>;
  const ids: string[] = [];
  for (const { id, programId, data } of simnet.oracle.liveEvents()) {
    const outcome = venueByProgram.get(programId)?.decodeEvent(Buffer.from(data, 'base64'));
    if (outcome?.kind === 'decoded' && outcome.event.type === kinds[type]) ids.push(id);
  }
  return ids;
}

/** Lets a few minutes of the chain's time pass, as fast as the reader follows. */
async function expectWhole({ simnet, ingest, events }: Running, ordered = true): Promise<void> {
  for (let slot = 0; slot < slots; slot++) {
    simnet.chain.advance();
    await until('the reader follows', () => simnet.chain.slot - ingest.stats().slot < 8);
  }
  const told = (type: StreamEvent['type']): string[] => events.filter((event) => event.type === type).map((event) => event.id);
  for (const type of ['trade', 'newToken', 'migration'] as const) {
    const ids = expected(simnet, type);
    expect(ids.length).toBeGreaterThan(type === 'trade' ? 300 : 0);
    await until(`every ${type}`, () => told(type).length >= ids.length);
    if (ordered) expect(told(type)).toEqual(ids);
    else expect(told(type).toSorted()).toEqual(ids.toSorted());
  }
  expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
  for (const event of events) {
    expect([...Value.Errors(eventSchemas[event.type], event)]).toEqual([]);
    expect(event).toMatchObject({ simulated: true });
  }
  expect(ingest.stats().pipeline).toMatchObject({ lostEvents: 0, lostTransactions: 0, waiting: 0 });
}

describe('a simulated chain, whole', () => {
  it('tells every trade, creation and migration once, in the order of the chain, in the form of the contract', async () => {
    const running = await start(null);
    await expectWhole(running);
    expect(running.ingest.stats().events.discontinuities).toBe(0);
    const trades = running.events.filter((event) => event.type === 'trade');
    expect(trades.filter(({ pool }) => pool === 'pump-amm').length).toBeGreaterThan(0);
    expect(trades.some(({ curveCompleted }) => curveCompleted === true)).toBe(true);
    expect(trades.every(({ marketCapSol, quoteMint }) => (quoteMint.startsWith('So1111') ? marketCapSol !== null : true))).toBe(true);
    expect(running.lines.filter(({ level }) => level !== 'info' && level !== 'debug')).toEqual([]);
  });

  it('does the same through Redis, from two endpoints', async () => {
    const redis = await startRedis();
    closers.push(() => redis.stop());
    const running = await start(redis, true);
    await expectWhole(running);
    expect(running.ingest.stats().notifications.repeats).toBeGreaterThan(0);
  });

  it('completes cut logs from the transaction, and takes no copy that a foreign program logs', async () => {
    const running = await start(null);
    running.simnet.control.truncate({ count: 25, bytes: 0 });
    running.simnet.control.lookAlike({ count: 25 });
    running.simnet.control.duplicate({ share: 0.3 });
    await expectWhole(running, false);
    const { completed, incompleteLogs } = running.ingest.stats().pipeline;
    // Of the 25, those that failed are of no interest.
    expect(incompleteLogs).toBeGreaterThan(10);
    expect(completed).toBe(incompleteLogs);
  });
});
