import { orderSteps } from '../../trading/src/model/order-stats.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';

/** What a gateway reports about its own orders. */
let world: TradingWorld;
let gateway: TradingGateway;
beforeAll(async () => {
  world = await startTradingWorld();
  gateway = await world.gateway();
}, 60_000);
afterAll(() => world.close());

interface StatusBody {
  readonly orders: {
    readonly stored: number;
    readonly finalized: number;
    readonly failed: number;
    readonly executionUs: Readonly<Record<string, { readonly count: number; readonly p50: number | null; readonly max: number }>>;
  };
}

async function metrics(): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`http://${gateway.host}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

it('reports how long its orders took and how they ended, at /status and /metrics', async () => {
  const { mint } = launchCoin(world.chain);
  const publicKey = await world.wallet();
  await gateway.ready(publicKey, mint);
  const status = async (): Promise<StatusBody['orders']> => (await gateway.get('/status')).body['orders'] as StatusBody['orders'];
  expect((await status()).executionUs['total']).toEqual({ count: 0, p50: null, p90: null, p99: null, max: 0 });
  const before = await metrics();

  const bought = await gateway.post('/trade/buy', { publicKey, mint, amount: 0.01 });
  const { timing } = bought.body as { readonly timing: { readonly totalMs: number } };
  expect(bought.status).toBe(200);
  expect((await gateway.post('/trade/buy', { publicKey, mint, amount: 0.02, skipSimulation: true })).status).toBe(200);
  await until('the orders to end', async () => (await status()).finalized === 2);

  const report = await status();
  expect(report).toMatchObject({ stored: 2, finalized: 2, failed: 0, expired: 0 });
  const counts = orderSteps.map((step) => report.executionUs[step]!.count);
  expect(counts).toEqual(orderSteps.map((step) => (step === 'simulate' ? 1 : 2)));
  expect(report.executionUs['total']!.max).toBeGreaterThan((timing.totalMs - 0.01) * 1_000);
  const after = await metrics();
  const more = (name: string): number => after.get(`sluice_gateway_${name}`)! - before.get(`sluice_gateway_${name}`)!;
  expect(more('orders_stored_total')).toBe(2);
  expect(more('orders_finalized_total')).toBe(2);
  expect(more('orders_signer_signed_total')).toBe(2);
  expect(more('orders_simulation_passed_total')).toBe(1);
  expect(more('orders_lane_first_total{lane="rpc 1"}')).toBe(2);
  expect(more('orders_lane_accepted_total{lane="rpc 1"}')).toBeGreaterThanOrEqual(2);
  expect(after.get('sluice_gateway_orders_signer_ready')).toBe(1);
  expect(after.get('sluice_gateway_orders_step_seconds_count{step="total"}')).toBe(2);
  expect(after.get('sluice_gateway_orders_step_seconds_bucket{step="total",le="+Inf"}')).toBe(2);
  expect(after.get('sluice_gateway_orders_step_seconds_sum{step="total"}')).toBeGreaterThan(report.executionUs['total']!.max / 1e6);
});

it('describes each name once, above all its values', async () => {
  const lines = (await (await fetch(`http://${gateway.host}/metrics`)).text()).trimEnd().split('\n');
  const described = lines.flatMap((line) => (line.startsWith('# TYPE ') ? [line.split(' ')[2]!] : []));
  expect(new Set(described).size).toBe(described.length);
  let current = '';
  for (const line of lines) {
    if (line.startsWith('# TYPE ')) current = line.split(' ')[2]!;
    else if (!line.startsWith('#')) expect(line.split(/[ {]/)[0]!.replace(/_(bucket|sum|count)$/, '')).toBe(current.replace(/_count$/, ''));
  }
});
