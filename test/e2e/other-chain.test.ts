import type { StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { signMessage } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { genesisHashOf } from '../simnet/ledger/genesis-hash.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { until } from '../support/gateway.ts';
import { newOrder } from '../support/orders.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { signatureIn, startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';

/** A store with orders of a chain other than that of the nodes. */
const outsider = wallet('trading', 'self-custody');
const vanished = genesisHashOf('another chain');
const mainnet = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
/** An order that nodes do not know is found to have expired this many blocks after its last one. */
const graceBlocks = 40;
let world: TradingWorld;
let mint: string;

beforeAll(async () => {
  world = await startTradingWorld({ funded: [outsider] });
  ({ mint } = launchCoin(world.chain));
}, 60_000);
afterAll(() => world.close());

/** An open order of a gateway that is gone, whose message would land if it were sent. */
async function leftBehind(gateway: TradingGateway, genesisHash: string | null, amount: number): Promise<StoredOrder> {
  const body = { publicKey: outsider.publicKey, mint, amount };
  const { body: unsigned } = await gateway.ask('/transaction/buy', body);
  const decoded = decodeTransaction(Buffer.from(String(unsigned['transaction']), 'base64'));
  if (decoded.kind === 'malformed') throw new Error(decoded.reason);
  const wire = assembleTransaction(decoded.messageBytes, [signMessage(outsider, decoded.messageBytes)]);
  const order = newOrder(Date.now(), {
    kind: 'sent',
    keyId: world.operatorKey.split('_')[1]!,
    state: 'submitted',
    terms: null,
    signature: signatureIn(Buffer.from(wire).toString('base64')),
    signedBytes: wire,
    blockhash: decoded.recentBlockhash,
    lastValidBlockHeight: Number(unsigned['lastValidBlockHeight']),
    genesisHash,
  });
  const stored = await world.store.orders.insert(order, { idempotency: null, spend: null, followedBy: 'one that is gone' });
  if (stored.kind !== 'stored') throw new Error(stored.kind);
  return stored.order;
}

it('ends those of simulated chains, changes no other, and trades on its own chain', async () => {
  const first = await world.gateway();
  const publicKey = await world.wallet();
  await first.ready(publicKey, mint);
  const lost = await leftBehind(first, vanished, 0.01);
  const left = [await leftBehind(first, mainnet, 0.02), await leftBehind(first, null, 0.03)];
  const own = await leftBehind(first, world.chain.genesisHash, 0.04);
  const second = await world.gateway();
  const bought = await second.ask('/trade/buy', { publicKey, mint, amount: 0.01 });
  expect(bought.status, JSON.stringify(bought.body)).toBe(200);
  const readOrder = async (id: unknown): Promise<Record<string, unknown>> => (await second.get(`/trade/orders/${String(id)}`)).body;
  await until('the orders of the chain to end', async () => {
    const statuses = [await readOrder(own.id), await readOrder(bought.body['orderId'])].map(({ status }) => status);
    return statuses.every((status) => status === 'finalized');
  });
  await until('the order of a chain that has ended to end', async () => (await readOrder(lost.id))['status'] === 'expired');
  const error = { code: 'TRANSACTION_EXPIRED', message: expect.stringContaining('chain of this order has ended') };
  expect(await readOrder(lost.id)).toMatchObject({ version: 2, genesisHash: vanished, error });
  expect(world.sent()).not.toContain(lost.signature);
  expect(await readOrder(bought.body['orderId'])).toMatchObject({ genesisHash: world.chain.genesisHash });
  const last = Math.max(...left.map(({ lastValidBlockHeight }) => lastValidBlockHeight!));
  await until('them to expire', () => world.chain.blockHeight > last + graceBlocks, 30_000);
  for (const { id, signature, genesisHash } of left) {
    expect(await readOrder(id)).toMatchObject({ status: 'submitted', version: 1, genesisHash });
    expect(world.sent()).not.toContain(signature);
  }
}, 60_000);

it('accepts no order while no node reports its chain, or nodes report two; it still builds and quotes', async () => {
  const publicKey = await world.wallet();
  world.node.tampering = async ({ method }, answer) => (method === 'getGenesisHash' ? null : await answer());
  const gateway = await world.gateway();
  const body = { publicKey, mint, amount: 0.01 };
  const before = world.sent().size;
  const refused = {
    status: 503,
    body: { error: { code: 'UPSTREAM_UNAVAILABLE', retryable: true, message: expect.stringMatching(/chain/) } },
  };
  expect(await gateway.post('/trade/buy', body)).toMatchObject(refused);
  expect((await gateway.ask('/transaction/buy', body)).status).toBe(200);
  world.node.tampering = null;
  expect((await gateway.ask('/trade/buy', body)).status).toBe(200);
  expect(world.sent().size).toBe(before + 1);

  const rpc = { httpUrls: [world.node.url, world.simnet.rpcUrl], wsUrls: [world.simnet.wsUrl] };
  world.node.tampering = async ({ method }, answer) => (method === 'getGenesisHash' ? vanished : await answer());
  const torn = await world.gateway({ config: { rpc } });
  expect(await torn.post('/trade/buy', body)).toMatchObject(refused);
  expect(world.sent().size).toBe(before + 1);
  world.node.tampering = null;
}, 60_000);
