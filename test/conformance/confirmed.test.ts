import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { goodKey, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { StreamClient, type Message } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';

const slotOf = ({ data }: Message): unknown => data?.['slot'];
const chainOf = (frames: readonly Message[]): unknown[] => frames.map(({ prev, seq }) => [prev, seq]);

describe('a subscription with `commitment` `confirmed`', () => {
  let first: TestGateway;
  let second: TestGateway;
  const clients: StreamClient[] = [];
  beforeAll(async () => {
    first = await startTestGateway();
    second = await startTestGateway({ bus: first.bus });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await second.close();
    await first.close();
  });

  let mints = 70_000;
  let slots = 400_000_000;
  /** Each test uses its own mint and slots. */
  const fresh = (): { mint: string; topic: string; slot: number } => {
    const mint = addressOf(mints++);
    return { mint, topic: tradesTopic(mint), slot: (slots += 100) };
  };
  const connect = async ({ host }: TestGateway, query = ''): Promise<StreamClient> => {
    const client = await new StreamClient(`ws://${host}/api/data?api-key=${goodKey}${query}`).open();
    clients.push(client);
    return client;
  };
  const trade = (mint: string, slot: number, changes: Partial<TradeEvent> = {}) => entryOf(tradeEvent(mint, { slot, ...changes }));
  const confirmed = (...alive: number[]) => verdictEntry({ alive, dead: [] });
  const subscribe = (mint: string) => ({ op: 'subscribe', channel: 'trades', mints: [mint], commitment: 'confirmed' });

  it('gets an event once its slot is confirmed, in both formats and in batches', async () => {
    const { mint, topic, slot } = fresh();
    const queries = ['', '&format=msgpack', '&batch=1', '&batch=1&format=msgpack'];
    const waiting = await Promise.all(queries.map((query) => connect(first, query)));
    const plain = await connect(first);
    for (const client of waiting) await client.ask(subscribe(mint));
    await plain.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    await first.publish([trade(mint, slot), trade(mint, slot), trade(mint, slot + 1)]);
    await plain.framesTo(topic, 3);
    await first.publish([confirmed(slot)]);
    for (const client of waiting) {
      expect(chainOf(await client.framesTo(topic, 2))).toEqual([
        [0, 1],
        [1, 2],
      ]);
    }
    await first.publish([trade(mint, slot, { commitment: 'confirmed', late: true }), confirmed(slot + 1)]);
    for (const client of waiting) {
      const frames = await client.framesTo(topic, 4);
      expect(frames.map(slotOf)).toEqual([slot, slot, slot + 1, slot]);
      expect(chainOf(frames).at(-1)).toEqual([3, 4]);
    }
    expect(plain.frames(topic).every(({ prev }) => prev === undefined)).toBe(true);
  });

  it('gets nothing of a dead slot, and no retract', async () => {
    const { mint, topic, slot } = fresh();
    const [client, plain] = [await connect(first), await connect(first)];
    await client.ask(subscribe(mint));
    await plain.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    const dead = tradeEvent(mint, { slot });
    await first.publish([
      entryOf(dead),
      trade(mint, slot + 1),
      entryOf({ type: 'retract', id: dead.id }, [topic]),
      verdictEntry({ alive: [slot + 1], dead: [slot] }),
    ]);
    await plain.framesTo(topic, 3);
    await first.publish([trade(mint, slot + 2), confirmed(slot + 2)]);
    const frames = await client.framesTo(topic, 2);
    expect(frames.map(slotOf)).toEqual([slot + 1, slot + 2]);
    expect(chainOf(frames)).toEqual([
      [0, 2],
      [2, 4],
    ]);
    expect(plain.frames(topic).map(({ data }) => data?.type)).toEqual(['trade', 'trade', 'retract', 'trade']);
  });

  it('gets nothing that the confirmed block of a slot lacks, and the event of the same id that the block has', async () => {
    const { mint, topic, slot } = fresh();
    const client = await connect(first);
    await client.ask(subscribe(mint));
    const [lost, changed] = [tradeEvent(mint, { slot }), tradeEvent(mint, { slot })];
    const retracted = [{ slot, ids: [lost.id, changed.id] }];
    await first.publish([
      entryOf(lost),
      entryOf(changed),
      trade(mint, slot, { side: 'sell' }),
      ...[lost, changed].map(({ id }) => entryOf({ type: 'retract', id }, [topic])),
      verdictEntry({ alive: [slot], dead: [], retracted }),
      entryOf({ ...changed, commitment: 'confirmed', late: true }),
    ]);
    const frames = await client.framesTo(topic, 2);
    expect(frames.map(({ data }) => [data?.id, data?.['commitment']])).toEqual([
      [expect.any(String), 'processed'],
      [changed.id, 'confirmed'],
    ]);
    // Another one that lands later counts again.
    await first.publish([entryOf({ ...lost, slot: slot + 1 }), confirmed(slot + 1)]);
    expect((await client.framesTo(topic, 3)).at(-1)?.data?.id).toBe(lost.id);
  });

  it('resumes on another gateway without a gap, also among events that still wait', async () => {
    const { mint, topic, slot } = fresh();
    const one = await connect(first);
    await one.ask(subscribe(mint));
    await first.publish([trade(mint, slot), confirmed(slot), trade(mint, slot + 1), trade(mint, slot + 2)]);
    const [seen] = await one.framesTo(topic, 1);
    const heartbeat = await one.next(
      'a heartbeat with the position',
      ({ op, positions }) => op === 'heartbeat' && positions?.[topic]?.seq === 1,
    );
    one.close();
    await first.publish([confirmed(slot + 1), trade(mint, slot + 3)]);
    const other = await connect(second);
    const reply = await other.ask({ ...subscribe(mint), since: heartbeat.positions![topic] });
    expect(reply.positions![topic]).toMatchObject({ seq: seen!.seq, recovered: true });
    expect(chainOf(await other.framesTo(topic, 1))).toEqual([[1, 2]]);
    await first.publish([confirmed(slot + 2, slot + 3)]);
    const frames = await other.framesTo(topic, 3);
    expect(frames.map(slotOf)).toEqual([slot + 1, slot + 2, slot + 3]);
    expect(chainOf(frames)).toEqual([
      [1, 2],
      [2, 3],
      [3, 4],
    ]);
  });

  it('works with a filter, a snapshot, the list, and other subscriptions of the same topic', async () => {
    const { mint, topic, slot } = fresh();
    const client = await connect(first);
    await first.publish([trade(mint, slot, { side: 'sell' }), confirmed(slot), trade(mint, slot + 1, { side: 'sell' })]);
    const reply = await client.ask({ ...subscribe(mint), filter: { side: 'sell' }, snapshot: true });
    expect(reply.positions![topic]).toMatchObject({ seq: 1 });
    expect(reply.snapshot).toMatchObject([{ topic, seq: 1 }]);
    await first.publish([trade(mint, slot + 1), confirmed(slot + 1)]);
    expect(chainOf(await client.framesTo(topic, 1))).toEqual([[1, 2]]);
    const list = await client.ask({ op: 'list' });
    expect(list['subscriptions']).toMatchObject([{ channel: 'trades', mints: [mint], filter: { side: 'sell' }, commitment: 'confirmed' }]);
    const again = await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    expect(again.positions![topic]).toMatchObject({ seq: 3 });
    expect((await client.ask({ op: 'list' }))['subscriptions']).toMatchObject([{ mints: [mint], filter: null }]);
  });

  it('is available for channels whose events have a slot', async () => {
    const client = await connect(first);
    const refused = await client.ask({
      op: 'subscribe',
      channel: 'candles',
      mints: [addressOf(1)],
      interval: '1m',
      commitment: 'confirmed',
    });
    expect(refused).toMatchObject({ op: 'error', error: { code: 'INVALID_REQUEST' } });
    for (const channel of ['newTokens', 'migrations', 'trades']) {
      expect(await client.ask({ op: 'subscribe', channel, commitment: 'confirmed' })).toMatchObject({ op: 'subscribed' });
    }
    expect(await client.ask({ op: 'subscribe', channel: 'trades', commitment: 'sure' })).toMatchObject({ op: 'error' });
  });
});
