import { maxFaults } from '@sluice/shared/solana/pubsub/frame-faults.ts';
import { afterEach, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { pricePools, solPricePool } from '@sluice/venues/registry.ts';
import { clockSysvar } from '@sluice/shared/solana/well-known.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { recordingLog, type LogLine } from './harness.ts';
import { until } from '../support/until.ts';
import { addressOf, curveAccountBytes, keyOf, pumpProgram, signatureOf, whirlpoolBytes } from './pump-frames.ts';
import { dataLine, invoked, logsFrame, routedTradeLogs } from './log-frames.ts';
import { curveBuy } from './some-trades.ts';
import { accountAnswers, accountJson, startScriptedNode, type ScriptedNode } from './scripted-node.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import { testConfig } from '../support/test-config.ts';

interface Running {
  readonly ingest: Ingest;
  readonly bus: Bus;
  readonly events: StreamEvent[];
  readonly lines: LogLine[];
}

const nodes: ScriptedNode[] = [];
const running: Running[] = [];

async function node(): Promise<ScriptedNode> {
  const started = await startScriptedNode();
  nodes.push(started);
  return started;
}

function ingestOf(...sources: readonly ScriptedNode[]): Promise<Running> {
  return ingestOn(createInProcessBus(), ...sources);
}

async function ingestOn(bus: Bus, ...sources: readonly ScriptedNode[]): Promise<Running> {
  const events: StreamEvent[] = [];
  const lines: LogLine[] = [];
  const subscriber = await bus.subscriber();
  await subscriber.start({
    onEntry: (entry) => void events.push(...eventsOfEntry(entry)),
    onLost: () => {
      throw new Error('The in-process bus lost entries.');
    },
  });
  const rpc = { httpUrls: sources.map(({ httpUrl }) => httpUrl), wsUrls: sources.map(({ wsUrl }) => wsUrl) };
  const config = { ...testConfig, rpc };
  const ingest = await startIngest({ config, bus, log: recordingLog(lines), signal: new AbortController().signal });
  const started = { ingest, bus, events, lines };
  running.push(started);
  return started;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map(async ({ ingest, bus }) => ingest.close().then(() => bus.close())));
  await Promise.all(nodes.splice(0).map((started) => started.close()));
});

const up =
  ({ ingest }: Running, count = 1): (() => boolean) =>
  () =>
    ingest.stats().endpointsUp === count;

/** Logs of a buy of a new coin. */
const buyLogs = (name: string): string[] => routedTradeLogs(curveBuy({ mint: keyOf(name) }));

/** Both nodes report it for the same slot, as nodes do. */
const send = (to: ScriptedNode, name: string): void => to.logs(signatureOf(name), buyLogs(name), { slot: 1_000 });
const tradesOf = ({ events }: Running): string[] => events.filter((event) => event.type === 'trade').map((event) => event.id);
const tradeOf = (name: string): string => `${signatureOf(name)}:3.0`;

describe('from a node to the bus', () => {
  it('subscribes to logs and accounts of every venue, the SOL/USD pool, the slots and the confirmed slots', async () => {
    const source = await node();
    await until('subscribed', up(await ingestOf(source)));
    const [asked] = [...source.subscriptions.values()].map((subscriptions) => [...subscriptions.values()]);
    expect(asked?.map(({ method, params }) => [method, params[0]])).toEqual([
      ...venues.map(({ programId }) => ['logsSubscribe', { mentions: [programId] }]),
      ['programSubscribe', pumpProgram],
      ['programSubscribe', 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA'],
      ...pricePools.map((address) => ['accountSubscribe', address]),
      ['slotSubscribe', undefined],
      ['accountSubscribe', clockSysvar],
    ]);
    const commitments = asked!
      .filter(({ method }) => method !== 'slotSubscribe')
      .map(({ params }) => (params[1] as { commitment: string }).commitment);
    expect(commitments).toEqual([...commitments.slice(1).map(() => 'processed'), 'confirmed']);
    // The first eight bytes of a bonding curve, in base58.
    expect(asked?.[venues.length]?.params[1]).toMatchObject({
      encoding: 'base64',
      filters: [{ memcmp: { offset: 0, bytes: '4y6pru6YvC7' } }],
    });
  });

  it('subscribes only to the venues of the settings', async () => {
    const source = await node();
    const rpc = { httpUrls: [source.httpUrl], wsUrls: [source.wsUrl] };
    const ending = new AbortController();
    const bus = createInProcessBus();
    const config: Config = { ...testConfig, rpc, venues: ['pump-amm'] };
    const ingest = await startIngest({ config, bus, log: recordingLog([]), signal: ending.signal });
    await until('subscribed', () => ingest.stats().endpointsUp === 1);
    const programs = [...source.subscriptions.values()].flatMap((subscriptions) =>
      [...subscriptions.values()].flatMap(({ method, params }) =>
        method === 'logsSubscribe' ? [(params[0] as { mentions: string[] }).mentions[0]] : method === 'programSubscribe' ? [params[0]] : [],
      ),
    );
    expect(programs).toEqual(['pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA', 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA']);
    await ingest.close();
    await bus.close();
  });

  it('publishes trades and prices with SOL/USD, account ticks, and the label of simnet', async () => {
    const source = await node();
    source.onCall = accountAnswers(new Map([[solPricePool.address, accountJson(whirlpoolProgram, whirlpoolBytes(200))]]));
    const started = await ingestOf(source);
    await until('subscribed', up(started));
    send(source, 'a');
    await until('published', () => started.events.length === 2);
    expect(started.events[0]).toMatchObject({ type: 'trade', id: tradeOf('a'), simulated: true });
    const { ts, priceSol, priceUsd } = started.events[0] as {
      ts: { received: number; published: number };
      priceSol: number;
      priceUsd: number;
    };
    expect(priceUsd / priceSol).toBeCloseTo(200, 3);
    expect(ts.published).toBeGreaterThanOrEqual(ts.received);
    expect(Math.abs(ts.received / 1000 - Date.now())).toBeLessThan(600_000);

    source.account(solPricePool.address, whirlpoolProgram, whirlpoolBytes(250));
    await until('the new SOL/USD', () => Math.round(started.ingest.stats().solUsd?.price ?? 0) === 250);
    source.programAccount(pumpProgram, bondingCurveAddress(addressOf('a')), curveAccountBytes(10n ** 15n, 40_000_000_000n));
    await until('the tick', () => started.events.length === 3);
    expect(started.events[2]).toMatchObject({
      type: 'price',
      source: 'account',
      priceSol: 4e-8,
      marketCapSol: expect.any(Number) as number,
      simulated: true,
    });
  });

  it('publishes nothing until the cluster reported its genesis hash', async () => {
    const source = await node();
    const answers = accountAnswers(new Map());
    let failing = true;
    source.onCall = (method, params) => {
      if (failing) return { error: { code: -32005, message: 'Node is behind' } };
      return method === 'getGenesisHash' ? { result: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d' } : answers(method, params);
    };
    const started = await ingestOf(source);
    await until('asked twice', () => source.calls.length >= 2);
    expect(source.connections).toBe(0);
    failing = false;
    await until('subscribed', up(started));
    send(source, 'a');
    await until('published', () => started.events.length === 2);
    expect('simulated' in started.events[0]!).toBe(false);
  });

  it('reports its state on the bus every second', async () => {
    const source = await node();
    const started = await ingestOf(source);
    await until('subscribed', up(started));
    send(source, 'a');
    const { instance } = started.ingest.stats();
    let status: Record<string, unknown> | undefined;
    for (let tries = 0; tries < 400 && status?.['endpointsUp'] !== 1; tries++) {
      status = (await started.bus.statuses()).find(({ name }) => name === `ingest:${instance}`)?.value;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(status).toMatchObject({ instance, endpointsUp: 1, slot: expect.any(Number) as number, faults: [] });
  });

  it('drops failed transactions and placeholders, and counts them', async () => {
    const source = await node();
    const started = await ingestOf(source);
    await until('subscribed', up(started));
    source.logs(signatureOf('failed'), buyLogs('a'), { err: { InstructionError: [0, 'Custom'] } });
    source.logs('1'.repeat(64), buyLogs('a'));
    send(source, 'b');
    await until('published', () => started.events.length === 2);
    expect(tradesOf(started)).toEqual([tradeOf('b')]);
    expect(started.ingest.stats()).toMatchObject({ notifications: { failed: 1, placeholder: 1 }, sightings: { new: 1 } });
  });

  it('reports undecodable events by venue, in the log and in its state', async () => {
    const source = await node();
    const started = await ingestOf(source);
    await until('subscribed', up(started));
    for (let index = 0; index < 20; index++) {
      source.logs(signatureOf(`odd ${index}`), invoked(pumpProgram, 1, [dataLine(Buffer.from('00112233445566778899', 'hex'))]));
    }
    await until('logged', () => started.lines.some(({ name }) => name === 'undecodable_events'));
    expect(started.lines.filter(({ name }) => name === 'undecodable_events')).toHaveLength(1);
    const stats = started.ingest.stats();
    expect(stats.venues['pump']?.events.unknown).toBe(20);
    expect(stats.faults).toEqual([
      expect.objectContaining({ venue: 'pump', kind: 'unknown', detail: '0011223344556677', total: 20, sampleBase64: 'ABEiM0RVZneImQ==' }),
    ]);
  });
});

describe('endpoints', () => {
  it('race: every transaction once, from the first that reports it, in order of arrival', async () => {
    const [a, b] = [await node(), await node()];
    const started = await ingestOf(a, b);
    await until('subscribed', up(started, 2));
    const names = Array.from({ length: 40 }, (_, index) => `t${index}`);
    for (const [index, name] of names.entries()) {
      const [first, second] = index % 2 === 0 ? [a, b] : [b, a];
      send(first, name);
      await until('published', () => tradesOf(started).includes(tradeOf(name)));
      send(second, name);
    }
    await until('all repeats seen', () => started.ingest.stats().sightings.repeated === names.length);
    expect(tradesOf(started)).toEqual(names.map(tradeOf));
  });

  it('lose nothing while one of two is cut and connects again', async () => {
    const [a, b] = [await node(), await node()];
    const started = await ingestOf(a, b);
    await until('subscribed', up(started, 2));
    const names = Array.from({ length: 300 }, (_, index) => `t${index}`);
    for (const [index, name] of names.entries()) {
      if (index === 100) a.cut();
      send(a, name);
      send(b, name);
      if (index % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await until('back', () => a.connections === 2 && started.ingest.stats().endpointsUp === 2);
    await until('all published', () => tradesOf(started).length === names.length);
    expect(tradesOf(started).toSorted()).toEqual(names.map(tradeOf).toSorted());
    expect(started.lines.filter(({ name }) => name === 'endpoint_state').map(({ data }) => [data['endpoint'], data['state']])).toEqual(
      expect.arrayContaining([
        [1, 'down'],
        [1, 'up'],
      ]),
    );
  });

  it('are dropped if they stall without closing, and used again later', async () => {
    const source = await node();
    const started = await ingestOf(source);
    await until('subscribed', up(started));
    await until('slots', () => started.ingest.stats().slot > 0);
    source.reportsSlots = false;
    await until('given up', () => source.connections === 2);
    source.reportsSlots = true;
    await until('back', up(started));
    send(source, 'after');
    await until('published', () => tradesOf(started).length === 1);
    expect(started.lines.filter(({ name, data }) => name === 'endpoint_state' && data['reason'] === 'no slot')).toHaveLength(1);
  });

  it('are reported if they lag', async () => {
    const [a, b] = [await node(), await node()];
    b.slot = 1;
    const started = await ingestOf(a, b);
    await until('lagging', () => started.ingest.stats().endpoints[1]?.state === 'lagging');
    b.slot = a.slot;
    await until('no more', () => started.ingest.stats().endpoints[1]?.state === 'up');
    expect(started.lines.filter(({ name, data }) => name === 'endpoint_state' && data['state'] === 'lagging')).toHaveLength(1);
  });

  it('are retried if a required subscription is refused; other subscriptions are optional', async () => {
    const source = await node();
    let refusing = true;
    source.onSubscribe = (method) => {
      const refused = method === 'programSubscribe' || (method === 'logsSubscribe' && refusing);
      return refused ? { error: { code: -32601, message: 'Method not found' } } : undefined;
    };
    const started = await ingestOf(source);
    await until('tried again', () => source.connections >= 2);
    expect(started.ingest.stats().endpointsUp).toBe(0);
    refusing = false;
    await until('up', up(started));
    send(source, 'a');
    await until('published', () => tradesOf(started).length === 1);
  });

  it('that close at once are retried with growing pauses', async () => {
    const source = await node();
    let closing = true;
    source.onSubscribe = (_method, _params, socket) => {
      if (closing) socket.close();
      return undefined;
    };
    const started = await ingestOf(source);
    await until('tried again', () => source.connections >= 3);
    closing = false;
    await until('up', up(started));
    send(source, 'a');
    await until('published', () => tradesOf(started).length === 1);
  });

  it('may send logs under any subscription, but no account under an unknown id', async () => {
    const source = await node();
    source.onSubscribe = () => ({ result: 7 });
    const started = await ingestOf(source);
    await until('subscribed', up(started));
    source.send(logsFrame(signatureOf('a'), 5, buyLogs('a'), 999));
    source.send(
      JSON.stringify({
        jsonrpc: '2.0',
        method: 'accountNotification',
        params: { result: { context: { slot: 1 }, value: accountJson(whirlpoolProgram, whirlpoolBytes(1)) }, subscription: 12_345 },
      }),
    );
    await until('published', () => tradesOf(started).length === 1);
    await until('counted', () => started.ingest.stats().notifications.unasked === 1);
    expect(started.ingest.stats().solUsd).toBeNull();
  });

  it('that send garbage are dropped and reported, and the others continue', async () => {
    const [source, other] = [await node(), await node()];
    const started = await ingestOf(source, other);
    await until('subscribed', () => started.ingest.stats().endpointsUp === 2);
    const garbage = [
      '',
      'null',
      '[]',
      '{',
      '42',
      '"text"',
      '{"jsonrpc":"2.0"}',
      '{"id":99,"result":5}',
      '{"id":"x","result":5}',
      '{"method":"slotNotification","params":{"result":{"slot":"high"}}}',
      '{"method":"logsNotification"}',
      '{"method":"programNotification","params":{"result":{"context":{"slot":1},"value":{"pubkey":5}}}}',
      '{"method":"nothingKnown","params":[]}',
      `{"method":"logsNotification","params":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
      logsFrame(signatureOf('half'), 5, buyLogs('half')).slice(0, 2_000),
      '{"__proto__":{"polluted":true},"method":"logsNotification"}',
    ];
    for (const frame of garbage) source.send(frame);
    for (const socket of source.subscriptions.keys() as Iterable<WebSocket>) socket.send(Buffer.from([0, 255, 3]), { binary: true });
    await until('dropped', () => started.lines.some(({ name }) => name === 'endpoint_dropped'));
    send(other, 'after');
    await until('published', () => tradesOf(started).length === 1);
    expect([source.connections, other.connections]).toEqual([1, 1]);
    const { endpoints } = started.ingest.stats();
    expect(endpoints.map(({ drops, faults }) => [drops, faults])).toEqual([
      [1, maxFaults],
      [0, 0],
    ]);
    expect('polluted' in {}).toBe(false);
    await until('logged', () => started.lines.some(({ name }) => name === 'malformed_frames'));
    expect(started.lines.filter(({ name }) => name === 'endpoint_dropped')).toHaveLength(1);
  });

  it('that send a giant frame lose the connection, and get a new one', async () => {
    const source = await node();
    const started = await ingestOf(source);
    await until('subscribed', up(started));
    source.send(Buffer.alloc(5 * 1024 * 1024, 'x'));
    await until('connected again', () => source.connections === 2);
    await until('up', up(started));
    send(source, 'after');
    await until('published', () => tradesOf(started).length === 1);
  });

  it('are not logged with their addresses, which may contain keys', async () => {
    const source = await node();
    await until('subscribed', up(await ingestOf(source)));
    source.cut();
    await until('connected again', () => source.connections === 2);
    expect(JSON.stringify(running[0]!.lines)).not.toContain(new URL(source.httpUrl).port);
  });

  it('are needed to lead: without any, another process publishes', async () => {
    const [a, b] = [await node(), await node()];
    const first = await ingestOf(a);
    await until('leading', () => first.ingest.stats().leads);
    const second = await ingestOn(first.bus, b);
    await until('subscribed', up(second));
    expect(second.ingest.stats().leads).toBe(false);
    await a.close();
    send(b, 'unseen by the first');
    await until('leading', () => second.ingest.stats().leads);
    send(b, 'after');
    await until('published', () => tradesOf(second).length === 2);
    expect(tradesOf(second)).toEqual(['unseen by the first', 'after'].map(tradeOf));
    expect(first.ingest.stats().leads).toBe(false);
  });

  it('are disconnected when ingest closes', async () => {
    const source = await node();
    const started = await ingestOf(source);
    await until('subscribed', up(started));
    send(source, 'last');
    await until('published', () => tradesOf(started).length === 1);
    await started.ingest.close();
    await until('closed', () => source.subscriptions.size === 0);
  });
});
