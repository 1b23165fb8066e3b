import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBus } from '@sluice/shared/bus/create.ts';
import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../contract/bus-harness.ts';
import { pumpIdl } from '../golden/anchor.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { goodKey, startTestGateway, until } from '../support/gateway.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { startRedis } from '../support/servers/redis.ts';

const startMs = 60_000;
const topic = `programs:${pumpIdl.address}`;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

it(
  'a program has every event of the chain once over a kill of ingest, and a gap for the accounts that nobody saw',
  { timeout: 180_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-restart-'));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'idl'));
    writeFileSync(join(folder, 'idl', `${pumpIdl.address}.json`), JSON.stringify(pumpIdl));
    const simnet = await startSimnet({ seed: 7, slotMs: 100, market: { tradesPerSecond: 20 } });
    cleanups.push(() => simnet.close());
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => bus.close());
    const gateway = await startTestGateway({ bus });
    cleanups.push(() => gateway.close());
    const client = await new StreamClient(`ws://${gateway.host}/api/data`, { authorization: `Bearer ${goodKey}` }).open();
    cleanups.push(() => client.close());
    await client.ask({ op: 'subscribe', channel: 'programs', programs: [pumpIdl.address] });
    await client.ask({ op: 'subscribe', channel: 'trades', filter: { pool: 'pump' }, commitment: 'confirmed' });
    const start = async (): Promise<RunningProgram> => {
      const env = { REDIS_URL: redis.url, SOLANA_RPC_URL: simnet.rpcUrl, IDL_DIR: join(folder, 'idl') };
      const ingest = runProgram('ingest/src/main.ts', { folder, env });
      cleanups.push(() => ingest.child.kill('SIGKILL'));
      await ingest.logged('ingest_leads', startMs);
      return ingest;
    };
    const gaps = (): { slots: { from: number; to: number } }[] =>
      client.messages.filter((message) => message.op === 'gap' && message.topic === topic) as never;
    const dataOf = (type: string) => client.frames(topic).flatMap(({ data }) => (data?.type === type ? [data] : []));

    const first = await start();
    await until('accounts and events', () => dataOf('programAccount').length > 20 && dataOf('programEvent').length > 40, startMs);
    const [seenFrom, killedAt] = [Number(dataOf('programEvent')[0]!['slot']) + 10, simnet.chain.slot];
    expect(gaps()).toEqual([]);
    first.child.kill('SIGKILL');
    await until('the chain goes on', () => simnet.chain.slot > killedAt + 30, startMs);
    const restartedAt = simnet.chain.slot;
    await start();
    await until('accounts after it', () => dataOf('programAccount').some(({ slot }) => Number(slot) > restartedAt + 20), startMs);
    simnet.chain.stop();

    // The venue's trades are complete over a kill. They come from other connections.
    const traded = () => client.frames('trades').flatMap(({ data }) => (Number(data!['slot']) >= seenFrom ? [`${data!.id}.event`] : []));
    await until(
      'trades of the last slots',
      () => client.frames('trades').some(({ data }) => Number(data!['slot']) > restartedAt + 10),
      startMs,
    );
    const ids = (): string[] => dataOf('programEvent').map(({ id }) => id);
    await until('every event', () => traded().every((id) => ids().includes(id)), 60_000);
    expect(traded().length).toBeGreaterThan(60);
    expect(new Set(ids()).size).toBe(ids().length);
    const seqs = client.frames(topic).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, at) => seqs[0]! + at));
    // The accounts of this time are the only hole, and it is reported.
    const between = Array.from({ length: restartedAt - killedAt }, (_, at) => killedAt + at);
    for (const slot of between)
      expect(
        gaps().some(({ slots: { from, to } }) => from <= slot && slot <= to),
        `slot ${slot}`,
      ).toBe(true);
  },
);
