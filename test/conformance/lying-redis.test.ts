import { createHash } from 'node:crypto';
import { RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import { sealedEvents } from '@sluice/gateway/stream/delivery/private-events.ts';
import { orderEvent } from '../../trading/src/model/order-object.ts';
import type { Bus, BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import {
  allTradesTopic,
  migrationsTopic,
  newTokensTopic,
  ordersTopic,
  pricesTopic,
  tradesTopic,
} from '@sluice/shared/wire/stream/topics.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, testSealKey, until, type TestGateway } from '../support/gateway.ts';
import { newOrder } from '../support/orders.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';
import { StreamClient } from '../support/clients/stream-client.ts';

const log = createLog({ level: 'silent', name: 'test' });
const [victim, thief] = ['sluice_lied_to_victim', 'sluice_lied_to_thief'];
const ticketPrefix = 'sluice:ticket:';
const hashOf = (ticket: string): string => createHash('sha256').update(ticket).digest('base64url');

/** An attacker who reads and writes Redis freely, but does not know the pepper. */
describe('a Redis that lies', () => {
  let redis: TestRedis;
  let bus: Bus;
  let publisher: BusPublisher;
  let server: TestGateway;
  const clients: StreamClient[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    bus = await createBus({ redisUrls: [redis.url], log });
    publisher = await bus.publisher();
    server = await startTestGateway({ bus, config: { redisUrls: [redis.url] } });
    for (const key of [victim, thief]) server.keys.add(key, { scopes: ['stream', 'trade'] });
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
  afterAll(async () => {
    await publisher.close();
    await server.close();
    await bus.close();
    await redis.stop();
  });

  const connect = (query: string): StreamClient => {
    const client = new StreamClient(`ws://${server.host}/api/data?${query}`);
    clients.push(client);
    return client;
  };
  const statusOf = async (ticket: string): Promise<number | 'opened'> => {
    const client = connect(`ticket=${ticket}`);
    return until('an outcome', () => client.refused?.status ?? (client.socket.readyState === 1 ? 'opened' : undefined));
  };
  const ticketOf = async (key: string): Promise<string> => {
    const answer = await fetch(`http://${server.host}/api/ws-ticket`, { method: 'POST', headers: { Authorization: `Bearer ${key}` } });
    return ((await answer.json()) as { ticket: string }).ticket;
  };
  const metricOf = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://${server.host}/metrics`)).text();
    return Number(new RegExp(`^sluice_gateway_${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  const refusedOf = (purpose: string): Promise<number> => metricOf(`records_refused_total\\{kind="${purpose}"\\}`);

  describe('about tickets', () => {
    /** The value in Redis under a ticket's name, as a bulk string of its protocol. */
    const recordOf = async (ticket: string): Promise<string> =>
      /^\$\d+\r\n([^]*)\r\n$/.exec(await redis.command('GET', ticketPrefix + hashOf(ticket)))![1]!;
    const write = (ticket: string, record: string): Promise<string> =>
      redis.command('SET', ticketPrefix + hashOf(ticket), record, 'PX', '30000');

    it('opens no stream with a record that no gateway wrote', async () => {
      const ticket = 'A'.repeat(43);
      const holder = { credential: `${victim}.1`, address: null, endsAtMs: Date.now() + 30_000 };
      const seal = new RecordSeal(new Uint8Array(32), systemClock).of(
        'ticket',
        hashOf(ticket),
        holder.endsAtMs,
        Buffer.from(JSON.stringify(holder)),
      );
      for (const before of ['', 'A'.repeat(43), seal.toString('base64url')]) {
        await write(ticket, before + JSON.stringify(holder));
        expect(await statusOf(ticket)).toBe(401);
      }
      for (const record of ['', '{}', 'null', 'A'.repeat(43), `${'A'.repeat(43)}{"endsAtMs":`, '{"endsAtMs":null}'.repeat(1_000)]) {
        await write(ticket, record);
        expect(await statusOf(ticket)).toBe(401);
      }
      expect(await refusedOf('ticket')).toBe(9);
    });

    it("gives no client the rights of another client's ticket", async () => {
      const [own, others] = [await ticketOf(thief), await ticketOf(victim)];
      const [ownRecord, othersRecord] = [await recordOf(own), await recordOf(others)];
      await write(own, othersRecord);
      expect(await statusOf(own)).toBe(401);
      await write(own, ownRecord.replace(thief, victim));
      expect(await statusOf(own)).toBe(401);
      expect(await statusOf(others)).toBe('opened');
    });

    it('cannot make a ticket work twice', async () => {
      const ticket = await ticketOf(victim);
      const record = await recordOf(ticket);
      expect(await statusOf(ticket)).toBe('opened');
      await write(ticket, record);
      expect(await statusOf(ticket)).toBe(401);
    });
  });

  it("about the usage of a key: the gateway admits at most the key's limit by itself", async () => {
    const [key, other] = ['sluice_lied_to_hungry', 'sluice_lied_to_modest'];
    for (const one of [key, other]) server.keys.add(one, { plan: { ...defaultPlans.standard, requestsPerMinute: 60, burst: 30 } });
    const ask = (one: string): Promise<Response> => fetch(`http://${server.host}/usage`, { headers: { Authorization: `Bearer ${one}` } });
    const beganMs = performance.now();
    const answers: Response[] = [];
    for (let i = 0; i < 80; i++) {
      // This gateway has never received a request with the key.
      await redis.command('DEL', `sluice:limit:key:${key}`);
      answers.push(await ask(key));
    }
    const admitted = answers.filter(({ status }) => status === 200).length;
    const rate = (performance.now() - beganMs) / 1_000;
    // A burst, what the rate allowed meanwhile, and one second's worth plus the one request by which Redis may be ahead.
    expect(admitted).toBeGreaterThanOrEqual(30);
    expect(admitted).toBeLessThanOrEqual(30 + 2 + Math.ceil(rate));
    const refused = answers.find(({ status }) => status !== 200)!;
    expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: 'RATE_LIMIT' } }]);
    expect((await ask(other)).status).toBe(200);
    const metrics = await (await fetch(`http://${server.host}/metrics`)).text();
    expect(metrics).toMatch(/sluice_gateway_limit_overruled_total [1-9]/);
  });

  it('about public events: an unreadable one stops no gateway, and the next one arrives', async () => {
    const mint = addressOf(77);
    const topic = tradesTopic(mint);
    const filtered = await connect(`api-key=${thief}`).open();
    const confirmed = await connect(`api-key=${thief}`).open();
    const dialect = await connect(`api-key=${thief}`).open();
    const buys = { op: 'subscribe', channel: 'trades', mints: [mint], filter: { side: 'buy' } };
    const reply = await filtered.ask(buys);
    const { seq: start, epoch } = (reply['positions'] as Record<string, { seq: number; epoch: string }>)[topic]!;
    await confirmed.ask({ op: 'subscribe', channel: 'trades', mints: [mint], commitment: 'confirmed' });
    dialect.send({ method: 'subscribeTokenTrade', keys: [mint] });
    await until('the acknowledgement', () => dialect.messages.length > 0 || undefined);
    const garbage = ['', '{', 'null', '7', '[]', '{}', '{"type":7}', '{"type":"trade"}', '{"type":"newToken"}', '{"type":"slots"}', '\0'];
    const topics = [[topic], ['~slots'], [newTokensTopic], [migrationsTopic], [pricesTopic(mint)], [allTradesTopic, topic]];
    const before = await metricOf('unreadable_entries_total');
    for (const text of garbage) {
      const bytes = Buffer.from(text);
      await publisher.publish(topics.map((one) => ({ topics: one, record: bytes })));
    }
    const good = tradeEvent(mint, { side: 'buy', commitment: 'confirmed' });
    await publisher.publish([entryOf(good)]);
    const last = start + 2 * garbage.length + 1;
    for (const client of [filtered, confirmed]) {
      const frame = await client.next('the trade', ({ data }) => (data as { id?: string } | undefined)?.id === good.id);
      expect(frame['seq']).toBe(last);
    }
    await dialect.next('the trade', ({ signature }) => signature === good.signature);
    expect(await metricOf('unreadable_entries_total')).toBeGreaterThan(before);
    // Resuming clients, and clients that request the newest event, receive it too.
    const later = await connect(`api-key=${thief}`).open();
    await later.ask({ ...buys, since: { epoch, seq: start } });
    expect((await later.framesTo(topic, 1)).map(({ seq }) => seq)).toEqual([last]);
  });

  describe("about a key's own orders", () => {
    const topic = ordersTopic(victim);
    const sealed = sealedEvents(new RecordSeal(testSealKey, systemClock));
    const encoded = () =>
      encodeEvent(orderEvent({ ...newOrder(Date.now(), { keyId: victim }), updatedAtMs: Date.now(), version: 1 }, Date.now() * 1000, true));
    const genuine = (to = topic): BusEntry => sealed.entry(to, encoded());
    const forged = (topics: readonly string[] = [topic]): BusEntry => ({ topics, record: encoded() });
    const aDayAgo = { wallMs: () => Date.now() - 25 * 3_600_000 };
    const old = (): BusEntry => sealedEvents(new RecordSeal(testSealKey, aDayAgo)).entry(topic, encoded());

    it.each(['json', 'msgpack'] as const)('sends no client an event that no gateway published, in %s', async (format) => {
      const client = await connect(`api-key=${victim}&format=${format}`).open();
      const stranger = await connect(`api-key=${thief}&format=${format}`).open();
      const reply = await client.ask({ op: 'subscribe', channel: 'orders' });
      const { seq: start, epoch } = (reply['positions'] as Record<string, { seq: number; epoch: string }>)[topic]!;
      await stranger.ask({ op: 'subscribe', channel: 'orders' });
      await stranger.ask({ op: 'subscribe', channel: 'trades' });
      const before = await refusedOf('private_event');
      const first = genuine();
      const { record } = first;
      const touched = {
        ...first,
        record: Buffer.from(Buffer.from(record).toString('latin1').replace('"version":1', '"version":9'), 'latin1'),
      };
      const lies: BusEntry[] = [
        forged(),
        touched,
        { ...first, record: record.subarray(0, -1) },
        { ...first, record: new Uint8Array(0) },
        // An event of the victim, sent under another key.
        { ...first, topics: [ordersTopic(thief)] },
        { ...first, topics: [topic, ordersTopic(thief)] },
        { ...first, topics: [allTradesTopic, topic] },
        old(),
      ];
      await publisher.publish([first, ...lies, genuine()]);
      const reached = start + 2 + lies.filter(({ topics }) => topics.includes(topic)).length;
      const frames = await client.framesTo(topic, 2);
      expect(frames.map(({ seq }) => seq)).toEqual([start + 1, reached]);
      expect(frames.map(({ data }) => data)).toEqual([first, first].map(() => expect.objectContaining({ type: 'order', version: 1 })));
      const gaps = client.messages.filter(({ op }) => op === 'gap');
      expect(gaps.every((gap) => gap['topic'] === topic && gap['reason'] === 'lost')).toBe(true);
      expect([gaps[0]?.['from'], gaps.at(-1)?.['to']]).toEqual([start + 2, reached - 1]);
      await stranger.ask({ op: 'ping' });
      expect(stranger.messages.filter((message) => message['data'] !== undefined)).toEqual([]);
      expect(await refusedOf('private_event')).toBe(before + lies.length);
      // None of it is in the history either.
      const later = await connect(`api-key=${victim}&format=${format}`).open();
      await later.ask({ op: 'subscribe', channel: 'orders', since: { epoch, seq: start } });
      expect((await later.framesTo(topic, 1)).map(({ seq }) => seq)).toEqual([reached]);
    });
  });
});
