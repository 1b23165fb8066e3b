import { inProcessTickets, ticketTtlMs } from '@sluice/gateway/auth/tickets.ts';
import { createLimiter } from '@sluice/gateway/ratelimit/shared-limiter.ts';
import type { CountingLimiter } from '@sluice/gateway/ratelimit/limiter.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { transports } from '../support/transports.ts';

const key = 'sluice_tickets_key';
const clients: StreamClient[] = [];
afterAll(() => {
  for (const client of clients) client.close();
});

function connect(server: TestGateway, ticket: string, more = '', headers: Record<string, string> = {}): StreamClient {
  const client = new StreamClient(`ws://${server.host}/api/data?ticket=${ticket}${more}`, headers);
  clients.push(client);
  return client;
}

const ask = (server: TestGateway, body?: unknown, bearer = key): Promise<Response> =>
  fetch(`http://${server.host}/api/ws-ticket`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${bearer}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

async function ticketOf(server: TestGateway, body?: unknown, bearer = key): Promise<string> {
  const answer = await ask(server, body, bearer);
  expect(answer.status).toBe(200);
  const { ticket, expiresInMs } = (await answer.json()) as { ticket: string; expiresInMs: number };
  expect(expiresInMs).toBe(30_000);
  expect(ticket).toMatch(/^[\w-]{43}$/);
  return ticket;
}

async function refusalOf(client: StreamClient): Promise<[number, string]> {
  const { status, body } = await until('the refusal', () => client.refused ?? undefined);
  return [status, body.error.code];
}

const unauthenticated = [401, 'UNAUTHENTICATED'];

describe.each(transports)('tickets over %s', (transport) => {
  let server: TestGateway;
  beforeAll(async () => {
    server = await startTestGateway({ transport, config: { trustedProxies: ['127.0.0.1'] } });
    server.keys.add(key, { scopes: ['stream'] });
  });
  afterAll(() => server.close());

  it('open one stream, with the rights of the key', async () => {
    const ticket = await ticketOf(server);
    const client = await connect(server, ticket).open();
    expect(await client.ask({ op: 'auth', key })).toMatchObject({ op: 'authenticated', keyId: key });
    expect(await client.ask({ op: 'subscribe', channel: 'newTokens' })).toMatchObject({ op: 'subscribed' });
    expect(await refusalOf(connect(server, ticket))).toEqual(unauthenticated);
  });

  it('work once, even if many clients use one at the same moment', async () => {
    const ticket = await ticketOf(server, {});
    const rivals = Array.from({ length: 8 }, () => connect(server, ticket));
    await until('all outcomes', () => rivals.every(({ refused, socket }) => refused !== null || socket.readyState === 1));
    expect(rivals.filter(({ refused }) => refused === null)).toHaveLength(1);
  });

  it.each(['', 'x', 'A'.repeat(43), '%00', 'A'.repeat(4_000)])('that were never issued are refused: %.20s', async (ticket) => {
    expect(await refusalOf(connect(server, ticket))).toEqual(unauthenticated);
  });

  it('are refused together with a key or another ticket', async () => {
    const ticket = await ticketOf(server);
    expect(await refusalOf(connect(server, ticket, `&api-key=${key}`))).toEqual(unauthenticated);
    expect(await refusalOf(connect(server, ticket, '', { Authorization: `Bearer ${key}` }))).toEqual(unauthenticated);
    expect(await refusalOf(connect(server, ticket, '&ticket=other'))).toEqual(unauthenticated);
    // None of these used it up.
    await connect(server, ticket).open();
  });

  it('become void when their key is revoked, and their stream is closed', async () => {
    server.keys.add('sluice_tickets_ending');
    const [before, after] = [await ticketOf(server, {}, 'sluice_tickets_ending'), await ticketOf(server, {}, 'sluice_tickets_ending')];
    const client = await connect(server, before).open();
    server.keys.revoke('sluice_tickets_ending');
    expect((await client.end()).code).toBe(4501);
    expect(await refusalOf(connect(server, after))).toEqual(unauthenticated);
  });

  it('follow the plan and limit of the key', async () => {
    const plan = { ...defaultPlans.standard, burst: 4, requestsPerMinute: 1 };
    server.keys.add('sluice_tickets_standard', { plan });
    const first = await ticketOf(server, {}, 'sluice_tickets_standard');
    expect(await refusalOf(connect(server, first, '&batch=1'))).toEqual([403, 'FORBIDDEN']);
    const second = await ticketOf(server, {}, 'sluice_tickets_standard');
    server.keys.add('sluice_tickets_standard', { plan: { ...plan, burst: 1 } });
    const refused = connect(server, second);
    expect(await refusalOf(refused)).toEqual([429, 'RATE_LIMIT']);
    expect(Number(refused.refused?.headers['retry-after'])).toBeGreaterThan(1);
  });

  it('may be bound to one address, which replaces those of the key', async () => {
    server.keys.add('sluice_tickets_ranged', { ipRanges: ['127.0.0.0/8'] });
    const browser = { 'X-Forwarded-For': '203.0.113.7' };
    expect(await refusalOf(connect(server, await ticketOf(server, {}, 'sluice_tickets_ranged'), '', browser))).toEqual([403, 'FORBIDDEN']);
    const bound = () => ticketOf(server, { address: '203.0.113.7' }, 'sluice_tickets_ranged');
    await connect(server, await bound(), '', browser).open();
    expect(await refusalOf(connect(server, await bound()))).toEqual([403, 'FORBIDDEN']);
    for (const address of ['203.0.113.0/24', 'nowhere', '', 5]) {
      expect((await ask(server, { address }, 'sluice_tickets_ranged')).status).toBe(400);
    }
  });

  it('require a key with the scope, one path, and POST', async () => {
    server.keys.add('sluice_tickets_reader', { scopes: ['read'] });
    expect((await ask(server, {}, 'sluice_tickets_reader')).status).toBe(403);
    expect((await ask(server, {}, 'sluice_nobody_x')).status).toBe(401);
    expect((await fetch(`http://${server.host}/ws-ticket`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`http://${server.host}/api/ws-ticket`)).status).toBe(405);
  });
});

describe('tickets in a process', () => {
  const holder = { credential: 'k.1', address: null };

  it('end after 30 s', async () => {
    let nowMs = 0;
    const tickets = inProcessTickets(() => nowMs);
    const [one, other] = [await tickets.issue(holder), await tickets.issue(holder)];
    if (one === null || other === null) throw new Error('no tickets');
    nowMs = ticketTtlMs - 1;
    expect(await tickets.take(one)).toEqual(holder);
    nowMs = ticketTtlMs;
    expect(await tickets.take(other)).toBeNull();
  });

  it('are bounded: the oldest is dropped first', async () => {
    const tickets = inProcessTickets(() => 0, 3);
    const issued = await Promise.all([1, 2, 3, 4].map(() => tickets.issue(holder)));
    const taken = await Promise.all(issued.map(async (one) => (one === null ? 'none' : tickets.take(one))));
    expect(taken).toEqual([null, holder, holder, holder]);
  });
});

describe('tickets over several gateways', () => {
  let redis: TestRedis;
  const servers: TestGateway[] = [];
  const limiters: CountingLimiter[] = [];
  const buses: Awaited<ReturnType<typeof createBus>>[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    for (let i = 0; i < 2; i++) {
      const log = createLog({ level: 'silent', name: 'test' });
      const bus = await createBus({ redisUrls: [redis.url], log });
      // With long time limits, because a machine that runs other tests may be slow.
      const limiter = await createLimiter({ redisUrls: [redis.url], log, gateways: () => 2, answerWithinMs: 10_000 });
      limiters.push(limiter);
      const server = await startTestGateway({ bus, limiter, config: { redisUrls: [redis.url] } });
      server.keys.add(key, { scopes: ['stream'] });
      buses.push(bus);
      servers.push(server);
    }
  });
  afterAll(async () => {
    for (const server of servers) await server.close();
    for (const limiter of limiters) limiter.close();
    for (const bus of buses) await bus.close();
    await redis.stop();
  });

  it('work at each of them, but only once in total', async () => {
    const ticket = await ticketOf(servers[0]!);
    const rivals = Array.from({ length: 6 }, (_, i) => connect(servers[i % 2]!, ticket));
    await until('all outcomes', () => rivals.every(({ refused, socket }) => refused !== null || socket.readyState === 1));
    expect(rivals.filter(({ refused }) => refused === null)).toHaveLength(1);
    const other = await connect(servers[1]!, await ticketOf(servers[0]!)).open();
    expect(await other.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
  });

  it('are stored as hashes, for 30 s', async () => {
    const ticket = await ticketOf(servers[0]!);
    const stored = await redis.command('KEYS', 'sluice:ticket:*');
    expect(stored).toContain('sluice:ticket:');
    expect(stored).not.toContain(ticket);
    const name = /sluice:ticket:[\w-]+/.exec(stored)![0];
    const left = Number(/\d+/.exec(await redis.command('PTTL', name))![0]);
    expect(left).toBeGreaterThan(20_000);
    expect(left).toBeLessThanOrEqual(30_000);
  });

  it('count against the limit of their key at every gateway', async () => {
    const plan = { ...defaultPlans.standard, requestsPerMinute: 1, burst: 4 };
    for (const server of servers) server.keys.add('sluice_tickets_shared', { plan, scopes: ['stream', 'read'] });
    const usage = (server: TestGateway): Promise<Response> =>
      fetch(`http://${server.host}/usage`, { headers: { Authorization: 'Bearer sluice_tickets_shared' } });
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await usage(servers[i % 2]!)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
    await until(
      'both to be known',
      async () => (await buses[0]!.statuses()).filter(({ name }) => name.startsWith('gateway:')).length === 2,
    );
  });

  it('are refused with 503 while Redis is unavailable, but keys are accepted', async () => {
    const ticket = await ticketOf(servers[0]!);
    await redis.kill();
    expect(await refusalOf(connect(servers[1]!, ticket))).toEqual([503, 'UPSTREAM_UNAVAILABLE']);
    const answer = await ask(servers[0]!, {});
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    const client = new StreamClient(`ws://${servers[0]!.host}/api/data?api-key=${key}`);
    clients.push(client);
    await client.open();
    await redis.restart();
    await until('tickets to be issued again', async () => (await ask(servers[0]!, {})).status === 200);
  });
});
