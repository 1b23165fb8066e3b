import { get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { transportLimits } from '@sluice/gateway/transport/transport.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';

interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Each transport compresses in its own way, so the suite runs over both. */
describe.each(['uws', 'node'] as const)('compression over %s', (transport) => {
  let server: TestGateway;
  const clients: StreamClient[] = [];
  const sockets = new WeakMap<StreamClient, Socket>();
  beforeAll(async () => {
    server = await startTestGateway({ transport, config: { compressedConnections: 2 } });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server.close();
  });

  async function connect(query: string): Promise<StreamClient> {
    const client = new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}${query}`);
    clients.push(client);
    client.socket.once('upgrade', ({ socket }) => sockets.set(client, socket));
    return await client.open();
  }
  /** Bytes that the client has received, compressed. */
  const bytesOf = (client: StreamClient): number => sockets.get(client)!.bytesRead;

  /** The gateway then has no compressed connection. */
  async function closeAll(): Promise<void> {
    for (const client of clients.splice(0)) client.close();
    await until('the end of all compressed connections', async () =>
      (await fetchAs('/metrics', {})).body.toString().includes('\nsluice_gateway_compressed_connections 0\n'),
    );
  }
  function fetchAs(path: string, headers: Record<string, string>): Promise<Received> {
    return new Promise((resolve, reject) => {
      get(`http://${server.host}${path}`, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }));
      }).on('error', reject);
    });
  }

  it('gives the same stream in less than half of the bytes to clients that ask for it', async () => {
    const mint = addressOf(4_000_000);
    const topic = tradesTopic(mint);
    const followers = [await connect(''), await connect('&compress=1'), await connect('&compress=1&batch=1')];
    expect(followers.map(({ socket }) => socket.extensions)).toEqual(['', 'permessage-deflate', 'permessage-deflate']);
    for (const client of followers) await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    const before = followers.map(bytesOf);
    await server.publish(Array.from({ length: 300 }, () => entryOf(tradeEvent(mint))));
    const [plain, ...compressed] = await Promise.all(followers.map((client) => client.framesTo(topic, 300)));
    for (const frames of compressed) expect(frames).toEqual(plain);
    const [plainBytes, ...compressedBytes] = followers.map((client, at) => bytesOf(client) - before[at]!);
    for (const bytes of compressedBytes) expect(bytes).toBeLessThan(plainBytes! / 2);
    await closeAll();
  });

  it('reads compressed commands, and cuts a client whose message is too long once decompressed', async () => {
    const client = await connect('&compress=1');
    expect(client.socket.extensions).toBe('permessage-deflate');
    const mints = Array.from({ length: 100 }, (_, at) => addressOf(at));
    expect(await client.ask({ op: 'subscribe', channel: 'trades', mints })).toMatchObject({ accepted: mints });
    // 16 MiB of spaces become 16 KiB.
    client.send(`{"op":"ping"${' '.repeat(16 * 1024 * 1024)}}`);
    expect((await until('the end', () => client.closed ?? undefined)).code).not.toBe(1000);
    expect(transportLimits.messageBytes).toBeLessThan(16 * 1024 * 1024);
    await closeAll();
  });

  it('accepts further clients without compression once its connections are used', async () => {
    const isCompressed = ({ socket }: StreamClient): boolean => socket.extensions !== '';
    const held = [await connect('&compress=1'), await connect('&compress=1'), await connect('&compress=1')];
    expect(held.map(isCompressed)).toEqual([true, true, false]);
    expect(await held[2]!.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
    held[0]!.close();
    await until('a free place', async () => isCompressed(await connect('&compress=1')));
    await closeAll();
  });

  it('refuses another value', async () => {
    const client = new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}&compress=2`);
    clients.push(client);
    expect((await until('the refusal', () => client.refused ?? undefined)).status).toBe(400);
  });

  it('compresses documents for HTTP clients that accept it', async () => {
    const plain = await fetchAs('/api/openapi.json', {});
    expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    for (const [accepted, coding, read] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip', 'gzip', gunzipSync],
      ['br;q=0, gzip', 'gzip', gunzipSync],
    ] as const) {
      const { headers, body } = await fetchAs('/api/openapi.json', { 'Accept-Encoding': accepted });
      expect(headers['content-encoding']).toBe(coding);
      expect(headers['content-length']).toBe(String(body.length));
      expect(body.length).toBeLessThan(plain.body.length / 5);
      expect(read(body).equals(plain.body)).toBe(true);
      expect(headers.etag).toBe(plain.headers.etag);
    }
    const known = { 'Accept-Encoding': 'br', 'If-None-Match': plain.headers.etag! };
    expect(await fetchAs('/api/openapi.json', known)).toMatchObject({ status: 304, body: Buffer.alloc(0) });
    expect((await fetchAs('/livez', { 'Accept-Encoding': 'br' })).headers['content-encoding']).toBeUndefined();
  });
});
