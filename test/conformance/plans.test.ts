import type { IncomingMessage } from 'node:http';
import type { Principal } from '@sluice/gateway/auth/principal.ts';
import { inProcessLimiter } from '@sluice/gateway/ratelimit/local-limits.ts';
import type { CountingLimiter, LimitDecision } from '@sluice/gateway/ratelimit/limiter.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { defaultPlans, type Plan } from '@sluice/shared/config/plans.ts';
import { Usage } from '@sluice/shared/wire/rest/account/usage.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { addressOf } from '../support/events/stream-events.ts';
import { transports } from '../support/transports.ts';

const checkUsage = validator(Usage);

/** Admits everything, and answers several requests at once. */
class LimiterInTurns implements CountingLimiter {
  readonly counters = { taken: 0, refused: 0, local: 0, outages: 0, overruled: 0 };
  readonly unavailable = false;
  #waiting: (() => void)[] = [];

  get waiting(): number {
    return this.#waiting.length;
  }

  take(): Promise<LimitDecision> {
    const decision: LimitDecision = { admitted: true, remaining: 1, resetMs: 0, retryAfterMs: 0, counted: 'shared' };
    return new Promise((resolve) => this.#waiting.push(() => resolve(decision)));
  }

  answerAll(): void {
    for (const answer of this.#waiting.splice(0)) answer();
  }

  close(): void {}
}

let keys = 0;

describe.each(transports)('plans over %s', (transport) => {
  let server: TestGateway;
  const clients: StreamClient[] = [];
  beforeAll(async () => {
    server = await startTestGateway({ transport, config: { trustedProxies: ['127.0.0.1'] } });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server.close();
  });

  /** Each test has its own key. */
  function keyOf(plan: Partial<Plan> & { readonly name: Plan['name'] }, principal: Partial<Principal> = {}): string {
    const key = `sluice_plans_${++keys}`;
    server.keys.add(key, { plan: { ...defaultPlans[plan.name], ...plan }, scopes: ['stream', 'read'], ...principal });
    return key;
  }
  function connect(query: string, headers: Record<string, string> = {}): StreamClient {
    const client = new StreamClient(`ws://${server.host}/api/data${query}`, headers);
    clients.push(client);
    return client;
  }
  const refusalOf = (client: StreamClient) => until('the refusal', () => client.refused ?? undefined);
  const usageOf = (key: string, headers: Record<string, string> = {}, path = '/usage'): Promise<Response> =>
    fetch(`http://${server.host}${path}`, { headers: { Authorization: `Bearer ${key}`, ...headers } });

  describe('batches', () => {
    it('are refused at the handshake if the plan lacks them', async () => {
      const refused = await refusalOf(connect(`?api-key=${keyOf({ name: 'standard' })}&batch=1`));
      expect(refused.status).toBe(403);
      expect(refused.body.error).toMatchObject({ code: 'FORBIDDEN', details: { plan: 'standard', feature: 'batch' } });
      await connect(`?api-key=${keyOf({ name: 'premium' })}&batch=1`).open();
      await connect(`?api-key=${keyOf({ name: 'standard', batch: true })}&batch=1`).open();
      await connect(`?api-key=${keyOf({ name: 'standard' })}&batch=0`).open();
    });

    it('are refused after a first message too', async () => {
      const client = await connect('?batch=1').open();
      expect(await client.ask({ op: 'auth', key: keyOf({ name: 'standard' }) })).toMatchObject({
        op: 'error',
        error: { code: 'FORBIDDEN', details: { plan: 'standard', feature: 'batch' } },
      });
      expect((await client.end()).code).toBe(4503);
      const other = await connect('?batch=1').open();
      expect(await other.ask({ op: 'auth', key: keyOf({ name: 'premium' }) })).toMatchObject({ op: 'authenticated', plan: 'premium' });
    });
  });

  describe('channels', () => {
    it('exclude only the trades of all tokens', async () => {
      const client = await connect(`?api-key=${keyOf({ name: 'standard' })}`).open();
      expect(await client.ask({ op: 'subscribe', channel: 'trades' })).toMatchObject({
        op: 'error',
        error: { code: 'FORBIDDEN', details: { plan: 'standard', feature: 'allTrades', plans: ['premium', 'enterprise'] } },
      });
      for (const named of [{ mints: [addressOf(1)] }, { accounts: [addressOf(2)] }]) {
        expect(await client.ask({ op: 'subscribe', channel: 'trades', ...named })).toMatchObject({ op: 'subscribed' });
      }
      expect(await client.ask({ op: 'subscribe', channel: 'newTokens' })).toMatchObject({ op: 'subscribed' });
      expect(await client.ask({ op: 'unsubscribe', channel: 'trades' })).toMatchObject({ op: 'unsubscribed', removed: expect.any(Array) });
      expect(client.closed).toBeNull();
      const premium = await connect(`?api-key=${keyOf({ name: 'premium' })}`).open();
      expect(await premium.ask({ op: 'subscribe', channel: 'trades' })).toMatchObject({ op: 'subscribed' });
    });

    it('are refused by name, in both dialects', async () => {
      const key = keyOf({ name: 'premium', withoutChannels: ['migrations', 'trades'] });
      const client = await connect(`?api-key=${key}`).open();
      expect(await client.ask({ op: 'subscribe', channel: 'migrations' })).toMatchObject({
        error: { code: 'FORBIDDEN', details: { plan: 'premium', feature: 'migrations' } },
      });
      expect(await client.ask({ op: 'subscribe', channel: 'trades', mints: [addressOf(1)] })).toMatchObject({
        error: { code: 'FORBIDDEN', details: { feature: 'trades' } },
      });
      const dialect = await connect(`?api-key=${key}`).open();
      const answers = [];
      for (const message of [
        { method: 'subscribeMigration' },
        { method: 'subscribeTokenTrade', keys: [addressOf(1)] },
        { method: 'subscribeNewToken' },
      ]) {
        const before = dialect.messages.length;
        dialect.send(message);
        answers.push(await until('the answer', () => dialect.messages[before]?.['message'] as string | undefined));
      }
      expect(answers).toEqual([
        expect.stringContaining('does not include the channel migrations'),
        expect.stringContaining('does not include the channel trades'),
        expect.stringContaining('Successfully subscribed'),
      ]);
    });
  });

  describe('numbers', () => {
    it.each(['ping', 'pong'] as const)('limit each %s of a client like its commands', async (sign) => {
      const client = await connect(`?api-key=${keyOf({ name: 'standard', commandsPerSecond: 1 })}`).open();
      const other = await connect(`?api-key=${keyOf({ name: 'standard' })}`).open();
      client.socket[sign]();
      expect(await client.ask({ op: 'ping' })).toMatchObject({ op: 'error', error: { code: 'RATE_LIMIT' } });
      for (let i = 0; i < streamLimits.rateRefusals * 2; i++) client.socket[sign]();
      expect((await client.end()).code).toBe(4029);
      other.socket[sign]();
      expect(await other.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
    });

    it('limit the connections of a key, at the handshake and with a first message', async () => {
      const key = keyOf({ name: 'standard', connections: 2 });
      const first = await connect(`?api-key=${key}`).open();
      await connect(`?api-key=${key}`).open();
      const refused = await refusalOf(connect(`?api-key=${key}`));
      expect(refused.status).toBe(429);
      expect(refused.body.error).toMatchObject({ code: 'RATE_LIMIT', details: { limit: 2 } });
      const late = await connect('').open();
      expect(await late.ask({ op: 'auth', key })).toMatchObject({ error: { code: 'RATE_LIMIT', details: { limit: 2 } } });
      expect((await late.end()).code).toBe(4029);
      await connect(`?api-key=${keyOf({ name: 'standard', connections: 2 })}`).open();
      first.close();
      await until('the place to be free', async () => {
        const client = connect(`?api-key=${key}`);
        await until('an outcome', () => client.refused !== null || client.socket.readyState === WebSocket.OPEN);
        return client.refused === null;
      });
    });

    it('limit connections that are checked at the same time, in the order in which Redis answers', async () => {
      const limiter = new LimiterInTurns();
      const late = await startTestGateway({ transport, limiter });
      try {
        late.keys.add('sluice_plans_together', { plan: { ...defaultPlans.standard, connections: 3 } });
        const open = Array.from({ length: 12 }, () => {
          const client = new StreamClient(`ws://${late.host}/api/data?api-key=sluice_plans_together`);
          clients.push(client);
          return client;
        });
        await until('all to be checked', () => limiter.waiting === open.length);
        limiter.answerAll();
        await until('all outcomes', () => open.every((client) => client.refused !== null || client.socket.readyState === WebSocket.OPEN));
        expect(open.filter(({ refused }) => refused === null)).toHaveLength(3);
        expect(open.flatMap(({ refused }) => (refused === null ? [] : [refused.status]))).toEqual(Array(9).fill(429));
      } finally {
        await late.close();
      }
    });

    it('limit the subscriptions of all its connections, in both dialects', async () => {
      const key = keyOf({ name: 'standard', subscriptions: 3 });
      const [one, other] = await Promise.all([connect(`?api-key=${key}`).open(), connect(`?api-key=${key}`).open()]);
      const mints = [1, 2, 3, 4].map(addressOf);
      expect(await one.ask({ op: 'subscribe', channel: 'prices', mints })).toMatchObject({
        error: { code: 'RATE_LIMIT', details: { limit: 3 } },
      });
      expect(await one.ask({ op: 'subscribe', channel: 'prices', mints: mints.slice(0, 2) })).toMatchObject({ op: 'subscribed' });
      expect(await other.ask({ op: 'subscribe', channel: 'prices', mints: mints.slice(0, 2) })).toMatchObject({
        error: { code: 'RATE_LIMIT' },
      });
      const dialect = await connect(`?api-key=${key}`).open();
      dialect.send({ method: 'subscribeTokenTrade', keys: mints.slice(0, 2) });
      await dialect.next('the refusal', ({ message }) => String(message).includes('At most 3 subscriptions'));
      dialect.send({ method: 'subscribeTokenTrade', keys: mints.slice(0, 1) });
      await dialect.next('the reply', ({ message }) => String(message).includes('Successfully'));
      // A topic that is already followed counts no second time.
      expect(await one.ask({ op: 'subscribe', channel: 'prices', mints: mints.slice(0, 2) })).toMatchObject({ op: 'subscribed' });
      expect(await one.ask({ op: 'subscribe', channel: 'newTokens' })).toMatchObject({ error: { code: 'RATE_LIMIT' } });
      await one.ask({ op: 'unsubscribe', channel: 'prices', mints: mints.slice(0, 1) });
      expect(await one.ask({ op: 'subscribe', channel: 'newTokens' })).toMatchObject({ op: 'subscribed' });
    });

    it('limit the commands of a connection', async () => {
      const client = await connect(`?api-key=${keyOf({ name: 'standard', commandsPerSecond: 1 })}`).open();
      for (let id = 0; id < 20; id++) client.send({ id, op: 'ping' });
      await client.reply(19);
      const ops = client.messages.filter(({ id }) => typeof id === 'number').map(({ op }) => op);
      expect(ops.filter((op) => op === 'pong').length).toBeGreaterThanOrEqual(1);
      expect(ops.filter((op) => op === 'error').length).toBeGreaterThanOrEqual(5);
      expect(await client.reply(19)).toMatchObject({ error: { code: 'RATE_LIMIT', message: 'At most 1 commands a second.' } });
    });
  });

  it('limit the commands of an open connection by the time that passes, even if the wall clock is set back', async () => {
    const client = await connect(`?api-key=${keyOf({ name: 'standard', commandsPerSecond: 20 })}`).open();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    for (let id = 1_000; id < 1_050; id++) client.send({ id, op: 'ping' });
    await client.reply(1_049);
    await until('a command to be accepted again', async () => (await client.ask({ op: 'ping' }))['op'] === 'pong');
  });

  describe('the limit of a key', () => {
    it('counts handshakes, and both of their answers report it', async () => {
      const key = keyOf({ name: 'standard', requestsPerMinute: 1, burst: 3 });
      const socket = new WebSocket(`ws://${server.host}/api/data?api-key=${key}`);
      const upgrade = await new Promise<IncomingMessage>((resolve) => socket.once('upgrade', resolve));
      expect(upgrade.headers['x-ratelimit-limit']).toBe('1');
      expect(upgrade.headers['x-ratelimit-remaining']).toBe('2');
      expect(upgrade.headers['ratelimit-policy']).toContain('q=1;w=60');
      socket.terminate();
      await connect(`?api-key=${key}`).open();
      const late = await connect('').open();
      expect(await late.ask({ op: 'auth', key })).toMatchObject({ op: 'authenticated' });
      const refused = await refusalOf(connect(`?api-key=${key}`));
      expect(refused.status).toBe(429);
      expect(refused.body.error).toMatchObject({ code: 'RATE_LIMIT', details: { limit: 1 } });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(1);
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
      expect(refused.headers['x-ratelimit-remaining']).toBe('0');
      const stranger = await connect('').open();
      expect(await stranger.ask({ op: 'auth', key })).toMatchObject({ error: { code: 'RATE_LIMIT', details: { limit: 1 } } });
      expect((await stranger.end()).code).toBe(4029);
      expect((await usageOf(key)).status).toBe(429);
    });
  });

  describe('ranges of addresses', () => {
    it('apply at the handshake and to a first message, for the client behind the proxy', async () => {
      const key = keyOf({ name: 'standard', burst: 2, requestsPerMinute: 1 }, { ipRanges: ['10.1.0.0/16'] });
      const inside = { 'X-Forwarded-For': '10.1.2.3' };
      const outside = { 'X-Forwarded-For': '10.2.2.3' };
      for (let attempt = 0; attempt < 3; attempt++) {
        const refused = await refusalOf(connect(`?api-key=${key}`, outside));
        expect(refused.status).toBe(403);
        expect(refused.body.error).toMatchObject({ code: 'FORBIDDEN', details: { address: '10.2.2.3' } });
      }
      const stranger = await connect('', outside).open();
      expect(await stranger.ask({ op: 'auth', key })).toMatchObject({ error: { code: 'FORBIDDEN', details: { address: '10.2.2.3' } } });
      expect((await stranger.end()).code).toBe(4503);
      // None of these requests counted for the key.
      await connect(`?api-key=${key}`, inside).open();
      const late = await connect('', inside).open();
      expect(await late.ask({ op: 'auth', key })).toMatchObject({ op: 'authenticated' });
    });
  });

  describe('GET /usage', () => {
    it('reports the plan, what is left and what is open, at both paths, and counts itself', async () => {
      const key = keyOf(
        { name: 'premium', requestsPerMinute: 1, burst: 5, withoutChannels: ['migrations'] },
        { keyId: 'usageKey01', label: 'mine', ipRanges: ['127.0.0.0/8'], expiresAtMs: 2e12 },
      );
      const client = await connect(`?api-key=${key}`).open();
      await client.ask({ op: 'subscribe', channel: 'prices', mints: [addressOf(1), addressOf(2)] });
      const answer = await usageOf(key);
      expect(answer.status).toBe(200);
      const usage = await answer.json();
      expect(checkUsage(usage)).toMatchObject({ ok: true });
      expect(usage).toEqual({
        key: {
          id: 'usageKey01',
          prefix: 'sluice_usageKey01',
          label: 'mine',
          scopes: ['stream', 'read'],
          ipRanges: ['127.0.0.0/8'],
          expiresAtMs: 2e12,
        },
        plan: { ...defaultPlans.premium, requestsPerMinute: 1, burst: 5, withoutChannels: ['migrations'] },
        requests: { remaining: 3, resetMs: expect.any(Number), counted: 'shared', minutes: expect.any(Object) },
        stream: { connections: 1, subscriptions: 2 },
      });
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('3');
      const again = (await (await usageOf(key, {}, '/api/usage')).json()) as { requests: { remaining: number } };
      expect(again.requests.remaining).toBe(2);
    });

    it('works with any scope, but not without a key', async () => {
      expect((await usageOf(keyOf({ name: 'standard' }, { scopes: ['trade'] }))).status).toBe(200);
      expect((await usageOf('sluice_nobody_x')).status).toBe(401);
      expect((await fetch(`http://${server.host}/usage`)).status).toBe(401);
    });
  });
});

describe.each(['uws', 'node'] as const)('a key whose check takes time over %s', (transport) => {
  const counting = inProcessLimiter();
  /** Checks that wait to be completed. */
  let waiting: (() => void)[] = [];
  const limiter: CountingLimiter = {
    ...counting,
    take: async (key, quota, cost) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return await counting.take(key, quota, cost);
    },
  };
  const letThrough = async (): Promise<void> => {
    await until('a check to wait', () => waiting.length > 0);
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  let server: TestGateway;
  beforeAll(async () => {
    server = await startTestGateway({ transport, limiter });
  });
  afterAll(() => server.close());
  const connect = (query: string): StreamClient => new StreamClient(`ws://${server.host}/api/data${query}`);

  it('delays the messages after it, and answers them in order', async () => {
    server.keys.add('sluice_slow_1');
    const client = await connect('').open();
    client.send({ id: 1, op: 'auth', key: 'sluice_slow_1' });
    client.send({ id: 2, op: 'subscribe', channel: 'newTokens' });
    client.send({ id: 3, op: 'auth', key: 'sluice_slow_1' });
    client.send({ id: 4, op: 'ping' });
    await letThrough();
    await client.reply(2);
    expect(client.messages.some(({ id }) => id === 3 || id === 4)).toBe(false);
    await letThrough();
    await client.reply(4);
    expect(client.messages.flatMap(({ id, op }) => (typeof id === 'number' ? [[id, op]] : []))).toEqual([
      [1, 'authenticated'],
      [2, 'subscribed'],
      [3, 'authenticated'],
      [4, 'pong'],
    ]);
    client.close();
  });

  it('lets only a limited amount wait', async () => {
    const client = await connect('').open();
    client.send({ id: 1, op: 'auth', key: 'sluice_slow_1' });
    for (let id = 2; id < 200; id++) client.send({ id, op: 'ping' });
    expect((await client.end()).code).toBe(4029);
    await letThrough();
    expect(client.messages).toEqual([]);
  });

  it('is refused if the key was revoked meanwhile', async () => {
    server.keys.add('sluice_slow_2');
    const [first, handshake] = [await connect('').open(), connect('?api-key=sluice_slow_2')];
    first.send({ id: 1, op: 'auth', key: 'sluice_slow_2' });
    await until('both to be checked', () => waiting.length === 2);
    server.keys.revoke('sluice_slow_2');
    await letThrough();
    expect(await first.reply(1)).toMatchObject({ error: { code: 'UNAUTHENTICATED' } });
    expect((await first.end()).code).toBe(4501);
    expect((await handshake.end()).code).toBe(4501);
  });

  it('leaves nothing behind if the client did not wait for the handshake', async () => {
    server.keys.add('sluice_slow_3');
    const gone = connect('?api-key=sluice_slow_3');
    await until('it to be checked', () => waiting.length === 1);
    gone.close();
    await gone.end();
    const other = connect('?api-key=sluice_slow_3');
    await until('the other to be checked', () => waiting.length === 2);
    await letThrough();
    await other.open();
    const asked = fetch(`http://${server.host}/usage`, { headers: { Authorization: 'Bearer sluice_slow_3' } });
    await letThrough();
    await letThrough();
    expect(await (await asked).json()).toMatchObject({ stream: { connections: 1 } });
    other.close();
  });
});
