import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { run, seqs, StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';

describe('a gateway whose Redis restarts without a loss', () => {
  it('reports the new epoch, in which the numbers continue, and accepts a position of the last one', async () => {
    const redis = await startRedis({ appendOnly: true });
    const bus = await createBus({ redisUrls: [redis.url], log: createLog({ level: 'silent', name: 'test' }) });
    const server = await startTestGateway({ bus, config: { redisUrls: [redis.url] } });
    try {
      const topic = tradesTopic(addressOf(1));
      const url = `ws://${server.host}/api/data?api-key=${goodKey}`;
      const subscription = { op: 'subscribe', channel: 'trades', mints: [addressOf(1)] };
      const publish = async (count: number): Promise<unknown> =>
        until('a publication', () =>
          server.publish(Array.from({ length: count }, () => entryOf(tradeEvent(addressOf(1))))).then(
            () => true,
            () => false,
          ),
        );
      const client = await new StreamClient(url).open();
      const { epoch } = (await client.ask(subscription)).positions![topic]!;
      await publish(3);
      await client.framesTo(topic, 3);
      const quicker = await new StreamClient(url).open();
      expect((await quicker.ask({ ...subscription, since: { epoch, seq: 5 } })).positions![topic]).toMatchObject({
        seq: 5,
        recovered: true,
      });
      await redis.kill();
      await redis.restart();
      const gap = await client.next('the gap', ({ op }) => op === 'gap');
      expect(gap).toMatchObject({ topic, from: 4, to: 3, reason: 'epoch' });
      expect(gap['epoch']).not.toBe(epoch);
      await publish(2);
      expect(seqs(await client.framesTo(topic, 5))).toEqual(run(1, 5));
      // It is not known what a client with a later position received in the last epoch.
      expect(await quicker.next('the gap', ({ op }) => op === 'gap')).toMatchObject({ topic, from: 6, to: null, reason: 'epoch' });
      expect(seqs(await quicker.framesTo(topic, 2))).toEqual(run(4, 5));
      const late = await new StreamClient(url).open();
      const reply = await late.ask({ ...subscription, since: { epoch, seq: 2 } });
      expect(reply.positions![topic]).toEqual({ epoch: gap['epoch'], seq: 2, recovered: true });
      expect(seqs(await late.framesTo(topic, 3))).toEqual(run(3, 5));
      // The last epoch ended at three.
      const ahead = await new StreamClient(url).open();
      expect((await ahead.ask({ ...subscription, since: { epoch, seq: 4 } })).positions![topic]).toMatchObject({
        seq: 3,
        recovered: false,
      });
      expect(await ahead.next('the gap', ({ op }) => op === 'gap')).toMatchObject({ from: 5, to: null, reason: 'epoch' });
      expect(seqs(await ahead.framesTo(topic, 2))).toEqual(run(4, 5));
    } finally {
      await server.close();
      await bus.close();
      await redis.stop();
    }
  });
});

describe('a gateway that loses the link to Redis', () => {
  let redis: TestRedis;
  let bus: Bus;
  let server: TestGateway;
  beforeAll(async () => {
    redis = await startRedis();
    bus = await createBus({ redisUrls: [redis.url], log: createLog({ level: 'silent', name: 'test' }) });
    server = await startTestGateway({ bus, config: { redisUrls: [redis.url] } });
  });
  afterAll(async () => {
    await server.close();
    await bus.close();
    await redis.stop();
  });

  it('is not ready meanwhile, leaves its sockets open, and reports what was lost', async () => {
    const ready = async (): Promise<number> => (await fetch(`http://${server.host}/readyz?exclude=ingest`)).status;
    const topic = tradesTopic(addressOf(1));
    const entries = (count: number) => Array.from({ length: count }, () => entryOf(tradeEvent(addressOf(1))));
    const plain = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`).open();
    const batched = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}&batch=1&format=msgpack`).open();
    for (const client of [plain, batched]) await client.ask({ op: 'subscribe', channel: 'trades', mints: [addressOf(1)] });
    await server.publish(entries(3));
    for (const client of [plain, batched]) expect(seqs(await client.framesTo(topic, 3))).toEqual(run(1, 3));
    expect(await ready()).toBe(200);

    await redis.kill();
    await until('it to be unready', async () => (await ready()) === 503);
    const answer = (await (await fetch(`http://${server.host}/readyz`)).json()) as { error: { code: string } };
    expect(answer.error).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      details: { parts: { bus: { ok: false, reason: expect.stringContaining('link') } } },
    });
    expect(await plain.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });

    await redis.restart();
    await until('it to be ready', async () => (await ready()) === 200);
    await until('a publication', async () => {
      const published = await server.publish(entries(1)).then(
        () => true,
        () => false,
      );
      return published;
    });
    for (const client of [plain, batched]) {
      const gap = await client.next('the gap', ({ op }) => op === 'gap');
      expect(gap).toMatchObject({ topic, from: 4, to: null, reason: 'epoch' });
      const [frame] = (await client.framesTo(topic, 4)).slice(3);
      expect(frame!.seq).toBe(1);
      expect(client.messages.indexOf(gap)).toBeLessThan(client.messages.indexOf(frame!));
      expect(client.closed).toBeNull();
    }
    const before = plain.messages.find(({ op }) => op === 'subscribed')!.positions![topic]!;
    const late = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`).open();
    const reply = await late.ask({ op: 'subscribe', channel: 'trades', mints: [addressOf(1)], since: { epoch: before.epoch, seq: 3 } });
    expect(reply.positions![topic]).toMatchObject({ seq: 0, recovered: false });
    expect(reply.positions![topic]!.epoch).not.toBe(before.epoch);
    expect(seqs(await late.framesTo(topic, 1))).toEqual([1]);
  }, 30_000);
});
