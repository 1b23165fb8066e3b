import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createJsonPost, type PostAnswer } from '@sluice/shared/solana/rpc/json-post.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../support/gateway.ts';

const bounds = { timeoutMs: 2_000, maxAnswerBytes: 1_000 };
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Host {
  readonly url: string;
  /** Every connection that was ever opened. */
  readonly sockets: readonly Socket[];
}

async function host(listener: RequestListener): Promise<Host> {
  const server = createServer(listener);
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/path?api-key=secret`, sockets };
}

/** Answers with the request body. */
const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => response.end(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`));
};

/** An answer with text instead of bytes. */
async function said(answer: Promise<PostAnswer>): Promise<unknown> {
  const result = await answer;
  return result.kind === 'answered' ? { kind: result.kind, status: result.status, text: result.bytes.toString() } : result;
}

describe('posting JSON', () => {
  it('reuses its connection, and opens another one only for concurrent requests', async () => {
    const { url, sockets } = await host(echo);
    const post = createJsonPost(url);
    for (let i = 0; i < 20; i++) {
      expect(await said(post(`"ö${i}"`, bounds, undefined))).toEqual({
        kind: 'answered',
        status: 200,
        text: `POST /path?api-key=secret "ö${i}"`,
      });
    }
    expect(sockets).toHaveLength(1);
    await Promise.all(Array.from({ length: 5 }, () => post('1', bounds, undefined)));
    expect(sockets).toHaveLength(5);
  });

  it('asks again if the host had closed the reused connections', async () => {
    const { url, sockets } = await host(echo);
    const post = createJsonPost(url);
    await Promise.all(Array.from({ length: 5 }, () => post('1', bounds, undefined)));
    // Before this side can know of it.
    for (const socket of sockets) socket.resetAndDestroy();
    expect(await said(post('2', bounds, undefined))).toMatchObject({ kind: 'answered', text: 'POST /path?api-key=secret 2' });
  });

  it('does not ask again if an answer broke off, or a new connection did', async () => {
    let asked = 0;
    const { url } = await host((request, response) => {
      asked++;
      if (asked === 2) response.write('half of it', () => response.destroy());
      else if (asked > 2) request.socket.resetAndDestroy();
      else response.end('whole');
    });
    const post = createJsonPost(url);
    expect(await said(post('1', bounds, undefined))).toMatchObject({ kind: 'answered', text: 'whole' });
    expect(await post('2', bounds, undefined)).toMatchObject({ kind: 'failed' });
    expect(asked).toBe(2);
    expect(await post('3', bounds, undefined)).toMatchObject({ kind: 'failed' });
    expect(asked).toBe(3);
  });

  it('reads no more than its limit, compressed or not, and reports an answer that cannot be decompressed', async () => {
    const answers: Record<string, Buffer> = {
      fits: gzipSync('x'.repeat(1_000)),
      bomb: gzipSync('x'.repeat(1_000_000)),
      nonsense: Buffer.from('no gzip'),
      long: Buffer.from('x'.repeat(1_001)),
    };
    const { url } = await host((request, response) => {
      let name = '';
      request.on('data', (chunk: Buffer) => (name += chunk.toString()));
      request.on('end', () => response.writeHead(200, name === 'long' ? {} : { 'content-encoding': 'gzip' }).end(answers[name]));
    });
    const post = createJsonPost(url);
    expect(await said(post('fits', bounds, undefined))).toEqual({ kind: 'answered', status: 200, text: 'x'.repeat(1_000) });
    expect(await post('bomb', bounds, undefined)).toEqual({ kind: 'too_long' });
    expect(await post('nonsense', bounds, undefined)).toMatchObject({ kind: 'failed' });
    expect(await post('long', bounds, undefined)).toEqual({ kind: 'too_long' });
  });

  it('ends in time, and when its caller aborts', async () => {
    const { url, sockets } = await host((_request, response) => response.write('never whole'));
    const post = createJsonPost(url);
    expect(await post('1', { ...bounds, timeoutMs: 30 }, undefined)).toEqual({ kind: 'late' });
    const caller = new AbortController();
    const calls = Array.from({ length: 20 }, () => post('1', bounds, caller.signal));
    await until('the requests', () => sockets.length === 21);
    caller.abort();
    expect(new Set((await Promise.all(calls)).map(({ kind }) => kind))).toEqual(new Set(['aborted']));
    expect(await post('1', bounds, caller.signal)).toEqual({ kind: 'aborted' });
    await until('the connections to be closed', () => sockets.every(({ destroyed }) => destroyed));
    expect(() => createJsonPost('ftp://127.0.0.1')).toThrow(TypeError);
  });
});

describe('waiting for a signal', () => {
  it('calls each waiting listener once, and no removed one', () => {
    const source = new AbortController();
    const called: string[] = [];
    const wait = (name: string): (() => void) => whenAborted(source.signal, () => void called.push(name));
    wait('first');
    const leave = wait('second');
    wait('third');
    leave();
    source.abort();
    expect(called).toEqual(['first', 'third']);
    wait('late')();
    expect(called).toEqual(['first', 'third', 'late']);
  });
});
