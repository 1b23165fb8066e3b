import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { run, seqs, StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';

/** One test for each service of a transport that the protocol uses. The other suites in this folder test the protocol itself. */
describe('the transport on node:http and ws', () => {
  let server: TestGateway;
  const clients: StreamClient[] = [];
  beforeAll(async () => {
    server = await startTestGateway({ transport: 'node', config: { trustedProxies: ['127.0.0.1'] } });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server.close();
  });

  function connect(query = `?api-key=${goodKey}`, headers: Record<string, string> = {}): StreamClient {
    const client = new StreamClient(`ws://${server.host}/api/data${query}`, headers);
    clients.push(client);
    return client;
  }
  const trades = (mint: string, count: number) => Array.from({ length: count }, () => entryOf(tradeEvent(mint)));

  it('runs', () => {
    expect(server.gateway.transport).toBe('node');
  });

  it('passes the headers of a handshake, and refuses one with plain HTTP', async () => {
    const client = await connect('', { Authorization: `Bearer ${goodKey}` }).open();
    expect(await client.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
    const stranger = connect('?api-key=sluice_nobody_x');
    const refused = await until('the refusal', () => stranger.refused ?? undefined);
    expect(refused.status).toBe(401);
    expect(refused.headers['x-request-id']).toBe(refused.body.requestId);
  });

  it('limits the connections of a key at the handshake', async () => {
    server.keys.add('sluice_one', { plan: { ...defaultPlans.standard, connections: 1 } });
    const first = await connect('?api-key=sluice_one').open();
    const second = connect('?api-key=sluice_one');
    expect((await until('the refusal', () => second.refused ?? undefined)).status).toBe(429);
    expect(await first.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
  });

  it.each(['', '&format=msgpack', '&batch=1', '&batch=1&format=msgpack'])('sends and resumes frames in order: %s', async (query) => {
    const mint = addressOf(3_000_000 + query.length);
    const topic = tradesTopic(mint);
    const first = await connect(`?api-key=${goodKey}${query}`).open();
    const { positions } = await first.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    await server.publish(trades(mint, 500));
    expect(seqs(await first.framesTo(topic, 500))).toEqual(run(1, 500));
    first.close();
    const second = await connect(`?api-key=${goodKey}${query}`).open();
    const { epoch, seq } = positions![topic]!;
    const reply = await second.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch, seq } });
    expect(reply.positions![topic]).toMatchObject({ recovered: true });
    await server.publish(trades(mint, 100));
    expect(seqs(await second.framesTo(topic, 600))).toEqual(run(1, 600));
  });

  it('closes with the codes of the protocol: a wrong key, a revoked key, a message that is too long, too many pings', async () => {
    const wrong = await connect('').open();
    await wrong.ask({ op: 'auth', key: 'sluice_nobody_x' });
    expect((await wrong.end()).code).toBe(4501);
    server.keys.add('sluice_revoked');
    const revoked = await connect('?api-key=sluice_revoked').open();
    server.keys.revoke('sluice_revoked');
    expect((await revoked.end()).code).toBe(4501);
    const long = await connect().open();
    long.send(`{"op":"ping","x":"${'y'.repeat(600 * 1024)}"}`);
    expect((await long.end()).code).toBe(4513);
    const pinging = await connect().open();
    for (let i = 0; i < streamLimits.rateRefusals * 2; i++) pinging.socket.ping();
    expect((await pinging.end()).code).toBe(4029);
  });

  it('measures how much a client has not read, and closes a stalled one with 4008', async () => {
    const mint = addressOf(3_000_900);
    const slow = await connect().open();
    await slow.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    slow.socket.pause();
    const padding = 'x'.repeat(6_000);
    let sent = 0;
    const closes = async (): Promise<number> =>
      ((await (await fetch(`http://${server.host}/status`)).json()) as { stream: { slowCloses: number } }).stream.slowCloses;
    while ((await closes()) === 0) {
      await server.publish(Array.from({ length: 50 }, () => entryOf({ ...tradeEvent(mint), id: `${padding}${sent++}:1` })));
      if (sent > 5_000) throw new Error('it was never closed');
    }
    slow.socket.resume();
    expect((await slow.end()).code).toBe(4008);
  });

  it('drains: a warning, then 4012', async () => {
    const own = await startTestGateway({ transport: 'node' });
    const client = await new StreamClient(`ws://${own.host}/api/data?api-key=${goodKey}`).open();
    clients.push(client);
    await client.ask({ op: 'subscribe', channel: 'newTokens' });
    await own.close();
    expect(await client.next('the warning', ({ op }) => op === 'draining')).toMatchObject({ reconnectWithinMs: 1_000 });
    expect((await client.end()).code).toBe(4012);
  });
});
