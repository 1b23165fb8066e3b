import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readWatermark } from '../../ingest/src/continuity/watermark.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { decodedVenueNames } from '@sluice/shared/wire/venues.ts';
import { record, type Recorder } from '../contract/bus-recorder.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { goodKey, startTestGateway, until } from '../support/gateway.ts';
import { eventsOnChain, eventKinds } from '../support/events/chain-events.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { run, seqs, StreamClient, type Message } from '../support/clients/stream-client.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';

/** From SIGKILL of the leader to its successor: 1.5 to 2 s on an idle machine, and five times as long on a slow or busy one. */
const takeoverMs = 10_000;
const pausedMs = 3_000;
/** The number of trades that the test waits for before and after each change. */
const someTrades = 80;
const waitMs = 60_000;
/** Time for a process to start or some trades to arrive, on a busy machine. */
const startMs = 120_000;
const topics = { trade: 'trades', newToken: 'newTokens', migration: 'migrations' } as const;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Ids of the events of a kind up to a slot that were published and not retracted. An event that was published twice appears twice. */
function validIn(frames: readonly Message[], kind: string, upTo: number): string[] {
  const ids: string[] = [];
  for (const { data } of frames) {
    if (data?.type === kind && Number(data['slot']) <= upTo) ids.push(data.id);
    else if (data?.type === 'retract' && ids.includes(data.id)) ids.splice(ids.lastIndexOf(data.id), 1);
  }
  return ids;
}

/** Ids that one list has more often than the other. */
function differences(one: readonly string[], other: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const id of one) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const id of other) counts.set(id, (counts.get(id) ?? 0) - 1);
  return [...counts].flatMap(([id, count]) => (count === 0 ? [] : [id]));
}

const logged = ({ log }: RunningProgram, name: string): number => log.filter(({ msg }) => msg === name).length;

describe('two ingest processes on one Redis', () => {
  let simnet: Simnet;
  let redis: TestRedis;
  let client: StreamClient;
  let recorder: Recorder;
  let folder: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-takeover-'));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    simnet = await startSimnet({ seed: 5, slotMs: 100, autoStart: false, market: { tradesPerSecond: 40, completeEverySeconds: 8 } });
    cleanups.push(() => simnet.close());
    redis = await startRedis();
    cleanups.push(() => redis.stop());
    const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => bus.close());
    recorder = await record(await bus.subscriber());
    const gateway = await startTestGateway({ bus });
    cleanups.push(() => gateway.close());
    client = await new StreamClient(`ws://${gateway.host}/api/data`, { authorization: `Bearer ${goodKey}` }).open();
    cleanups.push(() => client.close());
    for (const channel of Object.values(topics)) await client.ask({ op: 'subscribe', channel });
  });

  function startIngest(): RunningProgram {
    const env = { REDIS_URL: redis.url, SOLANA_RPC_URL: simnet.rpcUrl };
    const ingest = runProgram('ingest/src/main.ts', { folder, env });
    cleanups.push(() => {
      ingest.child.kill('SIGCONT');
      ingest.child.kill('SIGKILL');
    });
    return ingest;
  }

  /** A leader and a standby process, both working. */
  async function startTwo(): Promise<readonly [RunningProgram, RunningProgram]> {
    const leader = startIngest();
    await leader.logged('ingest_leads', startMs);
    const standby = startIngest();
    await standby.logged('ingest_standby', startMs);
    await until('both to subscribe', () => simnet.subscriptions('logs') === 2 * decodedVenueNames.length, startMs);
    simnet.chain.start();
    await moreTrades();
    return [leader, standby];
  }

  function moreTrades(): Promise<unknown> {
    return client.framesTo('trades', client.frames('trades').length + someTrades, startMs);
  }

  /** Stops the chain. Then the client must have every event that happened on it, once and without a gap. */
  async function expectWhole(): Promise<void> {
    simnet.chain.stop();
    // Without settings, ingest takes the whole transactions that the node offers.
    const all = eventsOnChain(simnet, true);
    expect(all.length).toBeGreaterThan(2 * someTrades);
    for (const kind of eventKinds) {
      const expected = all.filter((event) => event.kind === kind).map(({ id }) => id);
      const events = (): readonly string[] => client.frames(topics[kind]).flatMap(({ data }) => (data?.type === kind ? [data.id] : []));
      await until(`all of ${kind}`, () => events().length >= expected.length);
      expect(events().toSorted()).toEqual(expected.toSorted());
      const frames = client.frames(topics[kind]);
      expect(seqs(frames)).toEqual(run(1, frames.length));
    }
    const ids = recorder.entries.flatMap((entry) => eventsOfEntry(entry).map(({ id }) => id));
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect([recorder.faults, recorder.lost]).toEqual([[], []]);
  }

  it('publish each event once, by one of them; lose nothing when it is killed, and continue soon', { timeout: 90_000 }, async () => {
    const [leader, standby] = await startTwo();
    await moreTrades();
    expect([logged(leader, 'ingest_leads'), logged(standby, 'ingest_leads')]).toEqual([1, 0]);
    const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => bus.close());
    await until('their statuses', async () => {
      const ingests = (await bus.statuses()).filter(({ name }) => name.startsWith('ingest:'));
      const leads = ingests.map(({ value }) => value['leads']);
      return leads.length === 2 && leads.includes(true) && leads.includes(false);
    });
    const killedAtMs = performance.now();
    leader.child.kill('SIGKILL');
    await standby.logged('ingest_leads');
    expect(performance.now() - killedAtMs).toBeLessThan(takeoverMs);
    await moreTrades();
    await expectWhole();
  });

  it('lose and repeat nothing while the leader is killed, forks die and logs are dropped', { timeout: 240_000 }, async () => {
    const url = client.socket.url;
    const sure = await new StreamClient(url, { authorization: `Bearer ${goodKey}` }).open();
    cleanups.push(() => sure.close());
    for (const channel of Object.values(topics)) await sure.ask({ op: 'subscribe', channel, commitment: 'confirmed' });
    const [leader, standby] = await startTwo();
    simnet.control.drop({ share: 0.1, kinds: ['logs'] });
    const forking = setInterval(() => simnet.chain.fork(1 + (simnet.chain.slot % 2), { replay: simnet.chain.slot % 3 > 0 }), 700);
    cleanups.push(() => clearInterval(forking));
    await moreTrades();
    leader.child.kill('SIGKILL');
    await standby.logged('ingest_leads');
    await moreTrades();
    const third = startIngest();
    await third.logged('ingest_standby', startMs);
    standby.child.kill('SIGKILL');
    await third.logged('ingest_leads');
    await moreTrades();
    clearInterval(forking);
    simnet.control.clear();
    const upTo = simnet.chain.slot;
    await until('the last fork is decided', () => simnet.chain.confirmedSlot > upTo, startMs);
    const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => bus.close());
    // Until then a dead trade may not be retracted yet, and a dropped one not filled. On a busy machine that takes a while.
    const watermark = (): Promise<number | null> =>
      readWatermark(bus, simnet.chain.genesisHash).catch((error: unknown) => {
        // This process was stalled for so long that its own link to Redis was cut. It is connected again.
        if (error instanceof BusError) return null;
        throw error;
      });
    await until('the log is complete up to there', async () => ((await watermark()) ?? 0) >= upTo, startMs);
    const events = eventsOnChain(simnet);
    expect(events.length).toBeGreaterThan(someTrades);
    for (const kind of eventKinds) {
      const expected = events.filter((event) => event.kind === kind && event.slot <= upTo).map(({ id }) => id);
      for (const [reader, of] of [
        [client, 'processed'],
        [sure, 'confirmed'],
      ] as const) {
        const differing = (): string[] => differences(validIn(reader.frames(topics[kind]), kind, upTo), expected);
        await until(`all of ${kind} at ${of}`, () => differing().length === 0, waitMs).catch(() => undefined);
        const gaps = reader.messages.filter(({ op }) => op === 'gap');
        expect({ kind, of, gaps, differing: differing() }).toEqual({ kind, of, gaps: [], differing: [] });
      }
      const frames = client.frames(topics[kind]);
      expect(seqs(frames)).toEqual(run(1, frames.length));
      // Each frame names the previous one, so nothing is missing between them.
      const prevs = sure.frames(topics[kind]).map(({ prev }) => prev);
      expect(prevs.slice(1)).toEqual(seqs(sure.frames(topics[kind])).slice(0, -1));
    }
    const taken = Object.values(topics).flatMap((topic) => client.frames(topic).filter(({ data }) => data?.type === 'retract'));
    expect(taken.length).toBeGreaterThan(5);
    expect(sure.messages.filter(({ data }) => data?.type === 'retract')).toEqual([]);
    expect([recorder.faults, recorder.lost]).toEqual([[], []]);
  });

  it('lose and repeat nothing when the leader ends, and continue at once', async () => {
    const [leader, standby] = await startTwo();
    const ended = leader.stop();
    await standby.logged('ingest_leads');
    expect(await ended).toBe(0);
    await moreTrades();
    await expectWhole();
  });

  it('lose and repeat nothing when the leader is suspended, resumes, and leads again', async () => {
    const [first, second] = await startTwo();
    const pausedAtMs = performance.now();
    first.child.kill('SIGSTOP');
    await second.logged('ingest_leads');
    await moreTrades();
    await until('the pause', () => performance.now() - pausedAtMs >= pausedMs);
    first.child.kill('SIGCONT');
    await first.logged('ingest_lost_lead');
    await first.logged('ingest_standby');
    await moreTrades();
    // Its connection may have been dropped during the pause.
    await until('both see the chain', () => simnet.subscriptions('logs') === 2 * decodedVenueNames.length, waitMs);
    await moreTrades();
    second.child.kill('SIGKILL');
    await until('the first leads again', () => logged(first, 'ingest_leads') === 2);
    await moreTrades();
    await expectWhole();
  });
});
