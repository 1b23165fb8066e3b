import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tradesTopic } from '@sluice/shared/wire/topics.ts';
import { goodKey, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { run, seqs, StreamClient } from '../support/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/stream-events.ts';

describe.each(['uws', 'node'] as const)('the stream over %s', (transport) => {
  let server: TestGateway;
  beforeAll(async () => {
    server = await startTestGateway({ transport });
  });
  afterAll(() => server.close());

  it('subscribes and gets frames', async () => {
    const client = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`).open();
    const mint = addressOf(1);
    const reply = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    expect(reply).toMatchObject({ op: 'subscribed', channel: 'trades', accepted: [mint], rejected: [] });
    await server.publish([entryOf(tradeEvent(mint)), entryOf(tradeEvent(mint))]);
    const frames = await client.framesTo(tradesTopic(mint), 2);
    expect(seqs(frames)).toEqual(run(1, 2));
    client.close();
  });
});
