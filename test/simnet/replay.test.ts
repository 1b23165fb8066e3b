import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VersionedTransaction } from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { decodeTransaction, signatureFromText } from '@sluice/shared/solana/transaction/transaction.ts';
import { connectPubSub } from './pubsub-client.ts';
import { readRecording } from './replay/read-recording.ts';
import { rebuildTransaction } from './replay/rebuild-transaction.ts';
import { record } from './replay/record.ts';
import { createReplayChain, maxPauseMs } from './replay/replay-chain.ts';
import { ScriptedChain, scriptedRecord, seededKeypair } from './scripted-chain.ts';
import { replayFile, startSimnet } from './simnet.ts';

const fixtures = join(import.meta.dirname, '../../../shared/fixtures/transactions');
const program = seededKeypair('program').publicKey;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simnet-replay-'));
});

afterAll(() => rm(folder, { recursive: true }));

interface RecordedMeta {
  readonly meta: {
    readonly err: unknown;
    readonly logMessages: readonly string[];
    readonly innerInstructions: readonly unknown[];
    readonly fee: number;
  };
  readonly slot?: number;
  readonly blockTime?: number;
  readonly transaction: readonly string[] | { readonly signatures: readonly string[]; readonly message: object };
}

function recorded(file: string): RecordedMeta {
  const parsed = JSON.parse(readFileSync(join(fixtures, file), 'utf8')) as RecordedMeta & { readonly result?: RecordedMeta };
  return parsed.result ?? parsed;
}

describe.skipIf(!existsSync(fixtures))('recorded mainnet transactions', () => {
  const files = existsSync(fixtures) ? readdirSync(fixtures).filter((file) => file.endsWith('.json')) : [];

  it.each(files)('reads all of %s', (file) => {
    const source = recorded(file);
    const rebuilt = rebuildTransaction(source);
    if (!rebuilt.ok) throw new Error(rebuilt.reason);
    const { wire, logs, fee, accountKeys, innerInstructions, signature } = rebuilt.record;
    const decoded = decodeTransaction(wire);
    if (decoded.kind !== 'decoded') throw new Error(decoded.reason);
    for (const [index, text] of decoded.signatures.entries()) {
      expect(verifySignature(decoded.accountKeys[index] ?? '', decoded.messageBytes, signatureFromText(text) ?? new Uint8Array(0))).toBe(
        true,
      );
    }
    expect(signature).toBe(decoded.signatures[0]);
    expect(accountKeys.slice(0, decoded.accountKeys.length)).toEqual(decoded.accountKeys);
    expect(logs).toEqual(source.meta.logMessages);
    expect(fee).toBe(BigInt(source.meta.fee));
    expect(innerInstructions).toHaveLength(source.meta.innerInstructions.length);
  });

  it('replays them all to a subscriber, and getTransaction returns the same bytes', async () => {
    const node = await replayFile(
      files.map((file) => join(fixtures, file)),
      { speed: 0 },
    );
    expect(node.recording).toMatchObject({ refused: 0, reasons: [] });
    const client = await connectPubSub(node.wsUrl);
    await client.call('logsSubscribe', 'all', { commitment: 'processed' });
    expect(await node.finished).toEqual({ blocks: files.length, transactions: files.length });
    await client.until(() => client.notifications.length === files.length);
    const bySignature = new Map(
      client.notifications.map(({ result, slot }) => [(result as { value: { signature: string } }).value.signature, { result, slot }]),
    );
    for (const file of files) {
      const source = recorded(file);
      const encoded = Array.isArray(source.transaction);
      const wire = encoded ? Buffer.from((source.transaction as readonly string[])[0] ?? '', 'base64') : null;
      const signature =
        wire === null
          ? ((source.transaction as { signatures: readonly string[] }).signatures[0] ?? '')
          : encodeBase58(VersionedTransaction.deserialize(wire).signatures[0] ?? new Uint8Array(0));
      const reported = bySignature.get(signature);
      expect(reported?.result).toMatchObject({ value: { err: source.meta.err, logs: source.meta.logMessages } });
      if (source.slot !== undefined) expect(reported?.slot).toBe(source.slot);
      const answer = await transactionOf(node.rpcUrl, signature);
      expect(answer.transaction[1]).toBe('base64');
      if (wire !== null) expect(answer.transaction[0]).toBe(wire.toString('base64'));
      const reread = VersionedTransaction.deserialize(Buffer.from(answer.transaction[0] ?? '', 'base64'));
      expect(encodeBase58(reread.signatures[0] ?? new Uint8Array(0))).toBe(signature);
      expect(answer.meta.logMessages).toEqual(source.meta.logMessages);
      expect(answer.blockTime).toBe(source.blockTime ?? null);
    }
    client.close();
    await node.close();
  });

  it('returns the recorded JSON of a JSON recording, field by field', async () => {
    const file = 'pump_buy_legacy_2026-10-08.json';
    const node = await replayFile(join(fixtures, file), { speed: 0, begin: 'at-once' });
    await node.finished;
    const source = recorded(file);
    const { signatures } = source.transaction as { readonly signatures: readonly string[] };
    const answer = await transactionOf(node.rpcUrl, signatures[0] ?? '', 'json');
    // The simulation lacks what the block cost model charged.
    const { costUnits: _costUnits, ...meta } = source.meta as RecordedMeta['meta'] & { readonly costUnits: number };
    expect(answer).toEqual({ ...source, meta });
    await node.close();
  });
});

async function transactionOf(
  url: string,
  signature: string,
  encoding = 'base64',
): Promise<RecordedMeta & { readonly transaction: readonly string[] }> {
  const params = [signature, { encoding, maxSupportedTransactionVersion: 1 }];
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params }),
  });
  return ((await response.json()) as { result: RecordedMeta & { readonly transaction: readonly string[] } }).result;
}

describe('recording and replaying', () => {
  it('serves recorded accounts, and refuses what is none', async () => {
    const file = join(folder, 'accounts.jsonl');
    const account = { lamports: 5_000, owner: program, data: ['AQID', 'base64'], executable: false, rentEpoch: 0, space: 3 };
    const [address, other] = ['account', 'other'].map((name) => seededKeypair(name).publicKey);
    const wrong = [{ pubkey: other, account: { ...account, data: 'AQID' } }, { pubkey: 'x', account }, { account }];
    await writeFile(file, [{ pubkey: address, account }, ...wrong].map((value) => JSON.stringify(value)).join('\n'));
    const node = await replayFile(file, { speed: 0 });
    expect(node.recording).toMatchObject({ refused: 3, records: [] });
    const value = async (method: string, ...params: readonly unknown[]) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const response = await fetch(node.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      return ((await response.json()) as { readonly result: unknown }).result;
    };
    expect(await value('getAccountInfo', address, { encoding: 'base64' })).toMatchObject({ value: { owner: program, data: account.data } });
    expect(await value('getAccountInfo', other, { encoding: 'base64' })).toMatchObject({ value: null });
    expect(await value('getProgramAccounts', program, { encoding: 'base64' })).toMatchObject([{ pubkey: address }]);
    await node.close();
  });

  it('writes what a chain confirms, and replays the same transactions', async () => {
    const chain = new ScriptedChain();
    const simnet = await startSimnet({ chain });
    const file = join(folder, 'recorded.jsonl');
    const recorder = record(simnet.chain, file);
    const [a, b, c, dead] = ['a', 'b', 'c', 'dead'].map((name) => scriptedRecord(name, program, [Uint8Array.of(1, 2, 3)]));
    if (!a || !b || !c || !dead) throw new Error('no records');
    const failed = { ...b, err: { InstructionError: [0, { Custom: 6002 }] } };
    chain.freeze([a, failed]);
    chain.freeze([dead]);
    chain.kill([1_002]);
    chain.freeze([c], 1);
    chain.confirm(chain.slot);
    expect(await recorder.close()).toEqual({ transactions: 3, leftOut: 0 });
    await simnet.close();

    const recording = await readRecording(file);
    expect(recording).toMatchObject({ refused: 0 });
    expect(recording.records.map(({ signature, slot, index, err }) => ({ signature, slot, index, err }))).toEqual([
      { signature: a.signature, slot: 1_001, index: 0, err: null },
      { signature: b.signature, slot: 1_001, index: 1, err: failed.err },
      { signature: c.signature, slot: 1_003, index: 0, err: null },
    ]);
    expect(recording.records.map(({ wire }) => Buffer.from(wire).toString('hex'))).toEqual(
      [a, b, c].map(({ wire }) => Buffer.from(wire).toString('hex')),
    );
    expect(recording.records.map(({ logs }) => logs)).toEqual([a.logs, b.logs, c.logs]);
  });

  it('accepts the forms that a node sends, and refuses others with a reason', async () => {
    const source = scriptedRecord('x', program, [Uint8Array.of(9)]);
    const other = scriptedRecord('y', program);
    const meta = {
      err: null,
      fee: 5000,
      logMessages: source.logs,
      innerInstructions: [],
      preBalances: [],
      postBalances: [],
      loadedAddresses: { writable: [], readonly: [] },
    };
    const element = (wire: Uint8Array) => ({ transaction: [Buffer.from(wire).toString('base64'), 'base64'], meta, version: 'legacy' });
    const block = { blockhash: 'h', parentSlot: 69, blockTime: 1_700_000_000, transactions: [element(source.wire), element(other.wire)] };
    const notification = {
      jsonrpc: '2.0',
      method: 'blockNotification',
      params: { subscription: 1, result: { context: { slot: 70 }, value: { slot: 70, block, err: null } } },
    };
    const file = join(folder, 'forms.jsonl');
    const lines = [
      JSON.stringify(notification),
      '{broken',
      '{"jsonrpc":"2.0","result":null,"id":1}',
      JSON.stringify({ ...element(source.wire), meta: null }),
      JSON.stringify(element(source.wire)),
    ];
    await writeFile(file, lines.join('\n'));
    const recording = await readRecording(file);
    expect(recording.records.map(({ slot, index, blockTime }) => ({ slot, index, blockTime }))).toEqual([
      { slot: 70, index: 0, blockTime: 1_700_000_000 },
      { slot: 70, index: 1, blockTime: 1_700_000_000 },
    ]);
    expect(recording.refused).toBe(4);
    expect(recording.reasons.map((reason) => reason.slice(file.length))).toEqual([
      ':2: not JSON',
      ':3: not a getTransaction result',
      ':4: meta has no log messages',
      ':5: the transaction appears twice',
    ]);
    await expect(readRecording(join(folder, 'missing.jsonl'))).rejects.toThrow('ENOENT');
  });

  it('follows the recorded pace, shortens long pauses, and without a speed plays as fast as possible', async () => {
    const at = (name: string, slot: number) => ({
      ...scriptedRecord(name, program),
      slot,
      blockTime: 1_700_000_000 + Math.floor((slot * 400) / 1_000),
    });
    const played = async (slots: readonly number[], speed: number): Promise<readonly number[]> => {
      const chain = createReplayChain(
        slots.map((slot) => at(`at ${slot}`, slot)),
        { speed },
      );
      const times: number[] = [];
      const fromMs = performance.now();
      chain.listen({ onFrozen: () => times.push(performance.now() - fromMs) });
      chain.start();
      await chain.finished;
      return times;
    };
    // Slots of 400 ms at 20 times the pace: 100 ms for 5 slots.
    const paced = await played([1_000, 1_005, 1_010], 20);
    expect(paced[1]).toBeGreaterThanOrEqual(90);
    expect(paced[2]).toBeGreaterThanOrEqual(190);
    expect(paced[2]).toBeLessThan(1_000);
    const capped = await played([1_000, 9_000_000], 100);
    expect(capped[1]).toBeGreaterThanOrEqual(maxPauseMs / 100 - 10);
    expect(capped[1]).toBeLessThan(2_000);
    expect((await played([1, 1_000_000, 2_000_000], 0)).at(-1)).toBeLessThan(1_000);
  });

  it('reports slots in long pauses and after the end, so that no reader takes silence for a stall', async () => {
    const slots = [1_000, 2_000];
    const records = slots.map((slot) => ({ ...scriptedRecord(`long ${slot}`, program), slot, blockTime: 1_700_000_000 + slot }));
    const chain = createReplayChain(records, { speed: 4 });
    const reported: { slot: number; parentSlot: number; atMs: number }[] = [];
    chain.listen({ onFrozen: ({ slot, parentSlot }) => reported.push({ slot, parentSlot, atMs: performance.now() }) });
    chain.start();
    expect(await chain.finished).toEqual({ blocks: 2, transactions: 2 });
    const before = reported.length;
    await expect.poll(() => reported.length, { timeout: 60_000 }).toBeGreaterThan(before + 2);
    const seen = reported.map(({ slot }) => slot);
    expect(seen.slice(0, 2)).toEqual([1_000, 1_001]);
    expect(seen.slice(before - 1, before + 2)).toEqual([2_000, 2_001, 2_002]);
    expect(reported.slice(1).map(({ parentSlot }) => parentSlot)).toEqual(seen.slice(0, -1));
    expect(Math.max(...reported.slice(1).map(({ atMs }, index) => atMs - reported[index]!.atMs))).toBeLessThan(20_000);
    await expect.poll(() => chain.finalizedSlot, { timeout: 60_000 }).toBeGreaterThan(2_000);
    chain.stop();
    const after = reported.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(reported).toHaveLength(after);
  });

  it('refuses transactions, and gives a reason', async () => {
    const chain = createReplayChain([scriptedRecord('x', program)], { speed: 0 });
    const simnet = await startSimnet({ chain });
    await chain.finished;
    const rpc = async (method: string, ...params: readonly unknown[]) => {
      const headers = { 'content-type': 'application/json' };
      return (
        await fetch(simnet.rpcUrl, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
      ).json();
    };
    const wire = Buffer.from(scriptedRecord('y', program).wire).toString('base64');
    expect(await rpc('sendTransaction', wire, { encoding: 'base64' })).toMatchObject({
      error: { code: -32002, data: { err: 'ClusterMaintenance' } },
    });
    expect(await rpc('simulateTransaction', wire, { encoding: 'base64' })).toMatchObject({
      result: { value: { err: 'ClusterMaintenance' } },
    });
    expect(await rpc('requestAirdrop', program, 1)).toMatchObject({ error: { code: -32603 } });
    await simnet.close();
  });
});

describe('a recording that has only the parsed form', () => {
  it('is reported, but requests for its bytes are refused', async () => {
    const source = scriptedRecord('parsed', program, [Uint8Array.of(4)]);
    const decoded = decodeTransaction(source.wire);
    if (decoded.kind !== 'decoded') throw new Error(decoded.reason);
    const message = {
      accountKeys: decoded.accountKeys.map((pubkey, index) => ({
        pubkey,
        signer: index === 0,
        writable: index === 0,
        source: 'transaction',
      })),
      instructions: [{ program: 'mystery', programId: program, parsed: { type: 'unknowable', info: {} }, stackHeight: 1 }],
      recentBlockhash: decoded.recentBlockhash,
    };
    const meta = { err: null, fee: 5000, logMessages: source.logs, innerInstructions: [], preBalances: [], postBalances: [] };
    const file = join(folder, 'parsed.json');
    await writeFile(
      file,
      JSON.stringify({ slot: 5, blockTime: 1, version: 'legacy', transaction: { message, signatures: decoded.signatures }, meta }),
    );
    expect(JSON.parse(await readFile(file, 'utf8'))).toHaveProperty('slot', 5);
    const { records } = await readRecording(file);
    expect(records[0]).toMatchObject({ signature: source.signature, logs: source.logs, slot: 5 });
    expect(records[0]?.wire).toHaveLength(0);
  });
});
