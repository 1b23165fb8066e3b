import { rentSysvar } from '@sluice/shared/solana/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingWorld } from '../support/chain/trading-world.ts';

let world: TradingWorld;
beforeAll(async () => {
  world = await startTradingWorld();
});
afterAll(() => world.close());

test('if a node does not report the rent, nothing is computed as if it were free', async () => {
  const { mint } = launchCoin(world.chain);
  const publicKey = await world.wallet();
  world.node.tampering = async ({ method, params }, answer) => {
    const answered = (await answer()) as { value: unknown[] };
    if (method !== 'getMultipleAccounts') return answered;
    const addresses = params[0] as readonly string[];
    return { ...answered, value: answered.value.map((account, i) => (addresses[i] === rentSysvar ? null : account)) };
  };
  const gateway = await world.gateway();
  const trade = { publicKey, mint, amount: 0.5, dryRun: true, skipSimulation: true };
  const said = async (): Promise<string> => JSON.stringify((await gateway.post('/trade/buy', trade)).body);
  await until('that rent is missing', async () => (await said()).includes('rent'));
  for (let i = 0; i < 20; i++) {
    const { status, body } = await gateway.post('/trade/buy', trade);
    expect([status, body['error']]).toMatchObject([503, { code: 'UPSTREAM_UNAVAILABLE' }]);
  }
  world.node.tampering = null;
  await until('that it trades', async () => (await gateway.post('/trade/buy', trade)).status === 200, 30_000);
});
