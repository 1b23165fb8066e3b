import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { decodeTransaction, signatureFromText } from '@sluice/shared/solana/transaction/transaction.ts';
import { truncateLogs } from './control/truncate-logs.ts';
import { connectPubSub, type PubSubClient } from './pubsub-client.ts';
import { ScriptedChain, scriptedRecord, seededKeypair } from './scripted-chain.ts';
import { startSimnet, type Simnet } from './simnet.ts';

const program = seededKeypair('program').publicKey;

let chain: ScriptedChain;
let simnet: Simnet;
let client: PubSubClient;
let made = 0;

beforeEach(async () => {
  chain = new ScriptedChain();
  simnet = await startSimnet({ chain, seed: 7 });
  client = await connectPubSub(simnet.wsUrl);
  await client.call('logsSubscribe', { mentions: [program] }, { commitment: 'processed' });
});

afterEach(async () => {
  client.close();
  await simnet.close();
});

function records(count: number): ReturnType<typeof scriptedRecord>[] {
  return Array.from({ length: count }, () => scriptedRecord(`record ${made++}`, program, [Uint8Array.of(made & 255, made >> 8, 3)]));
}

function reported(): readonly { readonly signature: string; readonly logs: readonly string[] }[] {
  return client.notifications.map(({ result }) => (result as { value: { signature: string; logs: readonly string[] } }).value);
}

/** Waits until everything sent so far has arrived: a reply follows it on the same socket. */
async function settled(): Promise<void> {
  await client.call('slotUnsubscribe', 0).catch((error: Error) => expect(error.message).toContain('Invalid subscription id'));
}

async function rpc(method: string, ...params: readonly unknown[]): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return fetch(simnet.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
}

async function resultOf<T>(method: string, ...params: readonly unknown[]): Promise<T> {
  return ((await (await rpc(method, ...params)).json()) as { result: T }).result;
}

async function command(body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${simnet.rpcUrl}/control`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('notifications', () => {
  it('drops a share of the notifications, the same for the same seed', async () => {
    simnet.control.drop({ share: 0.3 });
    chain.freeze(records(400));
    await settled();
    expect(reported().length).toBeGreaterThan(230);
    expect(reported().length).toBeLessThan(330);
    expect(simnet.control.status().delivery.dropped).toBe(400 - reported().length);
    simnet.control.drop({ share: 1, kinds: ['slot'] });
    const before = reported().length;
    chain.freeze(records(3));
    await settled();
    expect(reported().length).toBe(before + 3);
  });

  it('stalls with open connections, and continues afterwards', async () => {
    simnet.control.stall();
    chain.freeze(records(2));
    await settled();
    expect(reported()).toHaveLength(0);
    simnet.control.clear('stall');
    const [next] = records(1);
    chain.freeze(next === undefined ? [] : [next]);
    await client.until(() => reported().length === 1);
    expect(reported()[0]?.signature).toBe(next?.signature);
    expect(simnet.control.status().delivery.stalled).toBe(2);
  });

  it('delays notifications by the requested time, in order', async () => {
    simnet.control.lag({ ms: 150 });
    const late = records(5);
    const fromMs = performance.now();
    chain.freeze(late);
    await settled();
    expect(reported()).toHaveLength(0);
    await client.until(() => reported().length === 5);
    expect(performance.now() - fromMs).toBeGreaterThanOrEqual(145);
    expect(reported().map(({ signature }) => signature)).toEqual(late.map(({ signature }) => signature));
    simnet.control.lag({ ms: 60_000 });
    chain.freeze(records(1));
    simnet.control.clear('lag');
    await client.until(() => reported().length === 6);
  });

  it('sends notifications twice, and reorders them within the slot', async () => {
    simnet.control.duplicate({ share: 1 });
    chain.freeze(records(2));
    await client.until(() => reported().length === 4);
    expect(new Set(reported().map(({ signature }) => signature)).size).toBe(2);
    simnet.control.clear();
    simnet.control.reorder();
    const many = records(30).map((record) => record);
    chain.freeze(many);
    await client.until(() => reported().length === 34);
    const order = reported()
      .slice(4)
      .map(({ signature }) => signature);
    expect(order).not.toEqual(many.map(({ signature }) => signature));
    expect([...order].sort()).toEqual(many.map(({ signature }) => signature).sort());
  });

  it('cuts connections, refuses new ones for a while, and then accepts them again', async () => {
    simnet.control.cut({ refuseMs: 60_000 });
    await client.until(() => client.socket.readyState === client.socket.CLOSED);
    await expect(connectPubSub(simnet.wsUrl)).rejects.toThrow();
    await expect(rpc('getHealth')).rejects.toThrow();
    simnet.control.clear('cut');
    client = await connectPubSub(simnet.wsUrl);
    expect(await resultOf('getHealth')).toBe('ok');
  });
});

describe('the chain as the node reports it', () => {
  it('truncates the logs of the next transactions, also in getTransaction, but leaves the inner instructions whole', async () => {
    const inner = [{ index: 0, instructions: [{ programId: program, accounts: [], data: Uint8Array.of(1), stackHeight: 2 }] }];
    const [whole] = records(1);
    if (whole === undefined) throw new Error('no record');
    const long = {
      ...whole,
      logs: [...whole.logs.slice(0, 1), `Program log: ${'x'.repeat(300)}`, ...whole.logs.slice(1)],
      innerInstructions: inner,
    };
    simnet.control.truncate({ count: 1, bytes: 200 });
    chain.freeze([long, ...records(1)]);
    chain.confirm(chain.slot);
    await client.until(() => reported().length === 2);
    expect(reported()[0]?.logs[1]).toBe('Log truncated');
    expect(reported()[1]?.logs).not.toContain('Log truncated');
    const shown = await resultOf<{ meta: { logMessages: string[]; innerInstructions: unknown[] } }>('getTransaction', long.signature, {
      commitment: 'confirmed',
    });
    expect(shown.meta.logMessages).toEqual(reported()[0]?.logs);
    expect(shown.meta.innerInstructions).toHaveLength(1);
    expect(simnet.oracle.slot(chain.slot)?.transactions[0]?.events).toHaveLength(1);
    expect(simnet.control.status().active).toEqual([]);
  });

  it('reports a foreign program that logs an event as its own', async () => {
    simnet.control.lookAlike({ count: 2 });
    const genuine = records(2);
    chain.freeze(genuine.slice(0, 1));
    chain.freeze(genuine.slice(1));
    chain.freeze(records(1));
    chain.confirm(chain.slot);
    await client.until(() => reported().length === 5);
    const known = new Set(genuine.map(({ signature }) => signature));
    const forged = [reported()[1], reported()[3]];
    for (const item of forged) {
      if (item === undefined) throw new Error('no forgery');
      expect(known.has(item.signature)).toBe(false);
      const events: string[] = [];
      expect(readLogs(item.logs, (programId) => events.push(programId))).toEqual({ truncated: false, malformed: null, empty: false });
      expect(events).toHaveLength(1);
      expect(events[0]).not.toBe(program);
      const [wire] = (
        await resultOf<{ transaction: [string, string] }>('getTransaction', item.signature, { commitment: 'confirmed', encoding: 'base64' })
      ).transaction;
      const decoded = decodeTransaction(Buffer.from(wire, 'base64'));
      if (decoded.kind !== 'decoded') throw new Error(decoded.reason);
      const signature = signatureFromText(item.signature);
      expect(signature !== null && verifySignature(decoded.accountKeys[0] ?? '', decoded.messageBytes, signature)).toBe(true);
    }
    const listed = await resultOf<readonly { signature: string }[]>('getSignaturesForAddress', program, { commitment: 'confirmed' });
    expect(listed.map(({ signature }) => signature)).toEqual(
      reported()
        .map(({ signature }) => signature)
        .toReversed(),
    );
    const until = forged[0]?.signature;
    expect(await resultOf<unknown[]>('getSignaturesForAddress', program, { commitment: 'confirmed', until })).toHaveLength(3);
    expect(simnet.oracle.liveEvents(program)).toHaveLength(3);
  });

  it('forks, and the oracle remembers the dead slots', async () => {
    chain.freeze(records(1));
    chain.freeze(records(2));
    expect(simnet.control.fork({ slots: 1 })).toEqual([1_002]);
    expect(simnet.oracle.slots().map(({ slot, dead }) => [slot, dead])).toEqual([
      [1_001, false],
      [1_002, true],
    ]);
    expect(simnet.oracle.liveEvents()).toHaveLength(1);
  });

  it('reports a false history', async () => {
    const all = records(200);
    chain.freeze(all);
    chain.confirm(chain.slot);
    const list = async (until?: string): Promise<readonly string[]> =>
      (await resultOf<readonly { signature: string }[]>('getSignaturesForAddress', program, { commitment: 'confirmed', until })).map(
        ({ signature }) => signature,
      );
    const until = all[150]?.signature;
    expect(await list(until)).toHaveLength(49);
    simnet.control.lie({ ignoreUntil: true });
    expect(await list(until)).toHaveLength(200);
    simnet.control.lie({ omitShare: 0.5 });
    const some = await list();
    expect(some.length).toBeGreaterThan(60);
    expect(some.length).toBeLessThan(140);
    expect(await list()).toEqual(some);
    simnet.control.clear('lie');
    expect(await list()).toHaveLength(200);
  });
});

describe('HTTP', () => {
  it('answers 429 for the named methods, as often as requested', async () => {
    simnet.control.error429({ count: 2, methods: ['getSlot'], retryAfterSeconds: 3 });
    expect((await rpc('getHealth')).status).toBe(200);
    const refused = await rpc('getSlot');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3']);
    expect([(await rpc('getSlot')).status, (await rpc('getSlot')).status]).toEqual([429, 200]);
    expect(simnet.control.status().requestsRefused).toBe(2);
  });

  it('is slow', async () => {
    simnet.control.slow({ ms: 700, methods: ['getSlot'] });
    const fromMs = performance.now();
    const ended: string[] = [];
    await Promise.all(['getSlot', 'getHealth'].map(async (method) => rpc(method).then(() => ended.push(method))));
    expect(ended).toEqual(['getHealth', 'getSlot']);
    expect(performance.now() - fromMs).toBeGreaterThanOrEqual(695);
  });

  it('is behind', async () => {
    simnet.control.unhealthy({ slotsBehind: 42 });
    const wire = Buffer.from(scriptedRecord('sent', program).wire).toString('base64');
    const error = { error: { code: -32005, message: 'Node is behind by 42 slots', data: { numSlotsBehind: 42 } } };
    expect(await (await rpc('getHealth')).json()).toMatchObject(error);
    expect(await (await rpc('sendTransaction', wire, { encoding: 'base64' })).json()).toMatchObject(error);
    expect(await (await rpc('sendTransaction', wire, { encoding: 'base64', skipPreflight: true })).json()).toHaveProperty('result');
    expect(await (await fetch(`${simnet.rpcUrl}/health`)).text()).toBe('behind');
  });
});

describe('POST /control', () => {
  it('runs a command and returns the state', async () => {
    expect(await command({ op: 'drop', share: 0.5, kinds: ['logs'] })).toMatchObject({
      status: 200,
      body: { ok: true, simulated: true, status: { active: ['drop'] } },
    });
    expect(await command({ op: 'advance' })).toMatchObject({ body: { frozen: 1_001 } });
    expect(await command({ op: 'fork', slots: 1, replay: true })).toMatchObject({ body: { dead: [1_001] } });
    expect(await command({ op: 'clear' })).toMatchObject({ body: { status: { active: [] } } });
    expect(await command({ op: 'cut', refuseMs: 0 })).toMatchObject({ status: 200 });
    await client.until(() => client.socket.readyState === client.socket.CLOSED);
  });

  it('does nothing if anything in a command is wrong', async () => {
    const wrong = [
      {},
      { op: 'explode' },
      { op: 'toString' },
      { op: 'drop' },
      { op: 'drop', share: 2 },
      { op: 'lag', ms: 1.5 },
      { op: 'stall', hard: true },
      { op: 'clear', what: 'all' },
      [],
    ];
    for (const body of wrong) expect(await command(body)).toMatchObject({ status: 400, body: { error: expect.any(String) } });
    expect(simnet.control.status().active).toEqual([]);
    const plain = await fetch(`${simnet.rpcUrl}/control`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{"op":"stall"}',
    });
    expect(plain.status).toBe(415);
    expect(simnet.control.status().active).toEqual([]);
  });
});

describe('truncateLogs', () => {
  it('truncates as the runtime does: shorter lines after the cut are still logged', () => {
    expect(truncateLogs(['aaaa', 'bbbb', 'cc', 'dddd'], 11)).toEqual(['aaaa', 'bbbb', 'cc', 'Log truncated']);
    expect(truncateLogs(['aaaa', 'bbbbbbbbbb', 'cc'], 10)).toEqual(['aaaa', 'Log truncated', 'cc']);
    expect(truncateLogs(['aaaa', 'bbbb'], 9)).toEqual(['aaaa', 'bbbb']);
  });
});
