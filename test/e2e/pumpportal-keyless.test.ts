import { Type } from 'typebox';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bindEndpoint } from '@sluice/gateway/http/endpoint.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { defineEndpoint, keylessQuota } from '@sluice/shared/wire/rest/endpoint.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { fastClock, manualClock } from '../support/clocks.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, migrationEvent, newTokenEvent, tradeEvent } from '../support/events/stream-events.ts';

const acked = 'Successfully subscribed to keys.';
/** How many times faster the bounds of the stream pass. */
const speedup = 10;

const bare = { withApiPrefix: false, tag: 'Test', summary: 'A test.', method: 'GET', answer: Type.Object({}), errors: [] } as const;
const withoutKey = defineEndpoint({ ...bare, id: 'testKeyless', path: '/test/keyless', access: 'read', keyless: true });
const withKey = defineEndpoint({ ...bare, id: 'testKeyed', path: '/test/keyed', access: 'read' });

describe.each(['uws', 'node'] as const)('PumpPortal clients without a key, over %s', (transport) => {
  let server: TestGateway;
  const clients: StreamClient[] = [];
  beforeAll(async () => {
    server = await startTestGateway({
      transport,
      clock: fastClock(speedup),
      config: { pumpPortalKeyless: true, trustedProxies: ['127.0.0.0/8'] },
      endpoints: [withoutKey, withKey].map((spec) =>
        bindEndpoint(spec, ({ principal }) => ({ json: { keyId: principal?.keyId ?? null } })),
      ),
    });
    server.keys.add('sluice_reader', { scopes: ['read'] });
    server.keys.add('sluice_small', { plan: { ...defaultPlans.standard, subscriptions: 3 } });
  });
  afterAll(async () => {
    for (const { socket } of clients) socket.terminate();
    await server.close();
  });

  function connect(address: string, query = '', { host } = server): StreamClient {
    const client = new StreamClient(`ws://${host}/api/data${query}`, { 'X-Forwarded-For': address });
    clients.push(client);
    return client;
  }
  const noticesOf = ({ messages }: StreamClient): unknown[] => messages.map(({ message }) => message).filter((text) => text !== undefined);
  const notices = (client: StreamClient, count: number): Promise<unknown> =>
    until(`${count} notices`, () => noticesOf(client).length >= count);
  const get = (path: string, address: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`http://${server.host}${path}`, { headers: { 'X-Forwarded-For': address, ...headers } });

  it('use the four subscriptions and their ends, and nothing else', async () => {
    const client = await connect('198.51.100.1').open();
    const [mint, trader] = [addressOf(1), addressOf(2)];
    for (const method of ['subscribeNewToken', 'subscribeMigration']) client.send({ method });
    client.send({ method: 'subscribeTokenTrade', keys: [mint] });
    client.send({ method: 'subscribeAccountTrade', keys: [trader] });
    client.send('ping');
    await notices(client, 5);
    expect(noticesOf(client).slice(2)).toEqual([acked, acked, 'pong']);
    const events = [newTokenEvent(mint), tradeEvent(mint), tradeEvent(addressOf(3), { trader }), migrationEvent(mint)];
    await server.publish(events.map((event) => entryOf(event)));
    await until('all events', () => client.messages.length === 9);
    expect(client.messages.slice(5).map(({ ['txType']: kind }) => kind)).toEqual(['create', 'buy', 'buy', 'migrate']);
    for (const method of ['unsubscribeNewToken', 'unsubscribeMigration', 'unsubscribeTokenTrade', 'unsubscribeAccountTrade'])
      client.send({ method });
    await notices(client, 9);
    await server.publish(events.map((event) => entryOf(event)));
    for (const command of [{ op: 'subscribe', channel: 'newTokens' }, { op: 'subscribe', channel: 'orders' }, { op: 'list' }]) {
      expect(await client.ask(command)).toMatchObject({ op: 'error', error: { code: 'UNAUTHENTICATED' } });
    }
    expect(client.messages.filter(({ ['txType']: kind }) => kind !== undefined)).toHaveLength(4);
  });

  it('follow 300 mints and 100 accounts, one message for each, in one burst', async () => {
    const client = await connect('198.51.100.2').open();
    const mints = Array.from({ length: 300 }, (_, at) => addressOf(1_000 + at));
    const accounts = Array.from({ length: 100 }, (_, at) => addressOf(2_000 + at));
    for (const mint of mints) client.send({ method: 'subscribeTokenTrade', keys: [mint] });
    for (const account of accounts) client.send({ method: 'subscribeAccountTrade', keys: [account] });
    await notices(client, 400);
    expect(new Set(noticesOf(client))).toEqual(new Set([acked]));
    const trades = [...mints.map((mint) => tradeEvent(mint)), ...accounts.map((trader) => tradeEvent(addressOf(3), { trader }))];
    await server.publish(trades.map((trade) => entryOf(trade)));
    await until('all trades', () => client.messages.length === 800);
  });

  it('have limits of mints and accounts for each address, which end with the connection or its authentication', async () => {
    const address = '2001:db8:1:1::1';
    const mints = (from: number, count: number) => Array.from({ length: count }, (_, at) => addressOf(10_000 + from + at));
    const [one, two] = [await connect(address).open(), await connect('2001:db8:1:1::2').open()];
    const ask = async (client: StreamClient, method: string, keys: readonly string[]): Promise<unknown> => {
      const before = noticesOf(client).length;
      client.send({ method, keys });
      await notices(client, before + 1);
      return noticesOf(client).at(-1);
    };
    const { keylessMints, keylessAccounts } = streamLimits;
    const full = `At most ${keylessMints} mints for one address without an API key.`;
    expect(await ask(one, 'subscribeTokenTrade', mints(0, keylessMints - 2))).toBe(acked);
    expect(await ask(two, 'subscribeTokenTrade', mints(0, 3))).toBe(full);
    expect(await ask(two, 'subscribeTokenTrade', mints(0, 2))).toBe(acked);
    expect(await ask(one, 'subscribeTokenTrade', mints(9_000, 1))).toBe(full);
    expect(await ask(await connect('2001:db8:1:2::1').open(), 'subscribeTokenTrade', mints(9_000, 1))).toBe(acked);
    expect(await ask(one, 'subscribeAccountTrade', mints(0, keylessAccounts))).toBe(acked);
    expect(await ask(two, 'subscribeAccountTrade', mints(0, 1))).toMatch(/^At most .* accounts for one address/);
    expect(await two.ask({ op: 'auth', key: 'sluice_small' })).toMatchObject({ op: 'authenticated' });
    expect(await ask(one, 'subscribeTokenTrade', mints(9_000, 2))).toBe(acked);
    expect(await ask(two, 'subscribeTokenTrade', mints(2, 2))).toMatch(/^At most 3 subscriptions of one key/);
    expect(await ask(two, 'subscribeTokenTrade', mints(2, 1))).toBe(acked);
    one.socket.terminate();
    const three = await connect(address).open();
    await until('the end of the first', async () => (await ask(three, 'subscribeTokenTrade', mints(0, 5_000))) === acked);
  });

  it('have a limit of connections for each address; one more is refused with 429', async () => {
    const address = '198.51.100.3';
    const open = await Promise.all(Array.from({ length: streamLimits.keylessConnections }, () => connect(address).open()));
    const refused = connect(address);
    await until('the refusal', () => refused.refused !== null);
    expect([refused.refused!.status, refused.refused!.body.error.code]).toEqual([429, 'RATE_LIMIT']);
    // A client with a key, and another address, are not affected.
    await connect(address, `?api-key=${goodKey}`).open();
    await connect('198.51.100.4').open();
    expect(await open[0]!.ask({ op: 'auth', key: goodKey })).toMatchObject({ op: 'authenticated' });
    await connect(address).open();
    open[1]!.socket.terminate();
    await until('a free place', async () => {
      const next = connect(address);
      await until('an answer', () => next.refused !== null || next.socket.readyState === WebSocket.OPEN);
      return next.refused === null;
    });
    for (const { socket } of open) socket.terminate();
  });

  it('cannot take the space of others: one address that sends more than may wait loses only its own connections', async () => {
    // Time does not pass, so that messages wait however slow the machine is.
    const clock = manualClock();
    const config = { pumpPortalKeyless: true, trustedProxies: ['127.0.0.0/8'] };
    const still = await startTestGateway({ transport, clock, config });
    const open = (address: string, query = ''): Promise<StreamClient> => connect(address, query, still).open();
    const flooding = await Promise.all(Array.from({ length: 64 }, () => open('198.51.100.20')));
    const others = [await open('198.51.100.21'), await open('198.51.100.20', `?api-key=${goodKey}`)];
    // Three of them are all that may wait for one connection: 1 MiB, with 256 bytes for each message.
    const head = JSON.stringify({ method: 'subscribeMigration', more: '' });
    const long = { method: 'subscribeMigration', more: 'x'.repeat(Math.floor(2 ** 20 / 3) - 256 - head.length) };
    for (const client of flooding) {
      // The burst that is carried out at once, and then what must wait.
      for (let at = 0; at < streamLimits.dialectCommands; at++) client.send({ method: 'subscribeMigration' });
      for (let at = 0; at < 3; at++) client.send(long);
    }
    // A pong follows the messages before it.
    const pongs = flooding.map(({ socket }) => new Promise((resolve) => socket.once('pong', resolve).once('close', resolve).ping()));
    await Promise.all(pongs);
    for (const client of others) {
      for (let at = 0; at < 300; at++) client.send({ method: 'subscribeTokenTrade', keys: [addressOf(30_000 + at)] });
    }
    await until('all replies', async () => {
      await clock.pass(100);
      return others.every((client) => client.closed !== null || noticesOf(client).length === 300);
    });
    expect(others.map(({ closed }) => closed)).toEqual([null, null]);
    expect(new Set(others.flatMap(noticesOf))).toEqual(new Set([acked]));
    expect(new Set(flooding.flatMap(({ closed }) => (closed === null ? [] : [closed.code])))).toEqual(new Set([4029]));
    for (const { socket } of [...flooding, ...others]) socket.terminate();
    let ended = false;
    void still.close().then(() => (ended = true));
    await until('the end of the gateway', async () => {
      await clock.pass(1_000);
      return ended;
    });
  });

  it('take an empty key for none', async () => {
    const client = await connect('198.51.100.22', '?api-key=').open();
    client.send({ method: 'subscribeNewToken' });
    await notices(client, 1);
    expect(client.closed).toBeNull();
    expect((await get('/test/keyless?api-key=', '198.51.100.22')).status).toBe(200);
    expect((await get('/test/keyed?api-key=', '198.51.100.22')).status).toBe(401);
  });

  it('may be silent before they subscribe; a client that uses `op` must authenticate in time', async () => {
    const [silent, native] = [await connect('198.51.100.5').open(), await connect('198.51.100.5').open()];
    expect(await native.ask({ op: 'list' })).toMatchObject({ error: { code: 'UNAUTHENTICATED' } });
    expect(await native.end()).toMatchObject({ code: 4501 });
    silent.send({ method: 'subscribeNewToken' });
    await notices(silent, 1);
    expect(silent.closed).toBeNull();
  });

  it('call the endpoints that need no key, with a limit for each address; a wrong key is refused', async () => {
    const address = '198.51.100.6';
    expect((await get('/test/keyless', address, { 'X-API-Key': 'sluice_reader' })).status).toBe(200);
    expect((await get('/test/keyless', address, { 'X-API-Key': goodKey })).status).toBe(403);
    expect((await get('/test/keyless', address, { 'X-API-Key': 'nobody' })).status).toBe(401);
    expect((await get('/test/keyed', address)).status).toBe(401);
    const statuses = [];
    for (let at = 0; at < keylessQuota.burst; at++) statuses.push((await get('/test/keyless', address)).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    // The limit fills up while the test runs.
    const refused = await until('the refusal', async () => {
      const answer = await get('/test/keyless', address);
      return answer.status === 429 ? answer : undefined;
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await get('/test/keyless', '198.51.100.7')).status).toBe(200);
    expect((await get('/test/keyless', address, { 'X-API-Key': 'sluice_reader' })).status).toBe(200);
  });
});

it('nothing that can spend, or that shows data of somebody, is keyless', () => {
  expect(endpoints.filter(({ keyless }) => keyless === true).map(({ path }) => path)).toEqual(['/api/trade-local']);
});
