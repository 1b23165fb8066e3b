import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '@sluice/gateway/store/sql/database.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { until as untilMet } from '../support/gateway.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { startTradingWorld, type TradingWorld } from '../support/chain/trading-world.ts';
import { silent } from '../support/chain/tampered-node.ts';

/** From the end of the holder until another gateway trades: 1.5 to 2 s on an idle machine, and five times as long on a slow one. */
const takeoverMs = 10_000;
let world: TradingWorld;
let redis: TestRedis;
let publicKey: string;
let mint: string;

interface Running {
  readonly program: RunningProgram;
  readonly url: string;
}
const running: Running[] = [];
/** How long each takeover took. */
const tookMs: number[] = [];
/** Orders whose holder was killed. */
const passedOn: unknown[] = [];

async function start(): Promise<Running> {
  const env = {
    REDIS_URL: redis.url,
    DATA_DIR: world.store.dataDir,
    SOLANA_RPC_URL: world.node.url,
    SOLANA_WS_URL: world.simnet.wsUrl,
    KEYSTORE_PASSPHRASE_FILE: join(world.store.dataDir, 'passphrase'),
    TRADING: 'live',
    PORT: '0',
    LOG_LEVEL: 'info',
  };
  const program = runProgram('cli/gateway.ts', { folder: world.store.dataDir, env });
  const one = { program, url: String((await program.logged('listening', 60_000))['url']) };
  running.push(one);
  return one;
}

interface Answer {
  readonly status: number;
  readonly replayed: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

async function buy({ url }: Running, amount: number, { key, dryRun = false }: { key?: string; dryRun?: boolean } = {}): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${world.operatorKey}`,
    'content-type': 'application/json',
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  };
  const body = JSON.stringify({ publicKey, mint, amount, dryRun });
  const answer = await fetch(`${url}/trade/buy`, { method: 'POST', headers, body });
  const replayed = answer.headers.get('idempotency-replayed') === 'true';
  return { status: answer.status, replayed, body: (await answer.json()) as Answer['body'] };
}

async function statusOf({ url }: Running, orderId: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${world.operatorKey}` };
  return ((await (await fetch(`${url}/trade/orders/${String(orderId)}`, { headers })).json()) as Answer['body'])['status'];
}

/** Calls the endpoints of triggers, as `DELETE ?mint=…`. */
async function triggers({ url }: Running, method: 'GET' | 'POST' | 'DELETE', where = '', body?: object): Promise<Answer['body']> {
  const headers = { authorization: `Bearer ${world.operatorKey}`, 'content-type': 'application/json' };
  for (const endMs = performance.now() + 30_000; ; await pause(200)) {
    const answer = await fetch(`${url}/trade/triggers${where}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as Answer['body'];
    if (answer.status !== 503 || performance.now() > endMs) return { ...json, status: json['status'] ?? answer.status };
  }
}

async function metric({ url }: Running, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^sluice_gateway_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

async function readyRole({ url }: Running): Promise<unknown> {
  const body = (await (await fetch(`${url}/readyz`)).json()) as { tradingRole?: unknown; error?: { details?: { tradingRole?: unknown } } };
  return body.tradingRole ?? body.error?.details?.tradingRole;
}

/** Each check is a request to a gateway, and costs processor time. */
const until = (what: string, check: () => Promise<boolean>, timeoutMs = 60_000): Promise<boolean> =>
  untilMet(what, async () => (await check()) || pause(20, false), timeoutMs);

const follows = (metrics: string): boolean => metrics.includes('chain_link_up{');
const holds = async (one: Running): Promise<boolean> => (await metric(one, 'trading_role')) === 1;

async function untilTrading(one: Running): Promise<void> {
  await until('the gateway to trade', async () => (await buy(one, 0.001, { dryRun: true })).status === 200, 60_000);
}

/** The gateway that holds the role, and one that does not. */
async function both(): Promise<readonly [holder: Running, other: Running]> {
  while (running.length < 2) await start();
  const [first, second] = running as [Running, Running];
  await until('one holder', async () => (await holds(first)) !== (await holds(second)));
  const pair: readonly [Running, Running] = (await holds(first)) ? [first, second] : [second, first];
  for (const one of pair) await untilTrading(one);
  return pair;
}

/** Opens a transaction of the store. No other one is stored until the returned function is called. */
async function lockOrders(database: Database): Promise<() => void> {
  let unlock = (): void => undefined;
  const unlocked = new Promise<void>((resolve) => (unlock = resolve));
  await new Promise<void>((resolve, reject) => {
    const work = async (): Promise<void> => {
      resolve();
      await unlocked;
    };
    database.transaction('orders', work).catch(reject);
  });
  return unlock;
}

/** SIGKILL. Returns how long it took until the other gateway held the role. */
async function killHolder(holder: Running, other: Running): Promise<number> {
  holder.program.child.kill('SIGKILL');
  const atMs = performance.now();
  running.splice(running.indexOf(holder), 1);
  while (!(await holds(other))) await pause(20);
  return performance.now() - atMs;
}

/** Kills the holder, and expects that the next one sends the order: with one message. */
async function passesOn(holder: Running, other: Running, waiting: Promise<Answer>, sent: number): Promise<Answer> {
  const took = await killHolder(holder, other);
  const bought = await waiting;
  world.node.tampering = null;
  expect(bought, JSON.stringify(bought.body)).toMatchObject({ status: 200, replayed: false });
  await until('its message to be sent', async () => world.sent().size > sent);
  expect(world.sent().size).toBe(sent + 1);
  passedOn.push(bought.body['orderId']);
  tookMs.push(took);
  return bought;
}

beforeAll(async () => {
  [world, redis] = await Promise.all([startTradingWorld({ slotMs: 80 }), startRedis()]);
  publicKey = await world.wallet();
  ({ mint } = launchCoin(world.chain));
}, 60_000);
afterEach(() => {
  world.node.tampering = null;
});
afterAll(async () => {
  for (const { program } of running) program.child.kill('SIGKILL');
  await world.close();
  await redis.stop();
}, 60_000);

describe('the trading role', { timeout: 180_000 }, () => {
  it('is held by one of two gateways; the other hands its orders over and follows no accounts', async () => {
    const first = await start();
    await untilTrading(first);
    await until('the only gateway to hold the role', () => holds(first));
    const [holder, other] = await both();
    expect([await readyRole(holder), await readyRole(other)]).toEqual(['self', 'other']);
    const sent = world.sent().size;
    const bought = await buy(other, 0.01, { key: 'through-the-other' });
    expect(bought, JSON.stringify(bought.body)).toMatchObject({ status: 200, replayed: false, body: { status: 'submitted', mint } });
    expect(await buy(holder, 0.01, { key: 'through-the-other' })).toMatchObject({
      replayed: true,
      body: { orderId: bought.body['orderId'] },
    });
    expect(await buy(other, 0.02)).toMatchObject({ status: 200, replayed: false });
    expect(world.sent().size).toBe(sent + 2);
    const { orderId } = bought.body;
    await until('the order to end', async () => (await statusOf(other, orderId)) === 'finalized');
    expect(await metric(other, 'orders_handed_out_total')).toBeGreaterThanOrEqual(2);
    expect(await metric(holder, 'orders_handed_in_total')).toBe(await metric(other, 'orders_handed_out_total'));
    // On a machine that pauses for a second, the role passes on.
    await until('one gateway to follow the chain', async () => {
      const texts = await Promise.all([holder, other].map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
      return texts.every((text) => follows(text) === text.includes('trading_role 1')) && texts.some(follows);
    });
  });

  it('arms and cancels triggers for the other gateway, by id and by token', async () => {
    const [holder, other] = await both();
    const handedOut = await metric(other, 'orders_handed_out_total');
    const exit = { publicKey, mint, side: 'sell', amount: '100%', when: { metric: 'priceSol', op: '<=', value: 1e-18 } };
    const armed = [];
    for (let count = 0; count < 3; count++) armed.push(await triggers(other, 'POST', '', exit));
    for (const { triggerId, status } of armed) {
      expect(status).toBe('armed');
      expect(await triggers(holder, 'GET', `/${String(triggerId)}`)).toMatchObject({ triggerId, status: 'armed' });
    }
    const [first] = armed;
    expect(await triggers(other, 'DELETE', `/${String(first!['triggerId'])}`)).toMatchObject({
      triggerId: first!['triggerId'],
      status: 'cancelled',
    });
    expect(await triggers(other, 'DELETE', '/trg_01JD2Q6M7N8P9RSTVWXYZ01234')).toMatchObject({ status: 404 });
    expect(await triggers(other, 'DELETE', `?mint=${launchCoin(world.chain).mint}`)).toMatchObject({ cancelled: 0, firing: 0 });
    expect(await triggers(other, 'DELETE', `?mint=${mint}`)).toMatchObject({ cancelled: 2, firing: 0 });
    expect(await metric(other, 'orders_handed_out_total')).toBeGreaterThanOrEqual(handedOut + 6);
    expect(await triggers(other, 'GET', '?status=armed')).toMatchObject({ triggers: [], next: null });
  });

  it('does not act on calls that no gateway sealed', async () => {
    const [holder] = await both();
    const leases = await redis.command('KEYS', '*lease:trading-*');
    const [role] = /trading-live-cluster-[0-9a-f]{16}/.exec(leases)!;
    const [fence] = /\d{10,}/.exec(await redis.command('GET', `{sluice}:lease:${role}`))!;
    const mailbox = `{sluice}:orders:${role}:calls:${fence}`;
    const sent = world.sent().size;
    await redis.command(
      'RPUSH',
      mailbox,
      `${'x'.repeat(38)}{"id":"1","replyTo":"a","endpoint":"tradeBuy","call":{"owner":null,"body":{}}}`,
    );
    const refused = 'records_refused_total\\{kind="handed_call"\\}';
    await until('the record to be refused', async () => (await metric(holder, refused)) === 1);
    expect(world.sent().size).toBe(sent);
  });

  it('passes on a call that its holder had not read', async () => {
    const [holder, other] = await both();
    const sent = world.sent().size;
    const handedOut = await metric(other, 'orders_handed_out_total');
    holder.program.child.kill('SIGSTOP');
    const waiting = buy(other, 0.021);
    await until('the call to be handed over', async () => (await metric(other, 'orders_handed_out_total')) > handedOut);
    await passesOn(holder, other, waiting, sent);
  });

  it('passes on an order that was under way', async () => {
    const [holder, other] = await both();
    let asked = 0;
    world.node.tampering = async ({ method }, answer) => (method === 'simulateTransaction' && asked++ === 0 ? silent : await answer());
    const sent = world.sent().size;
    const waiting = buy(other, 0.03);
    await untilMet('the order to be under way', () => asked > 0, 30_000);
    await passesOn(holder, other, waiting, sent);
  });

  it('passes on an order that was signed and not stored', async () => {
    const [holder, other] = await both();
    const database = await openSqlite(join(world.store.dataDir, 'sluice.db'));
    let unlock = (): void => undefined;
    /** The order is signed only if the store took another one within the last second. A slow machine needs more than one attempt. */
    const signNext = async (): Promise<{ readonly waiting: Promise<Answer>; readonly sent: number } | null> => {
      expect(await buy(other, 0.032)).toMatchObject({ status: 200 });
      const sent = world.sent().size;
      const signed = await metric(holder, 'orders_signer_signed_total');
      unlock = await lockOrders(database);
      const waiting = buy(other, 0.031);
      let isRefused = false;
      void waiting.then(() => (isRefused = true));
      await until(
        'the order to be signed or refused',
        async () => isRefused || (await metric(holder, 'orders_signer_signed_total')) > signed,
      );
      if (!isRefused) return { waiting, sent };
      unlock();
      return null;
    };
    try {
      let next = await signNext();
      for (let attempt = 1; next === null && attempt < 20; attempt++) next = await signNext();
      const { waiting, sent } = next!;
      const passed = passesOn(holder, other, waiting, sent);
      unlock();
      await passed;
    } finally {
      unlock();
      await database.close();
    }
  });

  it('passes on an order that was stored, and whose bytes reached nobody', async () => {
    const [holder, other] = await both();
    let asked = 0;
    world.node.tampering = async ({ method }, answer) => (method === 'sendTransaction' && asked++ === 0 ? silent : await answer());
    const sent = world.sent().size;
    const waiting = buy(other, 0.04);
    await untilMet('the order to be sent', () => asked > 0, 30_000);
    const bought = await passesOn(holder, other, waiting, sent);
    await untilMet('the order to land', () => world.landed(publicKey).includes(String(bought.body['signature'])));
  });

  it('passes on an order that was sent, and not answered', async () => {
    const [holder, other] = await both();
    let asked = 0;
    world.node.tampering = async ({ method }, answer) => {
      const result = await answer();
      return method === 'sendTransaction' && asked++ === 0 ? silent : result;
    };
    const sent = world.sent().size;
    const waiting = buy(other, 0.041);
    await untilMet('the order to be sent', () => asked > 0, 30_000);
    await passesOn(holder, other, waiting, sent);
  });

  it('passes on an order that has landed', async () => {
    const [holder, other] = await both();
    const sent = world.sent().size;
    const buyLast = (): Promise<Answer> => buy(other, 0.042, { key: 'landed' });
    await until('the order to be placed', async () => (await buyLast()).status === 200);
    const bought = { ...(await buyLast()), replayed: false };
    await untilMet('the order to land', () => world.landed(publicKey).includes(String(bought.body['signature'])));
    await passesOn(holder, other, Promise.resolve(bought), sent);
  });

  it('brings the orders that it passed on to their ends, without another message', async () => {
    const [holder] = await both();
    const sent = world.sent().size;
    const ends = async (): Promise<readonly unknown[]> => Promise.all(passedOn.map((orderId) => statusOf(holder, orderId)));
    await until('the orders to end', async () => (await ends()).every((status) => status === 'finalized'));
    expect(passedOn.length).toBe(6);
    expect(world.sent().size).toBe(sent);
  });

  it('passes on soon', () => {
    // Not each time, because processes of a busy machine pause for seconds.
    expect(Math.min(...tookMs)).toBeLessThan(takeoverMs);
  });

  it('passes on at once when its holder ends in order', async () => {
    const [holder, other] = await both();
    const ended = holder.program.stop();
    running.splice(running.indexOf(holder), 1);
    const bought = await buy(other, 0.05);
    expect(bought, JSON.stringify(bought.body)).toMatchObject({ status: 200 });
    expect(await ended).toBe(0);
    await until('the role to pass on', () => holds(other));
  });
});
