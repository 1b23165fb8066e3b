import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../support/gateway.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

interface End {
  readonly socket: Socket;
  readonly pieces: Buffer[];
  text(): string;
  closed: boolean;
  error: string | null;
}

function endOf(socket: Socket): End {
  const end: End = { socket, pieces: [], text: () => Buffer.concat(end.pieces).toString(), closed: false, error: null };
  socket.on('data', (bytes: Buffer) => end.pieces.push(bytes));
  socket.on('error', (error: NodeJS.ErrnoException) => (end.error = error.code ?? error.message));
  socket.on('close', () => (end.closed = true));
  return end;
}

interface Pair {
  readonly proxy: TcpProxy;
  readonly client: End;
  readonly server: End;
  readonly another: () => Promise<End>;
}

async function open(): Promise<Pair> {
  const accepted: End[] = [];
  const listener = createServer((socket) => accepted.push(endOf(socket)));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const proxy = await startTcpProxy((listener.address() as AddressInfo).port);
  const ends: End[] = [];
  onTestFinished(async () => {
    await proxy.close();
    for (const { socket } of [...ends, ...accepted]) socket.destroy();
    listener.close();
  });
  const another = async (): Promise<End> => {
    const end = endOf(connect(proxy.port, '127.0.0.1'));
    ends.push(end);
    await until('the connect', () => end.socket.readyState === 'open' || end.closed);
    return end;
  };
  const client = await another();
  const server = await until('the server side', () => accepted[0]);
  return { proxy, client, server, another };
}

describe('the proxy', () => {
  it('forwards bytes in both directions, and the end of each side', async () => {
    const { client, server } = await open();
    client.socket.write('ask');
    await until('the question', () => server.text() === 'ask');
    server.socket.end('answer');
    await until('the end', () => client.closed);
    expect([client.text(), client.error]).toEqual(['answer', null]);
  });

  it('delays bytes, in order and in pieces', async () => {
    const { proxy, client, server } = await open();
    proxy.set({ latencyMs: 60, jitterMs: 40, sliceBytes: 2 });
    const startMs = performance.now();
    for (let n = 0; n < 50; n++) client.socket.write(`${n % 10}`);
    await until('all of it', () => server.text().length === 50);
    expect(performance.now() - startMs).toBeGreaterThan(55);
    expect(server.text()).toBe('0123456789'.repeat(5));
  });

  it('carries no more than its limit', async () => {
    const { proxy, client, server } = await open();
    proxy.set({ bytesPerSecond: 100_000 });
    const startMs = performance.now();
    client.socket.write(Buffer.alloc(30_000));
    await until('all of it', () => server.text().length === 30_000);
    expect(performance.now() - startMs).toBeGreaterThan(250);
  });

  it('stalls, and delivers everything afterwards', async () => {
    const { proxy, client, server } = await open();
    proxy.set({ stalled: true });
    client.socket.write('waits');
    const other = endOf(connect(proxy.port, '127.0.0.1'));
    await until('the connect', () => other.socket.readyState === 'open');
    expect(server.text()).toBe('');
    proxy.clear();
    await until('what waited', () => server.text() === 'waits');
    other.socket.destroy();
  });

  it('leaves a link half open: one direction passes, the other is lost forever, and no end is reported', async () => {
    const { proxy, client, server } = await open();
    proxy.set({ swallows: ['up'] });
    client.socket.write('lost');
    server.socket.write('received');
    await until('the direction that still works', () => client.text() === 'received');
    proxy.clear();
    await until('the cut at the side of the server', () => server.closed);
    client.socket.write('lost as well');
    server.pieces.length = 0;
    expect([client.closed, server.text()]).toEqual([false, '']);
    expect(proxy.links).toBe(1);
    client.socket.destroy();
    await until('the end', () => proxy.links === 0);
  });

  it('cuts by a reset, and refuses', async () => {
    const { proxy, client, server, another } = await open();
    proxy.cut();
    await until('the cut', () => client.closed && server.closed);
    expect([client.error, server.error]).toEqual(['ECONNRESET', 'ECONNRESET']);
    proxy.set({ refuses: true });
    const refused = await another();
    await until('the refusal', () => refused.closed);
    expect(proxy.links).toBe(0);
  });

  it('resets a link whose target is unreachable, and accepts another target', async () => {
    const { proxy, another } = await open();
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    proxy.target(port);
    const end = await another();
    await until('the reset', () => end.closed);
  });
});
