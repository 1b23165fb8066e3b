import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { pack } from 'msgpackr';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standardMemory } from '@sluice/shared/config/memory-bounds.ts';
import { tradesTopic, pricesTopic, accountTradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { eventSchemas } from '@sluice/shared/wire/events/events.ts';
import { EventFrame, noticeSchemas, replySchemas } from '@sluice/shared/wire/stream/replies.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { fastClock } from '../support/clocks.ts';
import { goodKey, goodKeyId, scopelessKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { run, seqs, StreamClient, type Message } from '../support/clients/stream-client.ts';
import { usdcMint } from '@sluice/shared/solana/well-known.ts';
import { addressOf, entryOf, migrationEvent, newTokenEvent, priceEvent, tradeEvent } from '../support/events/stream-events.ts';
import { transports } from '../support/transports.ts';

const replyValidators = Object.fromEntries(
  Object.entries({ ...replySchemas, ...noticeSchemas }).map(([op, schema]) => [op, validator(schema)]),
);
const validateFrame = validator(EventFrame);
const eventValidators = Object.fromEntries(Object.entries(eventSchemas).map(([type, schema]) => [type, validator(schema)]));

/** Checks that every message a client received is valid by its schema. */
function expectDocumented(client: StreamClient): void {
  for (const message of client.messages) {
    const outcome = message.op === undefined ? validateFrame(message) : replyValidators[message.op]!(message);
    expect(outcome, JSON.stringify(message)).toMatchObject({ ok: true });
    if (message.data !== undefined) expect(eventValidators[message.data.type]!(message.data)).toMatchObject({ ok: true });
  }
}

/** The clock of `fastGateway` is this many times faster, so that its time limits pass sooner. */
const speedup = 10;

let nextAddress = 1_000_000;
/** An address that no other test uses. */
const fresh = (): string => addressOf(nextAddress++);

describe.each(transports)('the stream over %s', (transport) => {
  let server: TestGateway;
  let fastGateway: TestGateway;
  const clients: StreamClient[] = [];
  beforeAll(async () => {
    server = await startTestGateway({ transport });
    fastGateway = await startTestGateway({ transport, clock: fastClock(speedup) });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server.close();
    await fastGateway.close();
  });

  function connect(query = `?api-key=${goodKey}`, headers: Record<string, string> = {}, { host } = server): StreamClient {
    const client = new StreamClient(`ws://${host}/api/data${query}`, headers);
    clients.push(client);
    return client;
  }
  const opened = (query?: string, gateway = server): Promise<StreamClient> => connect(query, {}, gateway).open();
  const openedFast = (): Promise<StreamClient> => opened(undefined, fastGateway);
  const trades = (mint: string, count: number) => Array.from({ length: count }, () => entryOf(tradeEvent(mint)));

  it('runs on the transport under test', () => {
    expect(server.gateway.transport).toBe(transport);
  });

  describe('authentication', () => {
    it.each([
      ['/api/data', { Authorization: `Bearer ${goodKey}` }],
      ['/data', { Authorization: `Bearer ${goodKey}` }],
      ['/api/data', { Authorization: `Basic ${Buffer.from(`${goodKey}:`).toString('base64')}` }],
      ['/api/data', { 'X-API-Key': goodKey }],
    ])('accepts the key from a header, at %s', async (path, headers) => {
      const client = new StreamClient(`ws://${server.host}${path}`, headers);
      clients.push(client);
      await client.open();
      expect(await client.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
    });

    it.each([
      ['a wrong key in the query', '?api-key=sluice_nobody_x', {}, 401, 'UNAUTHENTICATED'],
      ['a wrong key in the header', '', { Authorization: 'Bearer sluice_nobody_x' }, 401, 'UNAUTHENTICATED'],
      ['another scheme', '', { Authorization: 'Basic c2x1aWNl' }, 401, 'UNAUTHENTICATED'],
      ['an empty key', '?api-key=', {}, 401, 'UNAUTHENTICATED'],
      ['a key without the scope', `?api-key=${scopelessKey}`, {}, 403, 'FORBIDDEN'],
      ['a ticket', `?ticket=abc`, {}, 401, 'UNAUTHENTICATED'],
      ['a ticket and a key', `?api-key=${goodKey}&ticket=abc`, {}, 401, 'UNAUTHENTICATED'],
      ['a misspelt api-key', `?apiKey=${goodKey}`, {}, 401, 'UNAUTHENTICATED'],
      ['a URL too long', `?api-key=${goodKey}&x=${'y'.repeat(8_200)}`, {}, 400, 'INVALID_REQUEST'],
      ['an unknown format', `?api-key=${goodKey}&format=xml`, {}, 400, 'INVALID_REQUEST'],
      ['an unknown batch', `?api-key=${goodKey}&batch=yes`, {}, 400, 'INVALID_REQUEST'],
    ] as const)('refuses %s with plain HTTP', async (_what, query, headers, status, code) => {
      const client = connect(query, headers);
      const refused = await until('the refusal', () => client.refused ?? undefined);
      expect(refused.status).toBe(status);
      expect(refused.body.error.code).toBe(code);
      expect(refused.headers['x-request-id']).toBe(refused.body.requestId);
      expect(refused.headers['x-api-version']).toMatch(/^\d+\.\d+\.\d+$/);
    });

    it('sends the common headers with the upgrade', async () => {
      const socket = new WebSocket(`ws://${server.host}/api/data?api-key=${goodKey}`, { headers: { 'X-Request-Id': 'trace-0123456789' } });
      const upgrade = await new Promise<IncomingMessage>((resolve) => socket.once('upgrade', resolve));
      expect(upgrade.headers['x-request-id']).toBe('trace-0123456789');
      expect(upgrade.headers['x-api-version']).toMatch(/^\d+\.\d+\.\d+$/);
      socket.terminate();
    });

    it('accepts the key from the first message', async () => {
      const client = await opened('');
      expect(await client.ask({ op: 'subscribe', channel: 'newTokens' })).toMatchObject({
        op: 'error',
        error: { code: 'UNAUTHENTICATED' },
      });
      expect(await client.ask({ op: 'auth', key: goodKey })).toMatchObject({
        op: 'authenticated',
        keyId: goodKeyId,
        plan: 'enterprise',
        scopes: ['stream'],
      });
      expect(await client.ask({ op: 'subscribe', channel: 'newTokens' })).toMatchObject({ op: 'subscribed' });
      expect(await client.ask({ op: 'auth', key: goodKey })).toMatchObject({ op: 'authenticated' });
      expect(await client.ask({ op: 'auth', key: 'sluice_nobody_x' })).toMatchObject({ op: 'error', error: { code: 'UNAUTHENTICATED' } });
      expect(client.closed).toBeNull();
      expectDocumented(client);
    });

    it('replies to a wrong first key and closes with 4501, or with 4503 for a key without the scope', async () => {
      const wrong = await opened('');
      expect(await wrong.ask({ op: 'auth', key: 'sluice_nobody_x' })).toMatchObject({ op: 'error', error: { code: 'UNAUTHENTICATED' } });
      expect((await wrong.end()).code).toBe(4501);
      const scopeless = await opened('');
      expect(await scopeless.ask({ op: 'auth', key: scopelessKey })).toMatchObject({ op: 'error', error: { code: 'FORBIDDEN' } });
      expect((await scopeless.end()).code).toBe(4503);
    });

    it('closes a client that does not authenticate within 5 s with 4501', async () => {
      const startedMs = performance.now();
      const client = await opened('', fastGateway);
      expect((await client.end()).code).toBe(4501);
      expect(performance.now() - startedMs).toBeGreaterThan(4_900 / speedup);
    });

    it('closes the sockets of a revoked key, and no others', async () => {
      server.keys.add('sluice_short_lived');
      const doomed = await opened('?api-key=sluice_short_lived');
      const other = await opened();
      server.keys.revoke('sluice_short_lived');
      expect(await doomed.end()).toEqual({ code: 4501, reason: 'key revoked' });
      server.keys.add('sluice_short_lived');
      const expired = await opened('?api-key=sluice_short_lived');
      server.keys.revoke('sluice_short_lived', 'expired');
      expect(await expired.end()).toEqual({ code: 4501, reason: 'key expired' });
      expect(await other.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
    });
  });

  describe('commands', () => {
    it('subscribes to every channel and sends its events', async () => {
      const client = await opened();
      const [mint, trader] = [fresh(), fresh()];
      for (const command of [
        { channel: 'newTokens' },
        { channel: 'migrations' },
        { channel: 'trades' },
        { channel: 'trades', mints: [mint], accounts: [trader] },
        { channel: 'prices', mints: [mint] },
      ]) {
        expect(await client.ask({ op: 'subscribe', ...command })).toMatchObject({
          op: 'subscribed',
          channel: command.channel,
          rejected: [],
        });
      }
      const events = [newTokenEvent(mint), tradeEvent(mint, { trader }), priceEvent(mint), migrationEvent(mint)];
      await server.publish(events.map((event) => entryOf(event)));
      for (const topic of ['newTokens', 'migrations', 'trades', tradesTopic(mint), accountTradesTopic(trader), pricesTopic(mint)]) {
        await client.framesTo(topic, 1);
      }
      expect(client.frames('newTokens').at(-1)!.data).toEqual(events[0]);
      expect(client.frames(tradesTopic(mint))).toEqual([{ topic: tradesTopic(mint), seq: 1, data: events[1] }]);
      expect(client.frames(accountTradesTopic(trader))).toEqual([{ topic: accountTradesTopic(trader), seq: 1, data: events[1] }]);
      expect(client.frames(pricesTopic(mint))).toEqual([{ topic: pricesTopic(mint), seq: 1, data: events[2] }]);
      expectDocumented(client);
    });

    it('reports each key once, as accepted or rejected', async () => {
      const client = await opened();
      const [mint, account] = [fresh(), fresh()];
      const reply = await client.ask({
        op: 'subscribe',
        channel: 'trades',
        mints: [mint, 'nonsense', mint, '0OIl'],
        accounts: [account, 'me'],
      });
      expect(reply.accepted).toEqual([mint, account]);
      expect(reply.rejected).toEqual([
        { key: 'nonsense', code: 'INVALID_MINT' },
        { key: '0OIl', code: 'INVALID_MINT' },
        { key: 'me', code: 'INVALID_REQUEST' },
      ]);
      expect(Object.keys(reply.positions!)).toEqual([tradesTopic(mint), accountTradesTopic(account)]);
      expectDocumented(client);
    });

    it('adds keys, leaves a repeated key as it is, and removes one key or all', async () => {
      const client = await opened();
      const [a, b] = [fresh(), fresh()];
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [a] });
      await server.publish(trades(a, 2));
      const again = await client.ask({ op: 'subscribe', channel: 'trades', mints: [a, b] });
      expect(again.positions![tradesTopic(a)]).toMatchObject({ seq: 2 });
      await server.publish([...trades(a, 1), ...trades(b, 1)]);
      expect(seqs(await client.framesTo(tradesTopic(a), 3))).toEqual([1, 2, 3]);
      const off = await client.ask({ op: 'unsubscribe', channel: 'trades', mints: [a] });
      expect(off).toMatchObject({
        op: 'unsubscribed',
        channel: 'trades',
        removed: [tradesTopic(a)],
        positions: { [tradesTopic(a)]: { seq: 3 } },
      });
      await server.publish([...trades(a, 1), ...trades(b, 1)]);
      expect(seqs(await client.framesTo(tradesTopic(b), 2))).toEqual([1, 2]);
      expect(client.frames(tradesTopic(a))).toHaveLength(3);
      await client.ask({ op: 'subscribe', channel: 'prices', mints: [a] });
      expect((await client.ask({ op: 'unsubscribe', channel: 'trades' })).removed).toEqual([tradesTopic(b)]);
      expect((await client.ask({ op: 'unsubscribe', channel: 'trades' })).removed).toEqual([]);
      expect((await client.ask({ op: 'list' }))['subscriptions']).toEqual([
        { channel: 'prices', all: false, mints: [a], accounts: [], programs: [], filter: null },
      ]);
      expectDocumented(client);
    });

    it('lists by channel and filter', async () => {
      const client = await opened();
      const [a, b] = [fresh(), fresh()];
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [a], filter: { minSol: 1 } });
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [b] });
      await client.ask({ op: 'subscribe', channel: 'trades' });
      expect((await client.ask({ op: 'list' }))['subscriptions']).toEqual([
        { channel: 'trades', all: false, mints: [a], accounts: [], programs: [], filter: { minSol: 1 } },
        { channel: 'trades', all: true, mints: [b], accounts: [], programs: [], filter: null },
      ]);
    });

    it('lists in several pages what does not fit into one', async () => {
      const client = await opened();
      const mints = Array.from({ length: 2_500 }, fresh);
      await client.ask({ op: 'subscribe', channel: 'prices', mints });
      const listed: string[] = [];
      let after: unknown;
      for (const size of Array.from({ length: 5 }, () => streamLimits.listTopics)) {
        const page = await client.ask({ op: 'list', ...(after === undefined ? {} : { after }) });
        const [entry] = page['subscriptions'] as { mints: string[] }[];
        expect(entry!.mints).toHaveLength(size);
        expect(page['total']).toBe(2_500);
        listed.push(...entry!.mints);
        after = page['next'];
      }
      expect(after).toBeNull();
      expect(listed).toEqual(mints);
      expect(await client.ask({ op: 'list', after: pricesTopic(fresh()) })).toMatchObject({
        op: 'error',
        error: { code: 'INVALID_REQUEST', details: { fields: { after: 'not followed' } } },
      });
      expectDocumented(client);
    });

    it('sends the newest event of a topic as a snapshot', async () => {
      const mint = fresh();
      const quiet = fresh();
      const big = tradeEvent(mint, { solAmount: 50 });
      await server.publish([entryOf(big), ...trades(mint, 3)]);
      const client = await opened();
      const plain = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint, quiet], snapshot: true });
      expect(plain.snapshot).toMatchObject([{ topic: tradesTopic(mint), seq: 4, data: { type: 'trade', mint } }]);
      const filtered = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], filter: { minSol: 49 }, snapshot: true });
      expect(filtered.snapshot).toMatchObject([{ seq: 1, data: { id: big.id } }]);
      expect(client.frames(tradesTopic(mint))).toEqual([]);
      expectDocumented(client);
    });

    it('begins with the last frames of each topic, as far as they are retained, without a gap', async () => {
      const [mint, quiet] = [fresh(), fresh()];
      const big = tradeEvent(mint, { solAmount: 50 });
      await server.publish([...trades(mint, 4), entryOf(big), ...trades(mint, 1)]);
      const client = await opened();
      const topic = tradesTopic(mint);
      const reply = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint, quiet], last: 3 });
      expect(reply.positions).toMatchObject({
        [topic]: { seq: 3, recovered: false, newest: 6 },
        [tradesTopic(quiet)]: { seq: 0, recovered: false, newest: 0 },
      });
      await server.publish(trades(mint, 1));
      await until('the past and the live event', () => client.frames(topic).length === 4);
      expect(seqs(client.frames(topic))).toEqual([4, 5, 6, 7]);
      const all = await opened();
      expect((await all.ask({ op: 'subscribe', channel: 'trades', mints: [mint], last: 10_000 })).positions).toMatchObject({
        [topic]: { seq: 0 },
      });
      // A position counts more, and under a filter the frames are counted before it.
      const { epoch } = reply.positions![topic]!;
      const since = { [topic]: { epoch, seq: 6 } };
      const resumed = await all.ask({ op: 'subscribe', channel: 'trades', mints: [mint], last: 3, since });
      expect(resumed.positions).toEqual({ [topic]: { epoch, seq: 6, recovered: true } });
      const filtered = await opened();
      await filtered.ask({ op: 'subscribe', channel: 'trades', mints: [mint], filter: { minSol: 49 }, last: 3 });
      await until('the event that passes', () => filtered.frames(topic).length === 1);
      expect(filtered.frames(topic)).toMatchObject([{ seq: 5, prev: 4, data: { id: big.id } }]);
      for (const one of [client, all, filtered]) {
        expect(one.messages.filter(({ op }) => op === 'gap')).toEqual([]);
        expectDocumented(one);
      }
    });

    it('begins with the retained ones of the last frames, without a gap', async () => {
      const history = { maxEntries: 100, maxBytes: 1 };
      const small = await startTestGateway({ transport, config: { memory: { ...standardMemory, history } } });
      const mint = fresh();
      const first = await opened(undefined, small);
      await first.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
      for (let at = 0; at < 10_000; at += 500) await small.publish(trades(mint, 500));
      await first.framesTo(tradesTopic(mint), 10_000);
      const client = await opened(undefined, small);
      const { positions } = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], last: 10_000 });
      const { seq, newest } = positions![tradesTopic(mint)] as unknown as { seq: number; newest: number };
      expect(newest).toBe(10_000);
      expect(seq).toBeGreaterThan(0);
      await until('the past', () => client.frames(tradesTopic(mint)).length === newest - seq);
      expect(client.messages.filter(({ op }) => op === 'gap')).toEqual([]);
      await small.close();
    });

    it('counts losses, and resumes from a position that is not retained apart', async () => {
      const count = async (name: string): Promise<number> => {
        const text = await (await fetch(`http://${server.host}/metrics`)).text();
        return Number(new RegExp(`^sluice_gateway_${name} (\\d+)$`, 'm').exec(text)?.[1]);
      };
      const before = [await count('gaps_total'), await count('resumes_incomplete_total')] as const;
      const client = await opened();
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [fresh()], since: { epoch: 'another', seq: 5 } });
      await client.next('the gap', ({ op }) => op === 'gap');
      expect([await count('gaps_total'), await count('resumes_incomplete_total')]).toEqual([before[0], before[1] + 1]);
      const status = (await (await fetch(`http://${server.host}/status`)).json()) as { readonly stream: { readonly gaps: number } };
      expect(status.stream.gaps).toBe(before[0]);
    });

    it.each([
      ['text that is not JSON', 'not json', null, null],
      ['an array', [], null, null],
      ['a number', '7', null, null],
      ['no op', { id: 1 }, 1, 'op'],
      ['an unknown op', { id: 2, op: 'dance' }, 2, 'op'],
      ['an unknown channel', { id: 3, op: 'subscribe', channel: 'gossip' }, 3, 'channel'],
      ['no channel', { id: 'x', op: 'unsubscribe' }, 'x', 'channel'],
      ['an unknown field', { id: 4, op: 'subscribe', channel: 'newTokens', colour: 'red' }, 4, 'colour'],
      ['keys of a channel without keys', { id: 5, op: 'subscribe', channel: 'newTokens', mints: [addressOf(1)] }, 5, 'mints'],
      ['prices without mints', { id: 6, op: 'subscribe', channel: 'prices' }, 6, 'mints'],
      ['an empty list of keys', { id: 7, op: 'subscribe', channel: 'trades', mints: [] }, 7, 'mints'],
      ['keys that are not strings', { id: 8, op: 'subscribe', channel: 'trades', mints: [5] }, 8, 'mints.0'],
      ['an unknown filter field', { id: 9, op: 'subscribe', channel: 'trades', filter: { minsol: 1 } }, 9, 'filter.minsol'],
      ['an unknown filter value', { id: 10, op: 'subscribe', channel: 'trades', filter: { side: 'long' } }, 10, 'filter.side'],
      ['a wrong position', { id: 11, op: 'subscribe', channel: 'trades', since: { epoch: 1, seq: 1 } }, 11, 'since.epoch'],
      ['no events of the past', { id: 16, op: 'subscribe', channel: 'trades', last: 0 }, 16, 'last'],
      ['a field named __proto__', '{"id":12,"op":"subscribe","channel":"trades","__proto__":{"mints":["a"]}}', 12, '__proto__'],
      [
        'one position for two topics',
        { id: 13, op: 'subscribe', channel: 'trades', mints: [addressOf(1), addressOf(2)], since: { epoch: 'e', seq: 1 } },
        13,
        'since',
      ],
      ['an id that cannot be repeated', { id: { a: 1 }, op: 'ping' }, null, 'id'],
      [
        'a snapshot of too many topics',
        { id: 14, op: 'subscribe', channel: 'trades', mints: Array.from({ length: 1_001 }, (_, i) => addressOf(i)), snapshot: true },
        14,
        'snapshot',
      ],
      [
        'too many keys',
        { id: 15, op: 'subscribe', channel: 'trades', mints: Array.from({ length: 5_001 }, (_, i) => addressOf(i)) },
        15,
        'mints',
      ],
    ])('answers %s with an error that names it', async (_what, message, id, field) => {
      const client = await opened();
      client.send(message);
      const reply = await client.next('the error', ({ op }) => op === 'error');
      expect(reply.id).toBe(id);
      expect(reply.error).toMatchObject({ code: 'INVALID_REQUEST', retryable: false });
      if (field !== null) expect(Object.keys(reply.error!.details['fields'] as object)).toContain(field);
      expect(await client.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
      expect(client.messages.filter(({ op }) => op === 'error')).toHaveLength(1);
      expectDocumented(client);
    });

    it('follows at most 20,000 topics on a connection', async () => {
      const client = await opened();
      const base = nextAddress;
      nextAddress += 20_001;
      const chunk = (from: number, count: number) => Array.from({ length: count }, (_, i) => addressOf(base + from + i));
      for (let at = 0; at < 20_000; at += 5_000) {
        expect((await client.ask({ op: 'subscribe', channel: 'trades', mints: chunk(at, 5_000) })).accepted).toHaveLength(5_000);
      }
      const more = await client.ask({ op: 'subscribe', channel: 'trades', mints: chunk(20_000, 1) });
      expect(more).toMatchObject({ op: 'error', error: { code: 'INVALID_REQUEST', details: { limit: 20_000 } } });
      expect(await client.ask({ op: 'subscribe', channel: 'trades', mints: chunk(0, 2) })).toMatchObject({ op: 'subscribed' });
      expect((await client.ask({ op: 'unsubscribe', channel: 'trades' })).removed).toHaveLength(20_000);
    });

    it('refuses commands beyond 200 in a burst, each with its id, and recovers', async () => {
      const client = await opened();
      for (let id = 0; id < 400; id++) client.send({ id, op: 'ping' });
      await client.reply(399);
      const replies = client.messages.filter(({ op }) => op === 'pong' || op === 'error');
      expect(replies.map(({ id }) => id)).toEqual(run(0, 399));
      expect(replies.filter(({ op }) => op === 'pong').length).toBeGreaterThanOrEqual(200);
      expect(replies.find(({ op }) => op === 'error')).toMatchObject({ error: { code: 'RATE_LIMIT', retryable: true } });
      await until('a command to be accepted', async () => (await client.ask({ op: 'ping' })).op === 'pong');
    });

    it('refuses commands when the work budget of a client is spent, replies to each once, and serves other clients meanwhile', async () => {
      const client = await opened();
      const other = await opened();
      await client.ask({ op: 'subscribe', channel: 'prices', mints: Array.from({ length: 1_000 }, fresh) });
      const beganMs = performance.now();
      for (let turn = 0; turn < 5; turn++) {
        for (let i = 0; i < 100; i++) client.send({ id: turn * 100 + i, op: 'list' });
        await client.reply(turn * 100 + 99);
        await until('a command to be accepted', async () => (await other.ask({ op: 'ping' })).op === 'pong');
        await delay(500);
      }
      const replies = client.messages.filter(({ id }) => typeof id === 'number');
      expect(replies.map(({ id }) => id)).toEqual(run(0, 499));
      const bytes = replies.reduce((sum, reply) => sum + JSON.stringify(reply).length, 0);
      expect(bytes).toBeGreaterThan(4_000_000);
      const { workBurst, workPerSecond } = streamLimits;
      expect(bytes).toBeLessThan(workBurst + (workPerSecond * (performance.now() - beganMs)) / 1_000 + bytes / replies.length + 100_000);
      expect(replies.at(-1)).toMatchObject({ op: 'error', error: { code: 'RATE_LIMIT', retryable: true } });
    });

    it('closes a client with 4513 for a message above 512 KiB', async () => {
      const client = await opened();
      client.send(`{"op":"ping","id":"${'x'.repeat(600 * 1024)}"}`);
      expect(await client.next('the error', ({ op }) => op === 'error')).toMatchObject({ id: null, error: { code: 'PAYLOAD_TOO_LARGE' } });
      expect((await client.end()).code).toBe(4513);
    });

    it('cuts the connection of a client for a message above 2 MiB', async () => {
      const client = await opened();
      client.send(`{"op":"ping","id":"${'x'.repeat(2 * 1024 * 1024)}"}`);
      await client.end();
      expect(client.messages.filter(({ op }) => op !== 'heartbeat')).toEqual([]);
      expect(await (await opened()).ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
    });

    it('replies to each of a thousand malformed messages, and continues to serve', async () => {
      const client = await opened();
      let seed = 7;
      const random = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
      for (let i = 0; i < 1_000; i++) {
        const bytes = Buffer.from(Array.from({ length: Math.floor(random() * 60) }, () => Math.floor(random() * 256)));
        if (random() < 0.5) client.send(bytes.toString('latin1'));
        else client.send(new Uint8Array(bytes));
      }
      await until('a thousand errors', () => client.messages.filter(({ op }) => op === 'error').length === 1_000);
      expect(client.messages.every(({ op, id }) => op !== 'error' || id === null)).toBe(true);
      await until('a command to be accepted', async () => (await client.ask({ op: 'ping' })).op === 'pong');
    });
  });

  describe('one key', () => {
    it('has at most a hundred filters on a topic, and the others are not affected', async () => {
      server.keys.add('sluice_filterer');
      const mint = fresh();
      const sockets: StreamClient[] = [];
      for (let i = 0; i < 101; i++) sockets.push(await opened('?api-key=sluice_filterer'));
      const ask = (client: StreamClient, minSol: number): Promise<Message> =>
        client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], filter: { minSol } });
      for (let i = 0; i < 100; i++) expect((await ask(sockets[i]!, i)).accepted).toEqual([mint]);
      expect((await ask(sockets[100]!, 100)).rejected).toEqual([{ key: mint, code: 'RATE_LIMIT' }]);
      expect((await ask(sockets[100]!, 5)).accepted).toEqual([mint]);
      expect((await ask(await opened(), 100)).accepted).toEqual([mint]);
      for (const socket of sockets) socket.close();
    });

    it('follows at most 100,000 topics, and the others are not affected', async () => {
      server.keys.add('sluice_collector');
      const base = nextAddress;
      nextAddress += 5_000;
      const mints = Array.from({ length: 5_000 }, (_, i) => addressOf(base + i));
      const sockets: StreamClient[] = [];
      for (let i = 0; i < 10; i++) {
        const socket = await opened('?api-key=sluice_collector');
        sockets.push(socket);
        for (const channel of ['trades', 'prices']) {
          const reply = await until(
            'the work to be accepted',
            async () => {
              const one = await socket.ask({ op: 'subscribe', channel, mints });
              if (one.op === 'subscribed') return one;
              expect(one.error!.code).toBe('RATE_LIMIT');
              await delay(Number(one.error!.details['retryAfterMs']));
              return undefined;
            },
            30_000,
          );
          expect(reply.accepted).toHaveLength(5_000);
        }
      }
      const last = await opened('?api-key=sluice_collector');
      const refused = await last.ask({ op: 'subscribe', channel: 'newTokens' });
      expect(refused).toMatchObject({ op: 'error', error: { code: 'RATE_LIMIT', details: { limit: 100_000, have: 100_000, more: 1 } } });
      last.send({ method: 'subscribeNewToken' });
      await last.next('the notice', (message) => String(message['message']).startsWith('At most 100000 subscriptions of one key'));
      expect(await (await opened()).ask({ op: 'subscribe', channel: 'newTokens' })).toMatchObject({ op: 'subscribed' });
      sockets[0]!.close();
      await until(
        'a subscription to be accepted',
        async () => (await last.ask({ op: 'subscribe', channel: 'newTokens' })).op === 'subscribed',
      );
      for (const socket of sockets) socket.close();
    }, 60_000);
  });

  describe('the bare text ping', () => {
    it('gets the reply of the PumpPortal dialect, unless the client has used an op', async () => {
      const bot = await opened();
      bot.send('ping');
      await bot.next('pong', ({ message }) => message === 'pong');
      expect(bot.messages).toHaveLength(1);
      const other = await opened();
      await other.ask({ op: 'list' });
      other.send('ping');
      expect(await other.next('pong', ({ op }) => op === 'pong')).toMatchObject({ id: null });
    });

    it('gets no pong before authentication', async () => {
      const unauthenticated = await opened('');
      unauthenticated.send('ping');
      await unauthenticated.next('the notice', ({ message }) => String(message).includes('needs an API key'));
      unauthenticated.send({ op: 'list' });
      unauthenticated.send('ping');
      await until('both', () => unauthenticated.messages.filter(({ error }) => error?.code === 'UNAUTHENTICATED').length === 2);
    });
  });

  describe('formats', () => {
    it('reads and writes MessagePack', async () => {
      const client = await opened(`?api-key=${goodKey}&format=msgpack`);
      const mint = fresh();
      client.send(pack({ id: 1, op: 'subscribe', channel: 'trades', mints: [mint] }));
      expect(await client.reply(1)).toMatchObject({ op: 'subscribed', accepted: [mint] });
      const event = tradeEvent(mint);
      await server.publish([entryOf(event), ...trades(mint, 299)]);
      const frames = await client.framesTo(tradesTopic(mint), 300);
      expect(seqs(frames)).toEqual(run(1, 300));
      expect(frames[0]).toEqual({ topic: tradesTopic(mint), seq: 1, data: event });
      expect(client.binary.every(Boolean)).toBe(true);
      client.send(pack([1, 2]));
      expect(await client.next('the error', ({ op }) => op === 'error')).toMatchObject({ id: null });
      expectDocumented(client);
    });

    it.each(['json', 'msgpack'])('batches %s: every message is an array, in order', async (format) => {
      const client = await opened(`?api-key=${goodKey}&batch=1&format=${format}`);
      const mint = fresh();
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
      await server.publish(trades(mint, 1_000));
      const frames = await client.framesTo(tradesTopic(mint), 1_000);
      expect(seqs(frames)).toEqual(run(1, 1_000));
      await client.next('a heartbeat', ({ op }) => op === 'heartbeat');
      expect(client.raw.every((message) => Array.isArray(message))).toBe(true);
      const sizes = client.raw.map((message) => (message as Message[]).length);
      expect(Math.max(...sizes)).toBeGreaterThan(1);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(256);
      expectDocumented(client);
    });

    it('lets a client join while a batch is collected, without a gap or a duplicate', async () => {
      const mint = fresh();
      const first = await opened(`?api-key=${goodKey}&batch=1`);
      await first.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
      const joiners: StreamClient[] = [];
      for (let i = 0; i < 10; i++) joiners.push(await opened(`?api-key=${goodKey}&batch=1`));
      let at = 0;
      for (const joiner of joiners) {
        const asked = joiner.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
        for (let i = 0; i < 20; i++) await server.publish(trades(mint, 1 + (at++ % 3)));
        await asked;
      }
      const total = (await first.framesTo(tradesTopic(mint), 395)).length;
      await until('all', () =>
        joiners.every((joiner) => joiner.frames(tradesTopic(mint)).at(-1)?.seq === first.frames(tradesTopic(mint)).at(-1)?.seq),
      );
      expect(total).toBeGreaterThanOrEqual(395);
      for (const joiner of joiners) {
        const start = joiner.messages.find(({ op }) => op === 'subscribed')!.positions![tradesTopic(mint)]!.seq;
        expect(seqs(joiner.frames(tradesTopic(mint)))).toEqual(run(start + 1, first.frames(tradesTopic(mint)).at(-1)!.seq!));
      }
    });
  });

  describe('filters', () => {
    it('sends events that pass, each with the number of the previous one', async () => {
      const client = await opened();
      const other = await opened(`?api-key=${goodKey}&format=msgpack`);
      const mint = fresh();
      const filter = { minSol: 1, side: 'buy' };
      const reply = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], filter });
      await other.ask({ op: 'subscribe', channel: 'trades', mints: [mint], filter: { side: 'buy', minSol: 1 } });
      expect(reply.positions![tradesTopic(mint)]!.seq).toBe(0);
      const amounts = [0.5, 2, 0.1, 3, 1, 0.9];
      await server.publish(amounts.map((solAmount) => entryOf(tradeEvent(mint, { solAmount }))));
      await server.publish([
        entryOf(tradeEvent(mint, { solAmount: 9, side: 'sell' })),
        entryOf(tradeEvent(mint, { solAmount: null })),
        entryOf(tradeEvent(mint, { solAmount: 9 })),
      ]);
      for (const one of [client, other]) {
        const frames = await one.framesTo(tradesTopic(mint), 4);
        expect(frames.map(({ seq, prev }) => [seq, prev])).toEqual([
          [2, 0],
          [4, 2],
          [5, 4],
          [9, 5],
        ]);
        expectDocumented(one);
      }
    });

    it.each([
      [
        'trades',
        'trader',
        { trader: addressOf(77) },
        (mint: string) => tradeEvent(mint, { trader: addressOf(77) }),
        (mint: string) => tradeEvent(mint),
      ],
      [
        'trades',
        'one of several traders',
        { trader: [addressOf(78), addressOf(77)] },
        (mint: string) => tradeEvent(mint, { trader: addressOf(78) }),
        (mint: string) => tradeEvent(mint),
      ],
      [
        'trades',
        'pool',
        { pool: ['pump-amm', 'launchlab'] },
        (mint: string) => tradeEvent(mint, { pool: 'pump-amm' }),
        (mint: string) => tradeEvent(mint),
      ],
      [
        'trades',
        'maxSol',
        { maxSol: 1 },
        (mint: string) => tradeEvent(mint, { solAmount: 1 }),
        (mint: string) => tradeEvent(mint, { solAmount: 1.5 }),
      ],
      [
        'trades',
        'commitment',
        { commitment: 'confirmed' },
        (mint: string) => tradeEvent(mint, { commitment: 'finalized' }),
        (mint: string) => tradeEvent(mint),
      ],
      [
        'trades',
        'quoteMint',
        { quoteMint: addressOf(5) },
        (mint: string) => tradeEvent(mint, { quoteMint: addressOf(5) }),
        (mint: string) => tradeEvent(mint),
      ],
      [
        'newTokens',
        'symbol of the quote coin',
        { quoteMint: ['SOL', addressOf(5)] },
        (mint: string) => newTokenEvent(mint),
        (mint: string) => newTokenEvent(mint, { quoteMint: usdcMint }),
      ],
      [
        'trades',
        'symbol of another quote coin',
        { quoteMint: 'USDC' },
        (mint: string) => tradeEvent(mint, { quoteMint: usdcMint }),
        (mint: string) => tradeEvent(mint),
      ],
      [
        'newTokens',
        'name',
        { name: 'coALition' },
        (mint: string) => newTokenEvent(mint),
        (mint: string) => newTokenEvent(mint, { name: 'Blume' }),
      ],
      [
        'newTokens',
        'symbol',
        { symbol: 'mer' },
        (mint: string) => newTokenEvent(mint),
        (mint: string) => newTokenEvent(mint, { symbol: 'BLUME' }),
      ],
      [
        'newTokens',
        'creator',
        { creator: addressOf(3) },
        (mint: string) => newTokenEvent(mint, { creator: addressOf(3) }),
        (mint: string) => newTokenEvent(mint),
      ],
      [
        'newTokens',
        'minDevBuySol',
        { minDevBuySol: 2 },
        (mint: string) => newTokenEvent(mint),
        (mint: string) => newTokenEvent(mint, { initialBuy: null }),
      ],
      [
        'newTokens',
        'maxDevBuySol',
        { maxDevBuySol: 1 },
        (mint: string) => newTokenEvent(mint, { initialBuy: null }),
        (mint: string) => newTokenEvent(mint),
      ],
      [
        'newTokens',
        'traits',
        { traits: ['cashback'] },
        (mint: string) => newTokenEvent(mint, { traits: ['mayhemMode', 'cashback'] }),
        (mint: string) => newTokenEvent(mint, { traits: ['mayhemMode'] }),
      ],
      [
        'newTokens',
        'traits that it lacks',
        { withoutTraits: ['mayhemMode'] },
        (mint: string) => newTokenEvent(mint, { traits: ['cashback'] }),
        (mint: string) => newTokenEvent(mint, { traits: ['cashback', 'mayhemMode'] }),
      ],
      [
        'prices',
        'source',
        { source: 'account' },
        (mint: string) => priceEvent(mint, { source: 'account' }),
        (mint: string) => priceEvent(mint),
      ],
      [
        'migrations',
        'minSol',
        { minSol: 80 },
        (mint: string) => migrationEvent(mint),
        (mint: string) => migrationEvent(mint, { solAmount: 10 }),
      ],
    ] as const)('%s by %s', async (channel, _what, filter, passing, failing) => {
      const client = await opened();
      const mint = fresh();
      const keyed = channel === 'prices' ? { mints: [mint] } : {};
      await client.ask({ op: 'subscribe', channel, filter, ...keyed });
      const passed = passing(mint);
      await server.publish([entryOf(failing(mint)), entryOf(passed), entryOf(failing(mint))]);
      const topic = channel === 'prices' ? pricesTopic(mint) : channel;
      await client.framesTo(topic, 1);
      await client.ask({ op: 'ping' });
      expect(client.frames(topic).map(({ data }) => data!.id)).toEqual([passed.id]);
    });

    it('replaces the filter of a topic', async () => {
      const client = await opened();
      const mint = fresh();
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], filter: { side: 'sell' } });
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
      await server.publish(trades(mint, 2));
      const frames = await client.framesTo(tradesTopic(mint), 2);
      expect(seqs(frames)).toEqual([1, 2]);
      expect(frames.some((frame) => 'prev' in frame)).toBe(false);
    });
  });

  describe('positions', () => {
    it('replays what a client missed, then continues live, without a gap or a duplicate', async () => {
      const mint = fresh();
      const topic = tradesTopic(mint);
      for (const query of ['', '&format=msgpack', '&batch=1', '&batch=1&format=msgpack']) {
        const first = await opened(`?api-key=${goodKey}${query}`);
        const { positions } = await first.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
        const { epoch, seq } = positions![topic]!;
        first.close();
        await server.publish(trades(mint, 700));
        const second = await opened(`?api-key=${goodKey}${query}`);
        const publishing = (async () => {
          for (let i = 0; i < 60; i++) await server.publish(trades(mint, 5));
        })();
        const reply = await second.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch, seq } });
        expect(reply.positions![topic]).toEqual({ epoch, seq, recovered: true });
        await publishing;
        expect(seqs(await second.framesTo(topic, 1_000))).toEqual(run(seq + 1, seq + 1_000));
        expect(second.messages.some(({ op }) => op === 'gap')).toBe(false);
        expectDocumented(second);
      }
    });

    it('replays filtered events, each with the number of the previous one', async () => {
      const mint = fresh();
      const topic = tradesTopic(mint);
      const probe = await opened();
      const { positions } = await probe.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
      await server.publish([1, 9, 1, 9, 1].map((solAmount) => entryOf(tradeEvent(mint, { solAmount }))));
      await probe.framesTo(topic, 5);
      const client = await opened();
      await client.ask({
        op: 'subscribe',
        channel: 'trades',
        mints: [mint],
        filter: { minSol: 5 },
        since: { [topic]: positions![topic]! },
      });
      await client.framesTo(topic, 2);
      await until('the replay to end', async () => (await client.ask({ op: 'ping' })).op === 'pong');
      await server.publish([9].map((solAmount) => entryOf(tradeEvent(mint, { solAmount }))));
      const frames = await client.framesTo(topic, 3);
      expect(frames.map(({ seq, prev }) => [seq, prev])).toEqual([
        [2, 0],
        [4, 2],
        [6, 4],
      ]);
    });

    it('replays ten thousand events of a topic', async () => {
      const mint = fresh();
      const client = await opened();
      const { positions } = await client.ask({ op: 'subscribe', channel: 'prices', mints: [mint] });
      for (let i = 0; i < 20; i++) await server.publish(Array.from({ length: 500 }, () => entryOf(priceEvent(mint))));
      await client.framesTo(pricesTopic(mint), 10_000);
      const second = await opened();
      const reply = await second.ask({ op: 'subscribe', channel: 'prices', mints: [mint], since: positions![pricesTopic(mint)] });
      expect(reply.positions![pricesTopic(mint)]).toMatchObject({ recovered: true });
      expect(seqs(await second.framesTo(pricesTopic(mint), 10_000))).toEqual(run(1, 10_000));
    });

    it('reports what cannot be recovered: another epoch, a future position', async () => {
      const mint = fresh();
      const topic = tradesTopic(mint);
      await server.publish(trades(mint, 3));
      const client = await opened();
      const other = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch: 'another', seq: 50 } });
      expect(other.positions![topic]).toMatchObject({ seq: 0, recovered: false });
      expect(await client.next('the gap', ({ op }) => op === 'gap')).toMatchObject({ topic, from: 51, to: null, reason: 'epoch' });
      expect(seqs(await client.framesTo(topic, 3))).toEqual([1, 2, 3]);
      const { epoch } = other.positions![topic]!;
      const future = await opened();
      const ahead = await future.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch, seq: 100_000 } });
      expect(ahead.positions![topic]).toMatchObject({ seq: 3, recovered: false });
      expect(await future.next('the gap', ({ op }) => op === 'gap')).toMatchObject({ topic, from: 4, to: null, reason: 'ahead' });
      // A position in a later epoch is accepted; `later-epoch.test.ts` tests what follows.
      const newer = await opened();
      const since = { epoch: 'vvvvvvvvvabc', seq: 3 };
      const later = await newer.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since });
      expect(later.positions![topic]).toEqual({ ...since, recovered: true });
      expectDocumented(client);
      expectDocumented(future);
    });

    it('reports no future frame as lost if the gateway does not reach a position in time', async () => {
      const mint = fresh();
      const topic = tradesTopic(mint);
      await fastGateway.publish(trades(mint, 3));
      const probe = await openedFast();
      const { epoch } = (await probe.ask({ op: 'subscribe', channel: 'trades', mints: [mint] })).positions![topic]!;
      const client = await openedFast();
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch, seq: 103 } });
      const gap = await client.next('the gap', ({ op }) => op === 'gap');
      expect(gap).toMatchObject({ topic, from: 4, to: null, reason: 'ahead' });
      await fastGateway.publish(trades(mint, 2));
      expect(seqs(await client.framesTo(topic, 2))).toEqual([4, 5]);
    });

    it.each([
      ['another topic', { 'trades:nonsense': { epoch: 'zz', seq: 5 } }],
      ['no topic at all', { nonsense: { epoch: 'zz', seq: 5 } }],
      ['a prototype', JSON.parse('{"__proto__":{"epoch":"zz","seq":5}}') as object],
      ['the name of a field', { seq: { epoch: 'zz', seq: 5 } }],
    ])('refuses a position of %s', async (_what, since) => {
      const client = await opened();
      const reply = await client.ask({ op: 'subscribe', channel: 'trades', since });
      expect(reply).toMatchObject({ op: 'error', error: { code: 'INVALID_REQUEST' } });
      expect(Object.keys(reply.error!.details['fields'] as object)).toEqual([`since.${Object.keys(since)[0]}`]);
      expect((await client.ask({ op: 'list' }))['subscriptions']).toEqual([]);
    });

    it('ignores the position of a rejected key', async () => {
      const client = await opened();
      const mint = fresh();
      const since = { 'trades:nonsense': { epoch: 'zz', seq: 5 }, 'trades:@me': { epoch: 'zz', seq: 5 } };
      const reply = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint, 'nonsense'], accounts: ['me'], since });
      expect(reply).toMatchObject({ op: 'subscribed', accepted: [mint] });
    });

    it('accepts a position that the gateway has not reached yet, and waits for it', async () => {
      const mint = fresh();
      const topic = tradesTopic(mint);
      await server.publish(trades(mint, 3));
      const probe = await opened();
      const { epoch } = (await probe.ask({ op: 'subscribe', channel: 'trades', mints: [mint] })).positions![topic]!;
      const client = await opened();
      const reply = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch, seq: 5 } });
      expect(reply.positions![topic]).toEqual({ epoch, seq: 5, recovered: true });
      await server.publish(trades(mint, 4));
      expect(seqs(await client.framesTo(topic, 2))).toEqual([6, 7]);
    });

    it('sends a heartbeat each second with the newest positions', async () => {
      const [a, b] = [fresh(), fresh()];
      const single = await openedFast();
      const double = await openedFast();
      await single.ask({ op: 'subscribe', channel: 'trades', mints: [a] });
      await double.ask({ op: 'subscribe', channel: 'trades', mints: [a, b] });
      await fastGateway.publish(trades(a, 2));
      await single.framesTo(tradesTopic(a), 2);
      const at = (client: StreamClient): Message[] => client.messages.filter(({ op }) => op === 'heartbeat');
      const beats = 12;
      await until('the heartbeats', () => at(single).length >= beats && at(double).length >= beats);
      expect(at(single).at(-1)!.positions).toEqual({ [tradesTopic(a)]: { epoch: expect.any(String), seq: 2 } });
      expect(at(double).at(-1)!.positions).toMatchObject({ [tradesTopic(a)]: { seq: 2 }, [tradesTopic(b)]: { seq: 0 } });
      const sentMs = at(single).map(({ ts }) => Number(ts) / 1e3);
      const pausesMs = sentMs.slice(1).map((ms, before) => (ms - sentMs[before]!) * speedup);
      // On a busy machine, any of them may be late, and the next one is then early. A second of this clock is 100 ms.
      const medianMs = pausesMs.toSorted((one, other) => one - other)[Math.floor(pausesMs.length / 2)];
      expect(medianMs).toBeGreaterThan(500);
      expect(medianMs).toBeLessThan(20_000);
      expect(Math.abs(sentMs.at(-1)! - Date.now())).toBeLessThan(60_000);
      expectDocumented(double);
    });

    it('sends heartbeats to each of many followers of one topic, also after most of them have left', async () => {
      const mint = fresh();
      const followers = await Promise.all(Array.from({ length: 230 }, openedFast));
      await Promise.all(followers.map((client) => client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] })));
      await fastGateway.publish(trades(mint, 1));
      const beats = (client: StreamClient): number =>
        client.messages.filter(({ op, positions }) => op === 'heartbeat' && positions![tradesTopic(mint)]?.seq === 1).length;
      await until('a heartbeat for all', () => followers.every((client) => beats(client) > 0));
      const staying = followers.filter((_, n) => n % 60 === 7);
      for (const client of followers) if (!staying.includes(client)) client.close();
      const before = staying.map(beats);
      await until('more heartbeats for the remaining clients', () => staying.every((client, n) => beats(client) > before[n]! + 1));
    });

    it('names only topics that moved in a heartbeat of more than a hundred topics', async () => {
      const client = await openedFast();
      const mints = Array.from({ length: 150 }, fresh);
      await client.ask({ op: 'subscribe', channel: 'trades', mints });
      const beats = (): Message[] => client.messages.filter(({ op }) => op === 'heartbeat');
      await until('a heartbeat', () => beats().length >= 2);
      await fastGateway.publish(trades(mints[0]!, 1));
      await client.framesTo(tradesTopic(mints[0]!), 1);
      const reported = await until('its position', () => beats().find(({ positions }) => positions![tradesTopic(mints[0]!)]?.seq === 1));
      expect(Object.keys(reported.positions!)).toEqual([tradesTopic(mints[0]!)]);
      const after = beats().length;
      await until('one more', () => beats().length > after + 1);
      expect(beats().at(-1)!.positions).toEqual({});
    });
  });

  describe('under load', () => {
    it('sends every topic without a gap to every client while clients connect and leave', async () => {
      const mints = Array.from({ length: 5 }, fresh);
      const trader = fresh();
      const queries = ['', '&batch=1', '&format=msgpack', '&batch=1&format=msgpack'];
      const stay = await Promise.all(queries.map((query) => opened(`?api-key=${goodKey}${query}`)));
      for (const client of stay) await client.ask({ op: 'subscribe', channel: 'trades', mints, accounts: [trader] });
      const state = { publishing: true };
      let published = 0;
      const load = (async () => {
        for (let round = 0; round < 80; round++) {
          const entries = Array.from({ length: 20 }, (_, i) => entryOf(tradeEvent(mints[i % mints.length]!, { trader })));
          await server.publish(entries);
          published += entries.length;
          await new Promise((resolve) => setImmediate(resolve));
        }
        state.publishing = false;
      })();
      const passing: StreamClient[] = [];
      for (let i = 0; state.publishing && i < 24; i++) {
        const client = await opened(`?api-key=${goodKey}${queries[i % queries.length]!}`);
        passing.push(client);
        await client.ask({ op: 'subscribe', channel: 'trades', mints: mints.slice(0, 2), accounts: [trader] });
        if (i % 3 === 0) await client.ask({ op: 'unsubscribe', channel: 'trades', mints: [mints[0]!] });
      }
      await load;
      for (const client of stay) expect(seqs(await client.framesTo(accountTradesTopic(trader), published))).toEqual(run(1, published));
      for (const client of passing) {
        await until('the end', () => client.frames(accountTradesTopic(trader)).at(-1)?.seq === published);
        for (const topic of [accountTradesTopic(trader), tradesTopic(mints[0]!), tradesTopic(mints[1]!)]) {
          const start = client.messages.find(({ op }) => op === 'subscribed')!.positions![topic]!.seq;
          const frames = client.frames(topic);
          expect(seqs(frames)).toEqual(run(start + 1, start + frames.length));
        }
      }
    });

    it('writes the heartbeat of a client with several topics in one piece while heartbeats of others are sent early', async () => {
      const mint = fresh();
      const query = `?api-key=${goodKey}&batch=1`;
      // So many that their heartbeats follow a batch to all of them.
      const many = await Promise.all(Array.from({ length: 60 }, () => opened(query)));
      const several = await Promise.all(Array.from({ length: 24 }, () => opened(query)));
      await Promise.all(many.map((client) => client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] })));
      await Promise.all(
        several.map(async (client) => {
          await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
          await client.ask({ op: 'subscribe', channel: 'prices', mints: [mint] });
        }),
      );
      const followed = several.map(({ messages }) => messages.length);
      const heartbeats = () => several.flatMap(({ messages }, i) => messages.slice(followed[i]).filter(({ op }) => op === 'heartbeat'));
      // Events in all turns of the heartbeats, which send to a part of the clients at a time.
      await until('two heartbeats of each', async () => {
        await server.publish([entryOf(tradeEvent(mint))]);
        await delay(3);
        return heartbeats().length >= 2 * several.length;
      });
      const topics = new Set(heartbeats().map(({ positions }) => Object.keys(positions!).toSorted().join()));
      expect([...topics]).toEqual([`prices:${mint},trades:${mint}`]);
    });

    it('closes a client that does not read with 4008, and no other client', async () => {
      const mint = fresh();
      const topic = tradesTopic(mint);
      const well = await opened();
      const slow = await opened();
      for (const client of [well, slow]) await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
      slow.socket.pause();
      const padding = 'x'.repeat(6_000);
      let sent = 0;
      const closes = (): Promise<number> =>
        fetch(`http://${server.host}/status`).then(
          async (answer) => ((await answer.json()) as { stream: { slowCloses: number } }).stream.slowCloses,
        );
      const before = await closes();
      while ((await closes()) === before) {
        await server.publish(Array.from({ length: 10 }, () => entryOf({ ...tradeEvent(mint), id: `${padding}${sent++}:1` })));
        await well.framesTo(topic, sent);
        if (sent > 5_000) throw new Error('it was never closed');
      }
      // At once: after eight seconds the server gives up on a client that does not read the close frame.
      slow.socket.resume();
      const { code } = await slow.end();
      expect(code).toBe(4008);
      expect(seqs(well.frames(topic))).toEqual(run(1, sent));
      expect(seqs(slow.frames(topic))).toEqual(run(1, slow.frames(topic).length));
      const resumed = await opened();
      const last = slow.frames(topic).at(-1)!.seq!;
      const { epoch } = slow.messages.find(({ op }) => op === 'subscribed')!.positions![topic]!;
      await resumed.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch, seq: last } });
      expect(seqs(await resumed.framesTo(topic, sent - last))).toEqual(run(last + 1, sent));
    });
  });

  it('announces that it drains, then closes with 4012 and refuses new handshakes', async () => {
    const own = await startTestGateway({ transport });
    const client = await new StreamClient(`ws://${own.host}/api/data?api-key=${goodKey}`).open();
    await client.ask({ op: 'subscribe', channel: 'newTokens' });
    await own.close();
    expect(await client.next('the warning', ({ op }) => op === 'draining')).toMatchObject({ reconnectWithinMs: 1_000 });
    expect((await client.end()).code).toBe(4012);
    expectDocumented(client);
    const late = new WebSocket(`ws://${own.host}/api/data?api-key=${goodKey}`);
    await new Promise((resolve) => late.once('error', resolve));
  });
});
