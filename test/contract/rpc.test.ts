import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRpc, RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { afterEach, describe, expect, it } from 'vitest';

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: unknown[];
}
type Reply = { readonly status?: number; readonly text: string } | 'hang' | 'cut';

interface Node {
  readonly url: string;
  readonly calls: Call[];
  /** Pause before each answer. */
  delayMs: number;
  reply(call: Call): Reply;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A node on a free port; the test decides each answer. */
async function node(reply: (call: Call) => Reply): Promise<Node> {
  const calls: Call[] = [];
  const self = { url: '', calls, delayMs: 0, reply };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call = JSON.parse(Buffer.concat(chunks).toString()) as Call;
      calls.push(call);
      const answer = self.reply(call);
      if (answer === 'hang') return;
      if (answer === 'cut') {
        request.socket.destroy();
        return;
      }
      setTimeout(() => {
        response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' });
        response.end(answer.text);
      }, self.delayMs);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  self.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?api-key=secret`;
  return self;
}

const ok = (call: Call, result: unknown): Reply => ({ text: JSON.stringify({ jsonrpc: '2.0', id: call.id, result }) });
const error = (call: Call, code: number, message: string, data?: unknown): Reply => ({
  text: JSON.stringify({ jsonrpc: '2.0', id: call.id, error: { code, message, data } }),
});

async function faultOf(promise: Promise<unknown>): Promise<RpcError> {
  try {
    await promise;
  } catch (fault) {
    if (fault instanceof RpcError) return fault;
    throw fault;
  }
  throw new Error('the call did not fail');
}

describe('createRpc', () => {
  it('calls and returns the result, also null', async () => {
    const only = await node((call) => ok(call, call.method === 'getSlot' ? 42 : null));
    const rpc = createRpc([only.url], { timeoutMs: 2000 });
    expect(await rpc.call('getSlot', [{ commitment: 'processed' }])).toBe(42);
    expect(await rpc.call('getTransaction', ['x'])).toBeNull();
    expect(only.calls).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'getSlot', params: [{ commitment: 'processed' }] },
      { jsonrpc: '2.0', id: 2, method: 'getTransaction', params: ['x'] },
    ]);
  });

  it("returns the node's own error unchanged, without asking another node", async () => {
    const first = await node((call) =>
      error(call, -32002, 'Transaction simulation failed', { err: { InstructionError: [2, { Custom: 6002 }] } }),
    );
    const second = await node((call) => ok(call, 1));
    const fault = await faultOf(createRpc([first.url, second.url], { timeoutMs: 2000 }).call('sendTransaction', []));
    expect(fault).toMatchObject({
      kind: 'answer',
      code: -32002,
      message: 'Transaction simulation failed',
      data: { err: { InstructionError: [2, { Custom: 6002 }] } },
    });
    expect(second.calls).toHaveLength(0);
  });

  it('continues with the next endpoint if the node has a fault, and stays with the healthy one', async () => {
    const troubles: ((call: Call) => Reply)[] = [
      () => ({ status: 429, text: 'Too many requests' }),
      () => ({ status: 502, text: '' }),
      () => ({ text: '<html>' }),
      (call) => error(call, -32005, 'Node is behind by 42 slots'),
      (call) => ({ status: 429, text: JSON.stringify({ jsonrpc: '2.0', id: call.id, error: { code: -32429, message: 'limit' } }) }),
      (call) => ({ text: JSON.stringify({ jsonrpc: '2.0', id: call.id + 1, result: 'of another call' }) }),
      () => 'cut',
    ];
    for (const trouble of troubles) {
      const sick = await node(trouble);
      const healthy = await node((call) => ok(call, 'fine'));
      const rpc = createRpc([sick.url, healthy.url], { timeoutMs: 2000 });
      expect(await rpc.call('getSlot', [])).toBe('fine');
      expect(await rpc.call('getSlot', [])).toBe('fine');
      expect([sick.calls.length, healthy.calls.length]).toEqual([1, 2]);
    }
  });

  it('asks another node if one lacks the history or the method, or its provider has a fault, without marking it as unhealthy', async () => {
    for (const code of [-32001, -32004, -32007, -32009, -32010, -32011, -32014, -32019, -32601, -32052, 35]) {
      const without = await node((call) => (call.method === 'getSlot' ? ok(call, 1) : error(call, code, 'not here')));
      const other = await node((call) => ok(call, call.method === 'getSlot' ? 2 : 'found'));
      const rpc = createRpc([without.url, other.url], { timeoutMs: 2000 });
      expect(await rpc.call('getTransaction', ['x']), String(code)).toBe('found');
      // It stays first for everything else.
      expect(await rpc.call('getSlot', []), String(code)).toBe(1);
    }
  });

  it('asks the other nodes if an answer is not accepted, and returns the first answer if none is', async () => {
    const without = await node((call) => ok(call, null));
    const refusing = await node((call) => error(call, -32602, 'Invalid params'));
    const dead = await node(() => 'cut');
    const knowing = await node((call) => ok(call, 'known'));
    const accept = (result: unknown): boolean => result !== null;
    const all = createRpc([without.url, refusing.url, dead.url, knowing.url], { timeoutMs: 2000 });
    expect(await all.call('getTransaction', ['x'], undefined, accept)).toBe('known');
    expect(await all.call('getTransaction', ['x'])).toBeNull();
    const none = createRpc([refusing.url, without.url, dead.url], { timeoutMs: 2000 });
    expect(await none.call('getTransaction', ['x'], undefined, accept)).toBeNull();
    const judged: unknown[] = [];
    const silent = createRpc([refusing.url, dead.url], { timeoutMs: 2000 });
    const fault = await faultOf(silent.call('getTransaction', ['x'], undefined, (result) => judged.push(result) > 0));
    expect(fault.kind).toBe('unreachable');
    expect(judged).toEqual([]);
  });

  it('reports that no node answered, and names no URL in any error', async () => {
    const silent = await node(() => 'hang');
    const late = await faultOf(createRpc([silent.url], { timeoutMs: 50 }).call('getSlot', []));
    expect(late).toMatchObject({ kind: 'unreachable', code: 0 });
    const closed = await node(() => 'cut');
    const dead = await faultOf(createRpc([closed.url], { timeoutMs: 2000 }).call('getSlot', []));
    expect(dead.kind).toBe('unreachable');
    const senseless = await node(() => ({ text: '[]' }));
    expect((await faultOf(createRpc([senseless.url], { timeoutMs: 2000 }).call('getSlot', []))).kind).toBe('malformed');
    for (const fault of [late, dead]) expect(fault.message).not.toContain('secret');
  });

  it("hides what a node's text repeats of its address, in every form", async () => {
    const texts: string[] = [];
    const talking = await node((call) => error(call, -32005, texts.at(-1)!));
    const { host } = new URL(talking.url);
    const address = `http://user:pass%2Fword@${host}/v2/PathKey-1+2?x-token=Tok%2FEN.3&n=1&BareKey9`;
    const shownOf = async (text: string): Promise<string> => {
      texts.push(text);
      return (await faultOf(createRpc([address], { timeoutMs: 2000 }).call('getSlot', []))).message;
    };
    expect(await shownOf(`quota of ${address} exceeded`)).toBe('quota of (hidden) exceeded');
    expect(await shownOf(`quota of http://${host}/v2/PathK… exceeded`)).toBe('quota of (hidden) exceeded');
    expect(await shownOf('Basic dXNlcjpwYXNzL3dvcmQ=, key PATHKEY-1+2 or BareKey9, token Tok/EN.3 or Tok%2FEN.3, pass/word: n=1')).toBe(
      'Basic (hidden), key (hidden) or (hidden), token (hidden) or (hidden), (hidden): n=1',
    );
    const long = `${'x'.repeat(195)}PathKey-1+2`;
    expect(await shownOf(long)).not.toContain('Path');
  });

  it('ends at once when its caller aborts', async () => {
    const silent = await node(() => 'hang');
    const other = await node((call) => ok(call, 1));
    const rpc = createRpc([silent.url, other.url], { timeoutMs: 10_000 });
    const controller = new AbortController();
    const call = faultOf(rpc.call('getSlot', [], controller.signal));
    controller.abort();
    expect((await call).kind).toBe('aborted');
    expect((await faultOf(rpc.call('getSlot', [], AbortSignal.abort()))).kind).toBe('aborted');
    expect(other.calls).toHaveLength(0);
    expect(() => createRpc([], { timeoutMs: 1 })).toThrow(RangeError);
  });

  it('also asks the next endpoint if one is slow, uses the first usable answer, and from then on asks the slow one last', async () => {
    const hanging = await node(() => 'hang');
    const healthy = await node((call) => ok(call, 'fine'));
    const rpc = createRpc([hanging.url, healthy.url], { timeoutMs: 2_000, hedgeAfterMs: 20 });
    const beganAtMs = performance.now();
    expect(await rpc.call('getSlot', [])).toBe('fine');
    expect(performance.now() - beganAtMs).toBeLessThan(1_900);
    // Its timeout counts although no caller waits for it any more.
    await expect.poll(() => rpc.health(), { timeout: 60_000 }).toMatchObject([{ failures: 1, avoided: true }, { failures: 0 }]);
    expect(await rpc.call('getSlot', [])).toBe('fine');
    expect([hanging.calls.length, healthy.calls.length]).toEqual([1, 2]);
  });

  it('waits for the slow endpoint if the next one fails, and asks no second one without `hedgeAfterMs`', async () => {
    const slow = await node((call) => ok(call, 'late'));
    const broken = await node(() => ({ status: 502, text: '' }));
    const rpc = createRpc([slow.url, broken.url], { timeoutMs: 2_000, hedgeAfterMs: 20 });
    slow.delayMs = 100;
    expect(await rpc.call('getSlot', [])).toBe('late');
    expect(broken.calls).toHaveLength(1);
    expect(await createRpc([slow.url, broken.url], { timeoutMs: 2_000 }).call('getSlot', [])).toBe('late');
    expect(broken.calls).toHaveLength(1);
  });

  it('survives any body', async () => {
    const bodies = [
      '',
      'null',
      '1',
      '"x"',
      '{}',
      '{"id":1}',
      '{"error":1}',
      '{"error":{}}',
      '{"id":1,"error":{"code":"x","message":5}}',
      '\u0000',
      '{"id":1,"result":undefined}',
    ];
    for (const text of bodies) {
      const only = await node(() => ({ text }));
      const fault = await faultOf(createRpc([only.url], { timeoutMs: 2000 }).call('getSlot', []));
      expect(['answer', 'malformed'], text).toContain(fault.kind);
    }
  });
});
