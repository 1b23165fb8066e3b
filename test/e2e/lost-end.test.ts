import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectRedisBus } from '@sluice/shared/bus/redis/redis-bus.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { fileOf } from '../contract/lost-end.ts';
import { sluice, startProgram } from '../support/command-line.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';
import { run, seqs, StreamClient } from '../support/clients/stream-client.ts';

const topic = 'trades';

describe('a gateway that is disconnected while Redis loses the end of its log and receives new entries', () => {
  let folder: string;
  let redis: TestRedis;
  let key: string;
  const cleanups: (() => unknown)[] = [];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-lost-end-'));
    redis = await startRedis({ appendOnly: true });
    const created = await sluice(['keys', 'create', '--plan', 'premium', '--json'], { folder });
    key = (JSON.parse(created.stdout) as { readonly key: string }).key;
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startGateway(): Promise<{ readonly child: ChildProcess; readonly client: StreamClient }> {
    const child = startProgram('cli/gateway.ts', [], { folder, env: { REDIS_URL: redis.url, PORT: '0' } });
    cleanups.push(() => child.kill('SIGKILL'));
    const url = await new Promise<string>((resolve, reject) => {
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          const found = /"url":"([^"]+)","msg":"listening"/.exec(output)?.[1];
          if (found !== undefined) resolve(found);
        });
      }
      child.on('close', (code) => reject(new Error(`the gateway ended with ${code}: ${output}`)));
    });
    const client = await new StreamClient(`${url.replace('http', 'ws')}/api/data`, { authorization: `Bearer ${key}` }).open();
    cleanups.push(() => client.close());
    return { child, client };
  }

  async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Publishes with a new publisher, which does not know the earlier entries. */
  async function publish(count: number): Promise<void> {
    const bus = await connectRedisBus([redis.url], silentLog);
    await (await bus.publisher()).publish(Array.from({ length: count }, () => entryOf(tradeEvent(addressOf(1)))));
    await bus.close();
  }

  /** A client receives ten events, and its gateway ends. */
  async function receiveTen(
    signal: NodeJS.Signals,
  ): Promise<{ readonly since: { epoch: string; seq: number }; readonly sizeAtFive: number }> {
    const { child, client } = await startGateway();
    const { positions } = await client.ask({ op: 'subscribe', channel: topic });
    await publish(5);
    const { size } = await fileOf(redis);
    await publish(5);
    expect(seqs(await client.framesTo(topic, 10))).toEqual(run(1, 10));
    await end(child, signal);
    return { since: { epoch: positions![topic]!.epoch, seq: 10 }, sizeAtFive: size };
  }

  async function restartRedis(cutTo: number | null): Promise<void> {
    const file = await fileOf(redis);
    await redis.kill();
    if (cutTo !== null) file.cutTo(cutTo);
    await redis.restart();
  }

  async function resume(since: { epoch: string; seq: number }, recovered: boolean): Promise<StreamClient> {
    const { client } = await startGateway();
    const { positions } = await client.ask({ op: 'subscribe', channel: topic, since });
    expect(positions![topic]!.recovered).toBe(recovered);
    return client;
  }

  it.each(['SIGTERM', 'SIGKILL'] as const)('reports the loss to its clients after %s', async (signal) => {
    const { since, sizeAtFive } = await receiveTen(signal);
    await restartRedis(sizeAtFive);
    await publish(20);
    const client = await resume(since, false);
    expect(await client.next('the gap', ({ op }) => op === 'gap')).toMatchObject({ topic, from: 11, to: null, reason: 'epoch' });
    // Frames 6 to 10 were lost and replaced, so they are sent again.
    expect(seqs(await client.framesTo(topic, 20))).toEqual(run(6, 25));
  });

  it('continues if the log has everything that the gateway has sent', async () => {
    const { since } = await receiveTen('SIGTERM');
    await restartRedis(null);
    await publish(3);
    const first = await resume(since, true);
    expect(seqs(await first.framesTo(topic, 3))).toEqual(run(11, 13));
  });

  it('continues after it was killed, if Redis was running', async () => {
    const { since } = await receiveTen('SIGKILL');
    await publish(3);
    const client = await resume(since, true);
    expect(seqs(await client.framesTo(topic, 3))).toEqual(run(11, 13));
  });
});
