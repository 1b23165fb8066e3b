import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingWorld } from '../support/chain/trading-world.ts';

let world: TradingWorld;
beforeAll(async () => {
  world = await startTradingWorld();
});
afterAll(() => world.close());

test('many identical orders at once: each key gets an order of its own, or none', async () => {
  const { mint } = launchCoin(world.chain);
  const publicKey = await world.wallet();
  const gateway = await (await world.gateway()).ready(publicKey, mint);
  const trade = { publicKey, mint, amount: 0.01, priorityFee: 0.0001, slippage: 50, skipSimulation: true };
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => gateway.post('/trade/buy', trade, { idempotencyKey: `alike-${i}` })),
  );
  const made = answers.filter(({ status }) => status === 200);
  for (const { status, headers, body } of answers) {
    if (status === 200) expect(headers.get('idempotency-replayed'), JSON.stringify(body)).toBeNull();
    else expect([status, body['error'], headers.get('retry-after')]).toMatchObject([429, { code: 'RATE_LIMIT' }, '1']);
  }
  const signatures = made.map(({ body }) => String(body['signature']));
  expect(made.length).toBeGreaterThan(0);
  expect(new Set(signatures).size).toBe(made.length);
  await until('all of them to land', () => world.landed(publicKey).length === made.length);
  expect([...world.landed(publicKey)].toSorted()).toEqual(signatures.toSorted());
});
