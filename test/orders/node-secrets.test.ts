import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { checkChain } from '../../cli/commands/doctor/chain.ts';
import { testConfig } from '../support/test-config.ts';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type Answered, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import type { Tampering } from '../support/chain/tampered-node.ts';

/** A node that repeats its address in the results of its calls. One key looks like a program's address, one like the name of an error. */
const pathKey = encodeBase58(new Uint8Array(32).fill(77));
const tokenKey = 'TokenOnlyOfLetters';
let world: TradingWorld;
let gateway: TradingGateway;
let publicKey: string;
let mint: string;
let address: string;

beforeAll(async () => {
  world = await startTradingWorld();
  ({ mint } = launchCoin(world.chain));
  address = `${world.node.url}/v2/${pathKey}?x-token=${tokenKey}`;
  gateway = await world.gateway({ config: { rpc: { httpUrls: [address], wsUrls: [world.simnet.wsUrl] } } });
  publicKey = await world.wallet();
  await gateway.ready(publicKey, mint);
});
afterAll(() => world.close());

const logs = (): readonly string[] => [
  `Program ${pathKey} invoke [1]`,
  `Program log: quota of ${address} exceeded`,
  `Program log: ${'-'.repeat(180)} ${tokenKey}`,
  `Program ${pathKey} failed: custom program error: 0x1`,
];
const errors: readonly unknown[] = [{ InstructionError: [3, { Custom: 1 }] }, { InstructionError: [3, tokenKey] }, tokenKey];

const buy = (body: object): Promise<Answered> => gateway.ask('/trade/buy', { publicKey, mint, amount: 0.5, ...body });

function expectNoSecret(shown: unknown): void {
  const text = JSON.stringify(shown, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  expect(text).toContain('(hidden)');
  // Not even the beginning of a key.
  for (const secret of [pathKey, tokenKey]) expect(text.toLowerCase()).not.toContain(secret.slice(0, 6).toLowerCase());
}

test('a simulation that failed shows nothing of the address', async () => {
  for (const err of errors) {
    world.node.tampering = async ({ method }, answer) =>
      method === 'simulateTransaction' ? { context: { slot: world.chain.slot }, value: { err, logs: logs(), unitsConsumed: 0 } } : answer();
    for (const dryRun of [true, false]) {
      const { status, body } = await buy({ dryRun });
      expect([dryRun, status >= 400 || body['error'] !== undefined]).toEqual([dryRun, true]);
      expectNoSecret(body);
    }
  }
});

test('an order whose transaction failed on the chain stores and shows nothing of the address', async () => {
  for (const err of errors) {
    /** Reports of every transaction that it failed. */
    const failing: Tampering = async ({ method }, answer) => {
      const result = await answer();
      if (!isRecord(result)) return result;
      if (method === 'getSignatureStatuses' && Array.isArray(result['value']))
        return { ...result, value: result['value'].map((status: unknown) => (isRecord(status) ? { ...status, err } : status)) };
      if (method === 'getTransaction' && isRecord(result['meta']))
        return { ...result, meta: { ...result['meta'], err, logMessages: logs() } };
      return result;
    };
    world.node.tampering = failing;
    const { body } = await buy({});
    const id = String(body['orderId']);
    const order = await until('the end of the order', async () => {
      const read = await world.store.orders.byId(id);
      return read?.state === 'failed' ? read : undefined;
    });
    expectNoSecret(order.error);
    expectNoSecret((await gateway.get(`/trade/orders/${id}`)).body);
  }
});

test('a version in `sluice doctor` shows nothing of the address', async () => {
  world.node.tampering = ({ method }, answer) =>
    method === 'getVersion' ? Promise.resolve({ 'solana-core': `4.3 at ${address}` }) : answer();
  expectNoSecret(await checkChain({ ...testConfig, rpc: { httpUrls: [address], wsUrls: [] } }));
});
