import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fastClock } from '../support/clocks.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, poolCreatedEvent, removedEvent } from '../support/events/stream-events.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { transports } from '../support/transports.ts';

const [mint, other] = [addressOf(71), addressOf(72)];
const drained = { baseLeft: '0', quoteLeft: '0', leftSol: 0, provider: addressOf(73), valueSol: 50 };

describe.each(transports)('the channel pools over %s', (transport) => {
  let server: TestGateway;
  const sockets: { close(): void }[] = [];
  beforeAll(async () => {
    server = await startTestGateway({ transport, clock: fastClock(10) });
  });
  afterAll(async () => {
    for (const socket of sockets) socket.close();
    await server.close();
  });

  it('is followed as a whole, by mint, with a filter, and from the past; a retraction follows', async () => {
    const client = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`).open();
    sockets.push(client);
    const events = [poolCreatedEvent(mint), removedEvent(mint, drained), removedEvent(other, { valueSol: 0.1 })];
    const filter = { type: 'liquidityRemoved', minSol: 1, provider: drained.provider };
    for (const command of [{}, { mints: [mint, 'x'] }]) {
      expect(await client.ask({ op: 'subscribe', channel: 'pools', ...command })).toMatchObject({ op: 'subscribed', channel: 'pools' });
    }
    const filtered = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`).open();
    sockets.push(filtered);
    await filtered.ask({ op: 'subscribe', channel: 'pools', filter });
    await server.publish(events.map((event) => entryOf(event)));
    await client.framesTo('pools', 3);
    expect(client.frames('pools').map(({ data }) => data)).toEqual(events);
    expect(client.frames(`pools:${mint}`)).toEqual([1, 2].map((seq) => ({ topic: `pools:${mint}`, seq, data: events[seq - 1] })));
    await filtered.framesTo('pools', 1);
    expect(filtered.frames('pools')).toEqual([{ topic: 'pools', seq: 2, prev: 0, data: events[1] }]);
    await server.publish([{ ...entryOf({ type: 'retract', id: events[1]!.id }), topics: ['pools', `pools:${mint}`] }]);
    await client.framesTo(`pools:${mint}`, 3);
    const late = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`).open();
    sockets.push(late);
    await late.ask({ op: 'subscribe', channel: 'pools', mints: [mint], last: 10 });
    expect((await late.framesTo(`pools:${mint}`, 3)).map(({ data }) => data?.type)).toEqual(['poolCreated', 'liquidityRemoved', 'retract']);
    expect(await client.ask({ op: 'subscribe', channel: 'pools', filter: { minSol: -1 } })).toMatchObject({
      error: { code: 'INVALID_REQUEST' },
    });
  });

  it('answers subscribeRaydiumLiquidity, of all coins or of some', async () => {
    const received: Record<string, unknown>[] = [];
    const socket = new WebSocket(`ws://${server.host}/api/data?api-key=${goodKey}`);
    sockets.push(socket);
    socket.on('message', (data: Buffer) => void received.push(JSON.parse(data.toString()) as Record<string, unknown>));
    socket.on('open', () => socket.send('{"method":"subscribeRaydiumLiquidity"}'));
    await until('the answer', () => received.length === 1);
    expect(received).toEqual([{ message: 'Successfully subscribed to liquidity events.' }]);
    const opened = poolCreatedEvent(mint, {
      pool: 'raydium-amm',
      tokenAmount: 5,
      solAmount: 2,
      baseAmount: '5000000',
      quoteAmount: '2000000000',
      baseDecimals: 6,
      quoteDecimals: 9,
    });
    const removed = removedEvent(other, { ...drained, pool: 'pump-amm', tokenAmount: 7, solAmount: 3 });
    await server.publish([entryOf(opened), entryOf(removed)]);
    await until('both', () => received.length === 3);
    const common = { price: opened.priceSol, marketCapSol: 30.6 };
    expect(received[1]).toMatchObject({
      ...common,
      signature: opened.signature,
      mint,
      txType: 'addLiquidity',
      traderPublicKey: opened.creator,
      marketId: opened.poolAddress,
      pool: 'raydium-amm',
      tokenAmount: 5,
      solAmount: 2,
      tokensInPool: 5,
      solInPool: 2,
    });
    expect(received[2]).toMatchObject({
      ...common,
      mint: other,
      txType: 'removeLiquidity',
      traderPublicKey: drained.provider,
      tokenAmount: 7,
      solAmount: 3,
      tokensInPool: 0,
      solInPool: 0,
    });
    socket.send(`{"method":"subscribeRaydiumLiquidity","keys":["${mint}"]}`);
    socket.send('{"method":"unsubscribeRaydiumLiquidity"}');
    await until('both answers', () => received.length === 5);
    await server.publish([entryOf(poolCreatedEvent(mint))]);
    socket.send('{"method":"subscribeRaydiumLiquidity","keys":["x"]}');
    await until('the refusal', () => received.length === 6);
    expect(received[5]).toEqual({ message: 'Not addresses: x. No keys were accepted.' });
  });
});
