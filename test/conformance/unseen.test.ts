import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verdictEntry, type SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { ordersTopic, tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { goodKey, goodKeyId, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { run, seqs, StreamClient, type Message } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';

const lost = (loss: SlotLoss) => verdictEntry({ alive: [], dead: [], lost: loss });
const gapsOf = (client: StreamClient): Message[] => client.messages.filter(({ op }) => op === 'gap');

describe('the loss of slots', () => {
  let server: TestGateway;
  const clients: StreamClient[] = [];
  beforeAll(async () => {
    server = await startTestGateway();
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server.close();
  });
  const connect = async (query = ''): Promise<StreamClient> => {
    const client = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}${query}`).open();
    clients.push(client);
    return client;
  };
  const trades = (mint: string, count: number) => Array.from({ length: count }, () => entryOf(tradeEvent(mint)));

  it('is reported on every market topic, and no number is missing', async () => {
    const [mint, other] = [addressOf(81_001), addressOf(81_002)];
    const topic = tradesTopic(mint);
    const followers = await Promise.all(['', '&batch=1', '&format=msgpack'].map((query) => connect(query)));
    for (const client of followers) {
      await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint, other] });
      await client.ask({ op: 'subscribe', channel: 'orders' });
    }
    const signature = tradeEvent(mint).signature!;
    await server.publish([...trades(mint, 2), lost({ from: 700, to: 702, signatures: [signature] }), ...trades(mint, 1)]);
    for (const client of followers) {
      expect(seqs(await client.framesTo(topic, 3))).toEqual(run(1, 3));
      const gaps = gapsOf(client);
      expect(gaps).toHaveLength(2);
      expect(new Set(gaps.map(({ topic: of }) => of))).toEqual(new Set([topic, tradesTopic(other)]));
      expect(gaps.map(({ topic: of }) => of)).not.toContain(ordersTopic(goodKeyId));
      const gap = gaps.find(({ topic: of }) => of === topic)!;
      expect(gap).toMatchObject({ from: 3, to: null, reason: 'unseen', slots: { from: 700, to: 702 }, signatures: [signature] });
      expect(client.messages.indexOf(gap)).toBeLessThan(client.messages.findIndex(({ seq, topic: of }) => of === topic && seq === 3));
    }
  });

  it('is reported to a resuming client if it was announced while the client was disconnected', async () => {
    const mint = addressOf(81_010);
    const topic = tradesTopic(mint);
    const first = await connect();
    const { positions } = await first.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    const { epoch } = positions![topic]!;
    await server.publish(trades(mint, 3));
    await first.framesTo(topic, 3);
    first.close();
    await server.publish([lost({ from: 900, to: 900, signatures: [] }), ...trades(mint, 2), lost({ from: 905, to: 910, signatures: [] })]);
    const back = await connect();
    const reply = await back.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch, seq: 3 } });
    expect(reply.positions![topic]).toEqual({ epoch, seq: 3, recovered: false });
    const gap = await back.next('the gap', ({ op }) => op === 'gap');
    expect(gap).toMatchObject({ topic, from: 4, to: null, reason: 'unseen', slots: { from: 900, to: 910 }, epoch });
    expect(seqs(await back.framesTo(topic, 2))).toEqual([4, 5]);
    // Losses announced before its last frame were reported to it then.
    await server.publish(trades(mint, 1));
    const later = await connect();
    const resumed = await later.ask({ op: 'subscribe', channel: 'trades', mints: [mint], since: { epoch, seq: 6 } });
    expect(resumed.positions![topic]).toEqual({ epoch, seq: 6, recovered: true });
    expect(gapsOf(later)).toEqual([]);
  });

  it('is not reported to a client without a position', async () => {
    const mint = addressOf(81_020);
    await server.publish([lost({ from: 950, to: 951, signatures: [] })]);
    const client = await connect();
    await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    await client.ask({ op: 'ping' });
    expect(gapsOf(client)).toEqual([]);
  });
});
