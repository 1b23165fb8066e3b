import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount } from './chain.ts';
import { connectPubSub, type Notification, type PubSubClient } from './pubsub-client.ts';
import { maxSubscriptions } from './rpc/pubsub/connection.ts';
import { startRpcServer, type RpcServer } from './rpc/server.ts';
import { ScriptedChain, scriptedRecord, seededKeypair } from './scripted-chain.ts';

const [programA, programB] = [seededKeypair('program a').publicKey, seededKeypair('program b').publicKey];
const curve = seededKeypair('curve').publicKey;

let chain: ScriptedChain;
let server: RpcServer;
let client: PubSubClient;

beforeEach(async () => {
  chain = new ScriptedChain();
  server = await startRpcServer({ chain, host: '127.0.0.1', port: 0 });
  client = await connectPubSub(`ws://127.0.0.1:${server.port}/any/path`);
});

afterEach(async () => {
  client.close();
  await server.close();
});

function account(data: readonly number[], lamports = 10n): ChainAccount {
  return { lamports, owner: programA, data: Uint8Array.from(data), executable: false };
}

function changing(name: string, data: readonly number[]): ReturnType<typeof scriptedRecord> {
  return scriptedRecord(name, programA, [], { written: new Map([[curve, account(data)]]) });
}

async function received(count: number): Promise<readonly Notification[]> {
  await client.until(() => client.notifications.length >= count);
  return client.notifications;
}

function signatureOf(notification: Notification): string {
  return (notification.result as { value: { signature: string } }).value.signature;
}

/** Waits until everything reported so far has arrived: a reply follows it on the same socket. */
async function settled(): Promise<void> {
  await client.call('slotUnsubscribe', 0).catch((error: Error) => expect(error.message).toContain('Invalid subscription id'));
}

describe('logsSubscribe', () => {
  it('reports in block order, with failures, to subscribers of a mentioned account', async () => {
    const a = await client.call('logsSubscribe', { mentions: [programA] }, { commitment: 'processed' });
    const [one, two, three] = [
      scriptedRecord('one', programA, [Uint8Array.of(1, 2, 3)]),
      scriptedRecord('two', programB),
      scriptedRecord('three', programA, [], { err: { InstructionError: [0, { Custom: 6002 }] } }),
    ];
    chain.freeze([one, two, three]);
    const [first, second] = await received(2);
    await settled();
    expect(client.notifications).toHaveLength(2);
    expect(JSON.parse(first?.text ?? '')).toEqual({
      jsonrpc: '2.0',
      method: 'logsNotification',
      params: {
        result: {
          context: { slot: 1_001 },
          value: { signature: one.signature, err: null, logs: one.logs },
        },
        subscription: a,
      },
    });
    expect(second?.result).toMatchObject({ value: { signature: three.signature, err: { InstructionError: [0, { Custom: 6002 }] } } });
  });

  it('reports confirmed and finalized in time, and nothing of a dead slot', async () => {
    await client.call('logsSubscribe', 'all', { commitment: 'confirmed' });
    await client.call('logsSubscribe', 'all');
    const [one, two, three] = ['one', 'two', 'three'].map((name) => scriptedRecord(name, programA));
    chain.freeze(one === undefined ? [] : [one]);
    chain.freeze(two === undefined ? [] : [two]);
    await settled();
    expect(client.notifications).toHaveLength(0);
    chain.confirm(1_001);
    expect((await received(1)).map(signatureOf)).toEqual([one?.signature]);
    chain.kill([1_002]);
    chain.freeze(three === undefined ? [] : [three], 1);
    chain.confirm(chain.slot);
    chain.finalize(chain.slot);
    expect((await received(4)).map(signatureOf)).toEqual([one, three, one, three].map((record) => record?.signature));
    await settled();
    expect(client.notifications).toHaveLength(4);
  });

  it('shares an id between equal subscriptions, and stops on unsubscribing', async () => {
    const other = await connectPubSub(`ws://127.0.0.1:${server.port}`);
    const id = await client.call('logsSubscribe', 'all', { commitment: 'processed' });
    expect(await other.call('logsSubscribe', 'all', { commitment: 'processed' })).toBe(id);
    expect(await other.call('logsSubscribe', 'all')).not.toBe(id);
    expect(await client.call('logsUnsubscribe', id)).toBe(true);
    await expect(client.call('logsUnsubscribe', id)).rejects.toMatchObject({ error: { code: -32602 } });
    chain.freeze([scriptedRecord('one', programA)]);
    await other.until(() => other.notifications.length === 1);
    await settled();
    expect(client.notifications).toHaveLength(0);
    other.close();
  });

  it('refuses what a node refuses', async () => {
    const codes = await Promise.all(
      [
        ['logsSubscribe', { mentions: [programA, programB] }],
        ['logsSubscribe', { mentions: ['nonsense'] }],
        ['logsSubscribe'],
        ['logsSubscribe', 'all', { commitment: 'often' }],
        ['getSlot'],
        ['accountSubscribe'],
        ['signatureSubscribe', programA],
      ].map(async ([method, ...params]) =>
        client.call(method as string, ...params).catch((error: { error: { code: number } }) => error.error.code),
      ),
    );
    expect(codes).toEqual([-32602, -32602, -32602, -32602, -32601, -32602, -32602]);
  });
});

describe('accountSubscribe and programSubscribe', () => {
  it('reports the state at the end of each slot, once', async () => {
    await client.call('accountSubscribe', curve, { encoding: 'base64', commitment: 'processed' });
    chain.freeze([changing('one', [1]), changing('two', [2])]);
    chain.freeze([scriptedRecord('three', programA)]);
    chain.freeze([changing('four', [4])]);
    const reported = await received(2);
    await settled();
    expect(reported.map(({ slot, result }) => [slot, (result as { value: { data: unknown } }).value.data])).toEqual([
      [1_001, ['Ag==', 'base64']],
      [1_003, ['BA==', 'base64']],
    ]);
  });

  it('reports the fee payer of a failed transaction', async () => {
    const failed = scriptedRecord('failed', programA, [], { err: 'BlockhashNotFound' });
    const payer = failed.accountKeys[0] ?? '';
    chain.accounts.set(payer, { ...account([]), owner: systemProgram, lamports: 995_000n });
    await client.call('accountSubscribe', payer, { encoding: 'base64', commitment: 'processed' });
    chain.freeze([failed]);
    expect((await received(1))[0]?.result).toMatchObject({ value: { lamports: 995_000, owner: systemProgram } });
  });

  it('reports the state that a dead fork restored', async () => {
    chain.accounts.set(curve, account([0]));
    await client.call('accountSubscribe', curve, { encoding: 'base64', commitment: 'processed' });
    chain.freeze([changing('one', [1])]);
    chain.accounts.set(curve, account([0]));
    chain.kill([1_001]);
    chain.freeze([], 1);
    const reported = await received(2);
    expect(reported[1]).toMatchObject({ slot: 1_002, result: { value: { data: ['AA==', 'base64'] } } });
  });

  it('filters and slices for a program', async () => {
    const config = {
      encoding: 'base64',
      commitment: 'confirmed',
      filters: [{ memcmp: { offset: 0, bytes: '2' } }],
      dataSlice: { offset: 1, length: 2 },
    };
    await client.call('programSubscribe', programA, config);
    chain.freeze([
      changing('one', [9, 8, 7]),
      scriptedRecord('other', programA, [], { written: new Map([[programB, account([1, 2, 3, 4])]]) }),
    ]);
    chain.confirm(1_001);
    const [reported] = await received(1);
    await settled();
    expect(client.notifications).toHaveLength(1);
    expect(reported?.result).toMatchObject({
      value: { pubkey: programB, account: { data: ['AgM=', 'base64'], owner: programA, space: 4 } },
    });
  });
});

describe('signatureSubscribe, slotSubscribe, rootSubscribe', () => {
  it('reports a signature once, also if it landed before the subscription', async () => {
    const record = scriptedRecord('one', programA, [], { err: { InstructionError: [0, { Custom: 1 }] } });
    const early = await client.call('signatureSubscribe', record.signature, { commitment: 'processed' });
    chain.freeze([record]);
    const late = await client.call('signatureSubscribe', record.signature, { commitment: 'confirmed' });
    chain.confirm(1_001);
    chain.freeze([]);
    chain.confirm(1_002);
    const reported = await received(2);
    await settled();
    expect(reported.map(({ subscription, result }) => [subscription, (result as { value: unknown }).value])).toEqual([
      [early, { err: { InstructionError: [0, { Custom: 1 }] } }],
      [late, { err: { InstructionError: [0, { Custom: 1 }] } }],
    ]);
    await expect(client.call('signatureUnsubscribe', early)).rejects.toMatchObject({ error: { code: -32602 } });
  });

  it('reports that the node received a transaction', async () => {
    const record = scriptedRecord('one', programA);
    await client.call('signatureSubscribe', record.signature, { commitment: 'processed', enableReceivedNotification: true });
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'sendTransaction',
      params: [Buffer.from(record.wire).toString('base64'), { encoding: 'base64' }],
    };
    const headers = { 'content-type': 'application/json' };
    await fetch(`http://127.0.0.1:${server.port}`, { method: 'POST', headers, body: JSON.stringify(body) });
    chain.freeze([record]);
    const reported = await received(2);
    expect(reported.map(({ result }) => (result as { value: unknown }).value)).toEqual(['receivedSignature', { err: null }]);
  });

  it('reports slots and roots', async () => {
    await client.call('slotSubscribe');
    await client.call('rootSubscribe');
    chain.freeze([], 2);
    chain.finalize(1_003);
    const reported = await received(2);
    expect(reported.map(({ method, result }) => [method, result])).toEqual([
      ['slotNotification', { slot: 1_003, parent: 1_000, root: 1_000 }],
      ['rootNotification', 1_003],
    ]);
  });
});

describe('bounds', () => {
  it('disconnects a client that does not read', async () => {
    await client.call('logsSubscribe', 'all', { commitment: 'processed' });
    client.socket.pause();
    const logs = [`Program log: ${'x'.repeat(1_000_000)}`];
    for (let slot = 0; slot < 90 && server.stats().slowReadersCut === 0; slot++) {
      chain.freeze([scriptedRecord(`big ${slot}`, programA, [], { logs })]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.stats().slowReadersCut).toBe(1);
    client.socket.resume();
    await client.until(() => client.socket.readyState === client.socket.CLOSED);
  });

  it('refuses a subscription above the limit and a message that is too long', async () => {
    const refused = await Promise.all(
      Array.from({ length: maxSubscriptions + 1 }, (_unused, index) =>
        client.call('logsSubscribe', { mentions: [seededAddress(index)] }).then(
          () => null,
          (error: { error: { code: number } }) => error.error.code,
        ),
      ),
    );
    expect(refused.filter((code) => code !== null)).toEqual([-32603]);
    client.socket.send('x'.repeat(70_000));
    await client.until(() => client.socket.readyState === client.socket.CLOSED);
  });
});

/** Distinct addresses without the cost of creating keys: the system address with other last digits. */
function seededAddress(index: number): string {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  const digits = [index % 58, Math.floor(index / 58) % 58, Math.floor(index / 3_364) % 58].map((digit) => alphabet[digit] ?? '1');
  return `SimuLated1111111111111111111111111111111111`.slice(0, 40) + digits.join('');
}

const whole = { encoding: 'json', transactionDetails: 'full', showRewards: false, maxSupportedTransactionVersion: 1 };

describe('blockSubscribe', () => {
  it('reports confirmed blocks with the transactions that mention the program, and no block without any', async () => {
    await client.call('blockSubscribe', { mentionsAccountOrProgram: programA }, { ...whole, commitment: 'confirmed' });
    chain.freeze([scriptedRecord('one', programA), scriptedRecord('two', programB)]);
    chain.freeze([scriptedRecord('three', programB)]);
    const last = chain.freeze([scriptedRecord('four', programA, [], { err: { InstructionError: [0, { Custom: 6002 }] } })]);
    await settled();
    expect(client.notifications).toEqual([]);
    chain.confirm(last.slot);
    const notified = await received(2);
    await settled();
    const blocks = notified.map(
      ({ result }) => (result as { value: { slot: number; block: { blockhash: string; transactions: object[] } } }).value,
    );
    expect(blocks.map(({ slot, block }) => [slot, block.blockhash, block.transactions.length])).toEqual([
      [1_001, chain.blocks[0]!.blockhash, 1],
      [1_003, last.blockhash, 1],
    ]);
    expect(notified.every(({ method }) => method === 'blockNotification')).toBe(true);
    await expect(client.call('blockSubscribe', 'all', { ...whole, commitment: 'processed' })).rejects.toThrow('below `confirmed`');
  });
});

describe('transactionSubscribe', () => {
  it('reports whole transactions of the programs at once, with or without failures', async () => {
    const filter = { vote: false, failed: false, accountInclude: [programA] };
    await client.call('transactionSubscribe', filter, { ...whole, encoding: 'base64', commitment: 'processed' });
    const failed = scriptedRecord('two', programA, [], { err: { InstructionError: [0, { Custom: 6002 }] } });
    chain.freeze([scriptedRecord('one', programA, [Uint8Array.of(1)]), failed, scriptedRecord('three', programB)]);
    const [first] = await received(1);
    await settled();
    expect(client.notifications).toHaveLength(1);
    expect(first).toMatchObject({
      method: 'transactionNotification',
      result: {
        slot: 1_001,
        signature: chain.blocks[0]!.transactions[0]!.signature,
        transaction: { version: 'legacy', meta: { err: null } },
      },
    });
  });
});
