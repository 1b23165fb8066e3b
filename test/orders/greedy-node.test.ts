import { endStates } from '@sluice/gateway/store/order-model/order.ts';
import { signMessage } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { Keypair, PublicKey, SystemProgram, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { wallet } from '../simnet/runtime/wallets.ts';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import {
  signatureIn,
  startTradingWorld,
  type Answered,
  type Asked,
  type TradingGateway,
  type TradingWorld,
} from '../support/chain/trading-world.ts';
import { silent } from '../support/chain/tampered-node.ts';

/** A node that puts every transaction that it receives into the chain, and gives false answers about it. */
let world: TradingWorld;
let gateway: TradingGateway;
let mint: string;

beforeAll(async () => {
  world = await startTradingWorld();
  ({ mint } = launchCoin(world.chain));
  gateway = await (await world.gateway()).ready(await world.wallet(), mint);
});
afterAll(() => world.close());
afterEach(() => {
  world.node.tampering = null;
});

interface Shown {
  readonly wire: Uint8Array;
  readonly signed: boolean;
}

/** All transactions that the node received, in order. */
function shown(method: 'simulateTransaction' | 'sendTransaction', since: number): readonly Shown[] {
  return world.node.calls.slice(since).flatMap((call) => {
    if (call.method !== method) return [];
    const wire = new Uint8Array(Buffer.from(String(call.params[0]), 'base64'));
    return [{ wire, signed: wire.subarray(1, 65).some((byte) => byte !== 0) }];
  });
}

const simulationFailed = (err: unknown) => ({ context: { slot: world.chain.slot }, value: { err, logs: [], unitsConsumed: 0 } });

/** Lands what it should simulate, and returns `lie`. */
function greedily(lie: () => unknown): void {
  world.node.tampering = async ({ method, params }, answer) => {
    if (method !== 'simulateTransaction') return answer();
    world.chain.send(new Uint8Array(Buffer.from(String(params[0]), 'base64')), { skipPreflight: true });
    await until(
      'another block',
      (
        (height) => () =>
          world.chain.blockHeight > height + 1
      )(world.chain.blockHeight),
    );
    return lie();
  };
}

/** Waits until nothing that was created before can land any more. */
async function blockhashesGone(): Promise<void> {
  const last = world.chain.latestBlockhash().lastValidBlockHeight;
  await until('the end of all blockhashes', () => world.chain.blockHeight > last + 1, 30_000);
}

/** On a busy machine, the store may answer late, so that it is unknown whether trading is halted. What the node causes is not repeated. */
const isHalted = ({ body }: Answered): boolean => (body['error'] as { readonly code?: string } | undefined)?.code === 'TRADING_HALTED';
const post = (path: string, body: unknown, asked: Asked = {}): Promise<Answered> => gateway.ask(path, body, asked, isHalted);

const buy = (publicKey: string, idempotencyKey: string): Promise<Answered> =>
  post('/trade/buy', { publicKey, mint, amount: 0.5 }, { idempotencyKey });

const lies: readonly (readonly [what: string, status: number, lie: () => unknown])[] = [
  ['that-the-blockhash-is-unknown', 503, () => simulationFailed('BlockhashNotFound')],
  ['that-the-curve-is-complete', 400, () => simulationFailed({ InstructionError: [3, { Custom: 6005 }] })],
  ['that-the-price-has-moved', 400, () => simulationFailed({ InstructionError: [3, { Custom: 6002 }] })],
  ['what-cannot-be-read', 503, () => ({ context: { slot: world.chain.slot } })],
  ['nothing', 503, () => silent],
];

describe('a node that lands transactions which it should only simulate', () => {
  test('and reports failure or nothing: nothing of a refused order lands, and a second request makes one order', async () => {
    const made: { readonly publicKey: string; readonly answer: Answered }[] = [];
    for (const [what, status, lie] of lies) {
      const publicKey = await world.wallet();
      const since = world.node.calls.length;
      greedily(lie);
      const refused = await buy(publicKey, what);
      expect(refused.status, `${what}: ${JSON.stringify(refused.body)}`).toBe(status);
      expect(shown('simulateTransaction', since).length, what).toBeGreaterThan(0);
      expect(shown('simulateTransaction', since).filter(({ signed }) => signed)).toEqual([]);
      world.node.tampering = null;
      const answer = await buy(publicKey, what);
      expect(answer.status, `${what}: ${JSON.stringify(answer.body)}`).toBe(200);
      made.push({ publicKey, answer });
    }
    await blockhashesGone();
    for (const { publicKey, answer } of made) expect(world.landed(publicKey)).toEqual([answer.body['signature']]);
  });

  test('and reports success: the order is the one that lands', async () => {
    const publicKey = await world.wallet();
    world.node.tampering = async ({ method, params }, answer) => {
      if (method === 'simulateTransaction')
        world.chain.send(new Uint8Array(Buffer.from(String(params[0]), 'base64')), { skipPreflight: true });
      return answer();
    };
    const made = await buy(publicKey, 'passed');
    expect(made.status, JSON.stringify(made.body)).toBe(200);
    await until(
      'the end of the order',
      async () => endStates.has((await world.store.orders.byId(String(made.body['orderId'])))!.state),
      30_000,
    );
    expect((await world.store.orders.byId(String(made.body['orderId'])))!.state).toBe('finalized');
    expect(world.landed(publicKey)).toEqual([made.body['signature']]);
  });
});

test('a transaction that its caller signed is refused, or becomes an order; never neither', async () => {
  const caller = wallet('greedy', 'caller');
  world.chain.airdrop(caller.publicKey, 10n ** 10n);
  await until('the airdrop', () => world.chain.account(caller.publicKey) !== null);
  const unsigned = await post('/transaction/buy', { publicKey: caller.publicKey, mint, amount: 0.5 });
  expect(unsigned.status, JSON.stringify(unsigned.body)).toBe(200);
  const message = Buffer.from(String(unsigned.body['transaction']), 'base64').subarray(65);
  const transaction = Buffer.from(assembleTransaction(message, [signMessage(caller, message)])).toString('base64');
  const since = world.node.calls.length;
  greedily(() => simulationFailed({ InstructionError: [3, { Custom: 6002 }] }));
  const refused = await post('/transaction/send', { transaction });
  expect(refused.status, JSON.stringify(refused.body)).toBe(400);
  expect(shown('simulateTransaction', since).map(({ signed }) => signed)).toEqual([false]);
  expect(world.landed(caller.publicKey)).toEqual([]);
  world.node.tampering = null;
  const made = await post('/transaction/send', { transaction });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  await until('its block', () => world.landed(caller.publicKey).length === 1);
  // The transaction has landed, so a simulation would fail now. It is still the same order.
  world.node.tampering = async ({ method }, answer) => (method === 'simulateTransaction' ? simulationFailed('AlreadyProcessed') : answer());
  const again = await post('/transaction/send', { transaction });
  expect([again.status, again.body['orderId']], JSON.stringify(again.body)).toEqual([200, made.body['orderId']]);
});

test('a durable nonce is refused, because nobody knows when it can no longer land', async () => {
  const caller = wallet('greedy', 'nonce');
  const key = new PublicKey(caller.publicKey);
  const noncePubkey = new PublicKey(wallet('greedy', 'nonce account').publicKey);
  const instructions = [
    SystemProgram.nonceAdvance({ noncePubkey, authorizedPubkey: key }),
    SystemProgram.transfer({ fromPubkey: key, toPubkey: key, lamports: 1n }),
  ];
  for (const version of ['v0', 'legacy'] as const) {
    const parts = new TransactionMessage({ payerKey: key, recentBlockhash: mint, instructions });
    const made = new VersionedTransaction(version === 'v0' ? parts.compileToV0Message() : parts.compileToLegacyMessage());
    made.sign([Keypair.fromSeed(caller.seed)]);
    const { status, body } = await post('/transaction/send', { transaction: Buffer.from(made.serialize()).toString('base64') });
    expect([status, body['error']]).toMatchObject([
      400,
      { code: 'INVALID_REQUEST', details: { fields: { transaction: expect.stringContaining('nonce') } } },
    ]);
  }
});

test('the message that is sent is the one that was simulated', async () => {
  const publicKey = await world.wallet();
  const since = world.node.calls.length;
  const made = await buy(publicKey, 'simulated');
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  const messageOf = ({ wire }: Shown): string => {
    const decoded = decodeTransaction(wire);
    if (decoded.kind === 'malformed') throw new Error(decoded.reason);
    return Buffer.from(decoded.messageBytes).toString('base64');
  };
  // The answer may come before the node has the message, and orders of earlier tests may be sent again at the same time.
  const sent = await until('the message to be sent', () =>
    shown('sendTransaction', since).find(({ wire }) => signatureIn(Buffer.from(wire).toString('base64')) === made.body['signature']),
  );
  expect(shown('simulateTransaction', since).map(messageOf)).toContain(messageOf(sent));
});
