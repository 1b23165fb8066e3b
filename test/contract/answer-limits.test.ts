import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { isTooDeep, maxNesting } from '@sluice/shared/solana/rpc/answers/nesting.ts';
import { logSuspensions } from '@sluice/shared/solana/rpc/answers/suspensions.ts';
import { createRpc, RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';

/** No answer here is late, also on a busy machine. */
const timeoutMs = 60_000;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Node {
  readonly url: string;
  /** Methods that were called. */
  readonly calls: string[];
}

async function node(answer: (call: { readonly id: number; readonly method: string }, response: ServerResponse) => void): Promise<Node> {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string };
      calls.push(call.method);
      answer(call, response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/?api-key=secret`, calls };
}

const hash = '11111111111111111111111111111111';
const blockhash = { context: { slot: 1 }, value: { blockhash: hash, lastValidBlockHeight: 151 } };
const honest = (): Promise<Node> => node(({ id }, response) => response.end(JSON.stringify({ jsonrpc: '2.0', id, result: blockhash })));
/** A valid answer that unused fields make 60 MB long. */
const padded = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(blockhash)},"x":[${'[1,2,3],'.repeat(7_500_000)}0]}`;
const nested = (id: number, depth: number): string => `{"jsonrpc":"2.0","id":${id},"result":${'['.repeat(depth)}${']'.repeat(depth)}}`;

async function faultOf(promise: Promise<unknown>): Promise<RpcError> {
  const fault: unknown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(fault instanceof RpcError)) throw new Error('the call did not fail', { cause: fault });
  return fault;
}

describe('an endpoint that answers more than allowed', () => {
  const floods: Record<string, (id: number, response: ServerResponse) => void> = {
    'sixty megabytes': (id, response) => void response.end(padded(id)),
    'sixty megabytes of unannounced length': (id, response) => {
      response.write(padded(id));
      response.end();
    },
    'sixty megabytes, packed': (id, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(padded(id))),
    'one byte at a time': (_id, response) => {
      response.socket!.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      response.socket!.write('1\r\n \r\n'.repeat(3_500));
    },
    'heads without end': (_id, response) => void response.socket!.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100_000)),
    'nested lists': (id, response) => void response.end(nested(id, 1_000)),
  };

  it.each(Object.keys(floods))(
    '%s: reading stops, the endpoint is reported once, and is suspended while the others answer',
    async (what) => {
      const liar = await node(({ id }, response) => floods[what]!(id, response));
      const other = await honest();
      const lines: object[] = [];
      logSuspensions([liar.url, other.url], { error: (data, event) => lines.push({ ...data, event }) });
      const rpc = createRpc([liar.url, other.url], { timeoutMs });
      // The flood is created before, so that only its handling is measured.
      expect(await rpc.call('getLatestBlockhash', [])).toEqual(blockhash);
      for (let i = 0; i < 5; i++) expect(await rpc.call('getLatestBlockhash', [])).toEqual(blockhash);
      expect([liar.calls.length, other.calls.length]).toEqual([1, 6]);
      // On a busy machine the other endpoint answers first, and the flood is noticed later.
      await expect
        .poll(() => rpc.health(), { timeout: timeoutMs })
        .toMatchObject([
          { avoided: true, impossibleAnswers: 1 },
          { avoided: false, impossibleAnswers: 0 },
        ]);
      const fault = what === 'nested lists' ? 'too_deep' : 'too_long';
      expect(lines).toEqual([
        { endpoint: 1, method: 'getLatestBlockhash', what: fault, suspendedForMs: 2_000, event: 'rpc_endpoint_suspended' },
      ]);
    },
  );

  it('is not used by any client of the process, even if it is the only one; messages are still sent to it', async () => {
    const liar = await node(({ id, method }, response) => {
      response.end(method === 'sendTransaction' ? JSON.stringify({ jsonrpc: '2.0', id, result: 'signature' }) : nested(id, 1_500));
    });
    const [one, another] = [createRpc([liar.url], { timeoutMs }), createRpc([liar.url], { timeoutMs })];
    expect(await faultOf(one.call('getSlot', []))).toMatchObject({
      kind: 'malformed',
      message: 'The answer to getSlot is nested too deeply.',
    });
    expect(await faultOf(another.call('getSlot', []))).toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('No endpoint is in use'),
    });
    expect(await another.call('sendTransaction', ['x'])).toBe('signature');
    expect(liar.calls).toEqual(['getSlot', 'sendTransaction']);
    expect(another.health()[0]!.impossibleAnswers).toBe(1);
  });

  it('is not blamed if others determine the length of the answer', async () => {
    const busy = await node(({ id }, response) => {
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { context: { slot: 1 }, value: ['x'.repeat(17 * 1_024 * 1_024)] } }));
    });
    const rpc = createRpc([busy.url], { timeoutMs });
    expect(await faultOf(rpc.call('getTokenAccountsByOwner', []))).toMatchObject({ kind: 'malformed' });
    expect(rpc.health()).toMatchObject([{ impossibleAnswers: 0, avoided: false }]);
  });

  it('parses a long valid answer completely in another thread', async () => {
    const value = Array.from({ length: 5_000 }, (_, i) => ({
      pubkey: `${hash}${i}`,
      account: { data: ['A'.repeat(220), 'base64'], lamports: i },
    }));
    const long = await node(({ id, method }, response) => {
      const result = method === 'getTokenAccountsByOwner' ? { context: { slot: 7 }, value } : value;
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    const rpc = createRpc([long.url], { timeoutMs });
    const parse = vi.spyOn(JSON, 'parse');
    const [owned, listed] = await Promise.all([rpc.call('getTokenAccountsByOwner', []), rpc.call('getSignaturesForAddress', [])]);
    const longest = Math.max(...parse.mock.calls.map(([text]) => text.length));
    parse.mockRestore();
    expect([owned, listed]).toEqual([{ context: { slot: 7 }, value }, value]);
    expect(longest).toBeLessThan(1_000);
  });

  it.each([5, 5_000])('returns of a block with %i transactions only the requested ones', async (count) => {
    const meta = { logMessages: ['x'.repeat(100)] };
    const transactions = Array.from({ length: count }, (_, i) => ({
      meta,
      transaction: { signatures: [`${hash}${hash}${i}`], message: null },
    }));
    const block = { blockTime: 1, transactions: ['none', null, { transaction: { signatures: [] } }, ...transactions] };
    const long = await node(({ id }, response) => response.end(JSON.stringify({ jsonrpc: '2.0', id, result: block })));
    const rpc = createRpc([long.url], { timeoutMs });
    const parse = vi.spyOn(JSON, 'parse');
    const keep = new Set([`${hash}${hash}1`, `${hash}${hash}4`, 'unknown'.padEnd(64, '1')]);
    const answer = await rpc.call('getBlock', [], undefined, undefined, keep);
    const longest = Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
    parse.mockRestore();
    expect(answer).toEqual({ blockTime: 1, transactions: [transactions[1], transactions[4]] });
    if (count > 1_000) expect(longest).toBeLessThan(1_000);
    expect(await rpc.call('getBlock', [])).toEqual(block);
  });

  it('a long answer that is not JSON, or nested too deeply, is refused', async () => {
    let text = 'x'.repeat(200_000);
    const odd = await node((_call, response) => void response.end(text));
    const rpc = createRpc([odd.url], { timeoutMs });
    expect(await faultOf(rpc.call('getTransaction', []))).toMatchObject({ kind: 'malformed', message: 'The answer is not JSON.' });
    text = nested(2, 100_000);
    expect(await faultOf(rpc.call('getTransaction', []))).toMatchObject({ message: 'The answer to getTransaction is nested too deeply.' });
  });
});

describe('the text of a node', () => {
  it('is one short line in errors, and its attached data is not logged', async () => {
    const talker = await node(({ id }, response) => {
      const error = { code: -32_602, message: `no\n\u001b[2J${'very '.repeat(400)}`, data: { text: 'long '.repeat(300) } };
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    });
    const fault = await faultOf(createRpc([talker.url], { timeoutMs }).call('getSlot', []));
    expect(fault.message.length).toBeLessThanOrEqual(201);
    expect(fault.message).toMatch(/^no \[2Jvery/);
    expect(fault.data).toHaveProperty('text');
    expect(JSON.stringify(fault)).not.toContain('long');
  });
});

describe('nesting', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

  it('is counted correctly, also with brackets and quotes in strings', () => {
    const strings = fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', 'a') });
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 90 },
        strings,
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(strings, tie('value'), { maxKeys: 2 }),
      ),
    })).value;
    fc.assert(
      fc.property(values, fc.integer({ min: 0, max: maxNesting + 10 }), (value, more) => {
        let wrapped: unknown = value;
        for (let i = 0; i < more; i++) wrapped = i % 2 === 0 ? [wrapped] : { a: wrapped };
        return isTooDeep(Buffer.from(JSON.stringify(wrapped))) === depthOf(wrapped) > maxNesting;
      }),
    );
  });
});
