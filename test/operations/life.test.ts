import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../support/clocks.ts';
import { goodKey, startTestGateway, until } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { runProgram } from '../support/processes.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { RawConnection } from '../support/clients/raw-http.ts';
import { startRedis } from '../support/servers/redis.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { startTradingWorld } from '../support/chain/trading-world.ts';

/** How a gateway ends. */
describe.each(['uws', 'node'] as const)('a gateway over %s that gets SIGTERM', (transport) => {
  it('hands its streams over a few at a time, and notifies each client before', async () => {
    const clock = manualClock();
    const own = await startTestGateway({ transport, clock });
    const clients = await Promise.all(
      Array.from({ length: 180 }, () => new StreamClient(`ws://${own.host}/api/data?api-key=${goodKey}`).open()),
    );
    await Promise.all(clients.map((client) => client.ask({ op: 'ping' })));
    let closes = 0;
    for (const { socket } of clients) socket.on('close', () => closes++);
    let hasEnded = false;
    const ended = own.close().then(() => (hasEnded = true));
    // Four batches, a tenth of a second apart.
    for (const total of [50, 100, 150, clients.length]) {
      await until(`${total} closes`, () => closes >= total);
      await clock.pass(90);
      expect(closes).toBe(total);
      await clock.pass(10);
    }
    await until('the gateway to end', () => clock.pass(20).then(() => hasEnded));
    await ended;
    for (const client of clients) {
      expect(client.closed!.code).toBe(4012);
      expect(client.messages.at(-1)).toEqual({ op: 'draining', reconnectWithinMs: 1_000 });
    }
  });

  it('finishes running requests, and waits three seconds for those that do not end', async () => {
    let finish: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (finish = resolve));
    const answerOf = async (wait: Promise<void>) => {
      await wait;
      return { status: 200, lines: '', headers: {}, body: 'done' };
    };
    const clock = manualClock();
    const own = await startTestGateway({
      transport,
      clock,
      routes: [
        { method: 'GET', path: '/test/held', handler: () => answerOf(held) },
        { method: 'GET', path: '/test/endless', handler: () => answerOf(new Promise(() => undefined)) },
      ],
    });
    const [one, other] = [await RawConnection.open(own.gateway.port), await RawConnection.open(own.gateway.port)];
    const [answer, none] = [one.ask({ method: 'GET', target: '/test/held' }), other.ask({ method: 'GET', target: '/test/endless' })];
    const watcher = await RawConnection.open(own.gateway.port);
    await until('both to be running', async () => {
      const metrics = (await watcher.ask({ method: 'GET', target: '/metrics' }))!.body.toString();
      return metrics.includes('\nsluice_gateway_requests_open 2\n');
    });
    let hasEnded = false;
    const ended = own.close().then(() => (hasEnded = true));
    await expect(until('the listener to be closed', () => RawConnection.open(own.gateway.port).then(() => false))).rejects.toThrow(
      /ECONNREFUSED/,
    );
    finish();
    const finished = await answer;
    expect(finished?.status).toBe(200);
    expect(finished?.headers.get('connection')).toBe('close');
    await clock.pass(2_900);
    await turn();
    expect(hasEnded).toBe(false);
    await until('the gateway to end', () => clock.pass(20).then(() => hasEnded));
    await ended;
    expect(await none).toBeNull();
    expect(clock.steadyMs()).toBeLessThan(10_000);
  });
});

it('a gateway answers the orders that it started, and the next gateway completes them', async () => {
  // A transaction must land within 150 slots. On a busy machine the next gateway may need 15 seconds until it runs.
  const world = await startTradingWorld({ slotMs: 250 });
  onTestFinished(() => world.close());
  const gateway = await world.gateway();
  const { mint } = launchCoin(world.chain);
  const publicKey = await world.wallet();
  await gateway.ready(publicKey, mint);
  // Persistent connections, one for each order.
  const connections = await Promise.all(Array.from({ length: 6 }, () => RawConnection.open(gateway.gateway.port)));
  const before = world.node.calls.length;
  const headers = { Authorization: `Bearer ${world.operatorKey}`, 'Content-Type': 'application/json' };
  const orders = connections.map((connection, index) => {
    const body = JSON.stringify({ publicKey, mint, amount: 0.01 + index / 1_000 });
    return connection.ask({ method: 'POST', target: '/trade/buy', headers, body });
  });
  await until('the first to be simulated', () => world.node.calls.slice(before).some(({ method }) => method === 'simulateTransaction'));
  await gateway.gateway.close();
  const answers = await Promise.all(orders);
  const ids = answers.map((answer) => {
    expect(answer?.status).toBe(200);
    return (answer!.json() as { readonly orderId: string }).orderId;
  });
  const next = await world.gateway();
  for (const id of ids) {
    await until(
      `order ${id} to end`,
      async () => {
        world.chain.advance();
        return (await next.get(`/trade/orders/${id}`)).body['status'] === 'finalized';
      },
      40_000,
    );
  }
  expect(world.landed(publicKey)).toHaveLength(ids.length);
});

it('a gateway continues to answer until a balancer has excluded it', async () => {
  const clock = manualClock();
  const drainWaitMs = 2_000;
  const own = await startTestGateway({ clock, config: { operations: { ...testConfig.operations, drainWaitMs } } });
  const { url } = own.gateway;
  let hasEnded = false;
  const ended = own.close().then(() => (hasEnded = true));
  await until('it to be unready', async () => {
    const { error } = (await (await fetch(`${url}/readyz`)).json()) as { readonly error: { readonly code: string } };
    return error.code === 'DRAINING';
  });
  const late = new StreamClient(`${url.replace('http', 'ws')}/api/data?api-key=x`);
  await until('the stream to be refused', () => late.refused !== null);
  expect(late.refused).toMatchObject({ status: 503, body: { error: { code: 'DRAINING' } } });
  await clock.pass(drainWaitMs - 1);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect(hasEnded).toBe(false);
  await clock.pass(1);
  await ended;
});

it('a gateway process ends within 30 seconds also while Redis does not answer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-life-'));
  const redis = await startRedis();
  const gateway = runProgram('cli/gateway.ts', { folder, env: { REDIS_URL: redis.url, PORT: '0' } });
  onTestFinished(async () => {
    gateway.child.kill('SIGKILL');
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await gateway.logged('listening');
  redis.pause();
  const beganMs = performance.now();
  expect(await gateway.stop()).not.toBeNull();
  // Its own limit is 29 seconds.
  expect(performance.now() - beganMs).toBeLessThan(60_000);
});
