import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import { InProcessMarket } from '@sluice/shared/market/in-process-market.ts';
import { candleIntervals, type CandleInterval } from '@sluice/shared/market/market.ts';
import { pauseEntry } from '@sluice/shared/market/pause.ts';
import { decodedVenueNames } from '@sluice/shared/wire/venues.ts';
import { CandleEvent, type TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { Gap, SubscribedReply, SubscriptionsReply, UnsubscribedReply } from '@sluice/shared/wire/stream/replies.ts';
import { candlesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { consumeMarket } from '../support/product/market-consumer.ts';
import { silentLog } from '../contract/bus-harness.ts';
import { candlesOf, startOf } from '../market/brute-force.ts';
import { someS, tradeOf } from '../market/trades.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { fastClock } from '../support/clocks.ts';
import { startRedis } from '../support/servers/redis.ts';
import { run, seqs, StreamClient, type Message } from '../support/clients/stream-client.ts';
import { addressOf, entryOf } from '../support/events/stream-events.ts';

const isCandle = validator(CandleEvent);
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

let nextMint = 3_000_000;
const freshMint = (): string => addressOf(nextMint++);

async function connect(server: TestGateway): Promise<StreamClient> {
  const client = await new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`).open();
  cleanups.push(() => client.close());
  return client;
}

/** The candle event of a frame, of its schema. */
function candleOf({ data }: Message): CandleEvent {
  const checked = isCandle(data);
  // `expect` for each of many thousand candles would take seconds.
  if (!checked.ok) throw new Error(JSON.stringify(checked));
  return data as unknown as CandleEvent;
}

describe('the channel candles', () => {
  interface Setup {
    readonly server: TestGateway;
    readonly market: InProcessMarket;
    readonly client: StreamClient;
  }

  async function start(): Promise<Setup> {
    const bus = await createBus({ redisUrls: null, log: silentLog });
    cleanups.push(() => bus.close());
    const market = new InProcessMarket();
    cleanups.push(() => market.close());
    const keeper = consumeMarket({ bus, market, clock: fastClock(5), log: silentLog });
    cleanups.push(() => keeper.close(1_000));
    const server = await startTestGateway({ bus, market });
    cleanups.push(() => server.close());
    return { server, market, client: await connect(server) };
  }

  it('publishes a candle as trades arrive, closes it when the chain has passed it, and publishes it again after a late trade', async () => {
    const { server, client } = await start();
    const mint = freshMint();
    const startS = someS - (someS % 60);
    const topic = candlesTopic(mint, '1m');
    expect(await client.ask({ op: 'subscribe', channel: 'candles', mints: [mint], interval: '1m' })).toMatchObject({
      op: 'subscribed',
      channel: 'candles',
      accepted: [mint],
      rejected: [],
      positions: { [topic]: { seq: 0, recovered: false } },
    });
    const trades = [tradeOf({ mint, atS: startS + 1, price: 0.5 }), tradeOf({ mint, atS: startS + 20, price: 0.75, side: 'sell' })];
    await server.publish(trades.map((trade) => entryOf(trade)));
    const candleWith = (what: string, met: (candle: CandleEvent) => boolean): Promise<CandleEvent> =>
      until(what, () => client.frames(topic).map(candleOf).find(met));
    const first = await candleWith('both trades', ({ trades: count, close }) => count === 2 && close === 0.75);
    const [expected] = candlesOf(trades, 60);
    const { startS: _, ...values } = expected!;
    expect(first).toMatchObject({
      mint,
      interval: '1m',
      start: startS,
      ...values,
      trades: 2,
      closed: false,
      signature: null,
      blockTime: startS + 20,
    });
    await server.publish([entryOf(tradeOf({ mint: freshMint(), atS: startS + 60 }))]);
    const closed = await candleWith('the end', (candle) => candle.closed);
    expect(closed).toMatchObject({ start: startS, ...values, trades: 2, closed: true });
    trades.push(tradeOf({ mint, atS: startS + 59, price: 2 }));
    await server.publish([entryOf(trades[2]!)]);
    const again = await candleWith('the late trade', ({ trades: count, close }) => count === 3 && close === 2);
    expect(again).toMatchObject({ start: startS, high: 2, close: 2, trades: 3, closed: true });
    expect(new Set([first.id, closed.id, again.id]).size).toBe(3);
    expect(seqs(client.frames(topic))).toEqual(run(1, client.frames(topic).length));
  });

  it('closes a candle some seconds after its end if nothing else happens', async () => {
    const { server, client } = await start();
    const mint = freshMint();
    const topic = candlesTopic(mint, '1s');
    await client.ask({ op: 'subscribe', channel: 'candles', mints: [mint], interval: '1s' });
    await server.publish([entryOf(tradeOf({ mint, atS: someS }))]);
    const frames = await client.framesTo(topic, 2);
    expect(frames.map((frame) => candleOf(frame)).map((candle) => [candle.start, candle.closed])).toEqual([
      [someS, false],
      [someS, true],
    ]);
  });

  it('sends an existing candle at once, and as a snapshot to the next client', async () => {
    const { server, client } = await start();
    const mint = freshMint();
    const topic = candlesTopic(mint, '1d');
    // Another client follows another interval, so that the state is known to have the trade.
    await client.ask({ op: 'subscribe', channel: 'candles', mints: [mint], interval: '1h' });
    await server.publish([entryOf(tradeOf({ mint, atS: someS, price: 0.25 }))]);
    await client.framesTo(candlesTopic(mint, '1h'), 1);
    await client.ask({ op: 'subscribe', channel: 'candles', mints: [mint], interval: '1d', snapshot: true });
    const [frame] = await client.framesTo(topic, 1);
    expect(candleOf(frame!)).toMatchObject({ open: 0.25, trades: 1, interval: '1d', closed: false });
    const next = await connect(server);
    const reply = await next.ask({ op: 'subscribe', channel: 'candles', mints: [mint], interval: '1d', snapshot: true });
    expect(reply.snapshot).toMatchObject([{ topic, seq: 1, data: { id: frame!.data!.id } }]);
  });

  it('starts some seconds back, so that a client that read the candles before misses nothing', async () => {
    const { server, client } = await start();
    const [mint, other] = [freshMint(), freshMint()];
    const topic = candlesTopic(mint, '1s');
    await client.ask({ op: 'subscribe', channel: 'candles', mints: [other], interval: '1s' });
    await server.publish([-9, -2, 0].map((atS) => entryOf(tradeOf({ mint, atS: someS + atS }))));
    // The chain is one second further when a client begins to follow the topic.
    await server.publish([entryOf(tradeOf({ mint: other, atS: someS + 1 }))]);
    await client.framesTo(candlesTopic(other, '1s'), 1);
    await client.ask({ op: 'subscribe', channel: 'candles', mints: [mint], interval: '1s' });
    const frames = await client.framesTo(topic, 2);
    expect(frames.map((frame) => candleOf(frame)).map((candle) => [candle.start, candle.closed])).toEqual([
      [someS - 2, true],
      [someS, true],
    ]);
  });

  it('resumes by position; after a pause it reports what was not published', async () => {
    const { server, client } = await start();
    const mint = freshMint();
    const topic = candlesTopic(mint, '1m');
    const command = { op: 'subscribe', channel: 'candles', mints: [mint], interval: '1m' };
    await client.ask(command);
    await server.publish([entryOf(tradeOf({ mint, atS: someS }))]);
    const [frame] = await client.framesTo(topic, 1);
    const { epoch } = (await client.ask({ op: 'unsubscribe', channel: 'candles', mints: [mint] })).positions![topic]!;
    await server.publish([entryOf(tradeOf({ mint, atS: someS + 1 }))]);
    const since = { epoch, seq: frame!.seq! };
    const second = await connect(server);
    expect((await second.ask({ ...command, since })).positions![topic]).toMatchObject({ seq: 1, recovered: true });
    await second.framesTo(topic, 1);
    // The keeper puts this there when no client has followed the topic for a while.
    await server.publish([pauseEntry(topic)]);
    const seen = second.frames(topic).at(-1)!.seq!;
    const gap = await second.next('the gap', ({ op }) => op === 'gap');
    expect(validator(Gap)(gap)).toMatchObject({ ok: true });
    expect(gap).toMatchObject({ topic, from: seen + 1, to: seen + 1, reason: 'unwatched' });
    const third = await connect(server);
    const reply = await third.ask({ ...command, since, snapshot: true });
    expect(reply.positions![topic]).toMatchObject({ seq: seen + 1, recovered: false });
    expect(reply.snapshot).toEqual([]);
    expect(await third.next('the gap', ({ op }) => op === 'gap')).toMatchObject({ from: 2, to: seen + 1, reason: 'unwatched' });
    await server.publish([entryOf(tradeOf({ mint, atS: someS + 2 }))]);
    expect((await third.framesTo(topic, 1))[0]!.seq).toBe(seen + 2);
    expect(third.frames(topic).every(({ data }) => data!.type === 'candle')).toBe(true);
  });

  it('lists and ends each interval separately', async () => {
    const { client } = await start();
    const [a, b] = [freshMint(), freshMint()];
    for (const interval of ['1s', '1m']) await client.ask({ op: 'subscribe', channel: 'candles', mints: [a, b], interval });
    const listed = await client.ask({ op: 'list' });
    expect(validator(SubscriptionsReply)(listed)).toMatchObject({ ok: true });
    expect(listed).toMatchObject({
      subscriptions: [
        { channel: 'candles', interval: '1s', mints: [a, b] },
        { channel: 'candles', interval: '1m', mints: [a, b] },
      ],
      total: 4,
    });
    const end = async (command: object): Promise<unknown> => {
      const reply = await client.ask({ op: 'unsubscribe', channel: 'candles', ...command });
      expect(validator(UnsubscribedReply)(reply)).toMatchObject({ ok: true });
      return reply.removed;
    };
    expect(await end({ mints: [a], interval: '1s' })).toEqual([candlesTopic(a, '1s')]);
    expect(await end({ mints: [a] })).toEqual([candlesTopic(a, '1m')]);
    expect(await end({ interval: '1s' })).toEqual([candlesTopic(b, '1s')]);
    expect(await end({})).toEqual([candlesTopic(b, '1m')]);
  });

  it('refuses a command without a valid candle topic', async () => {
    const { client } = await start();
    const mint = freshMint();
    const fieldsOf = async (command: object): Promise<string[]> => {
      const { error } = await client.ask({ op: 'subscribe', channel: 'candles', ...command });
      return Object.keys(error?.details['fields'] as object);
    };
    expect(await fieldsOf({ mints: [mint] })).toEqual(['interval']);
    expect(await fieldsOf({ mints: [mint], interval: '2m' })).toEqual(['interval']);
    expect(await fieldsOf({ interval: '1m' })).toEqual(['mints']);
    expect(await fieldsOf({ mints: [mint], interval: '1m', filter: {} })).toEqual(['filter']);
    const reply = await client.ask({ op: 'subscribe', channel: 'candles', mints: ['nonsense', mint], interval: '1m' });
    expect(validator(SubscribedReply)(reply)).toMatchObject({ ok: true });
    expect(reply).toMatchObject({ accepted: [mint], rejected: [{ key: 'nonsense', code: 'INVALID_MINT' }] });
  });
});

const waitMs = 60_000;
const intervals = ['1s', '5s', '15s'] as const satisfies readonly CandleInterval[];

describe('candles of a simulated chain, over Redis with two ingest processes', () => {
  it("equal those computed from the client's own trades, although the keeper is killed", { timeout: 6 * waitMs }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-candles-'));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    const simnet = await startSimnet({ seed: 11, slotMs: 100, autoStart: false, market: { tradesPerSecond: 80, completeEverySeconds: 8 } });
    cleanups.push(() => simnet.close());
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => bus.close());
    const market = await createMarket({ redisUrls: [redis.url], log: silentLog });
    cleanups.push(() => market.close());
    const server = await startTestGateway({ bus, market });
    cleanups.push(() => server.close());
    const client = await connect(server);
    await client.ask({ op: 'subscribe', channel: 'trades' });
    const startIngest = async (): Promise<RunningProgram> => {
      const before = simnet.subscriptions('logs');
      const ingest = runProgram('ingest/src/main.ts', { folder, env: { REDIS_URL: redis.url, SOLANA_RPC_URL: simnet.rpcUrl } });
      cleanups.push(() => ingest.child.kill('SIGKILL'));
      await until('subscribed', () => simnet.subscriptions('logs') === before + decodedVenueNames.length, waitMs);
      return ingest;
    };
    const keeper = await startIngest();
    await keeper.logged('follower_keeps', waitMs, { follower: 'market' });
    const standby = await startIngest();
    simnet.chain.start();
    await client.framesTo('trades', 240, waitMs);

    const tradesOf = (frames: readonly Message[]): TradeEvent[] => frames.map(({ data }) => data as unknown as TradeEvent);
    const mints = busiest(tradesOf(client.frames('trades')), 12);
    for (const interval of intervals) await client.ask({ op: 'subscribe', channel: 'candles', mints, interval });
    const followedFrom = client.frames('trades').length;
    await client.framesTo('trades', followedFrom + 200, waitMs);
    keeper.child.kill('SIGKILL');
    await standby.logged('follower_keeps', waitMs, { follower: 'market' });
    await client.framesTo('trades', followedFrom + 500, waitMs);
    simnet.chain.stop();

    const inOnePool = (mint: string, trades: readonly TradeEvent[]): boolean =>
      new Set(trades.filter((trade) => trade.mint === mint).map(({ poolAddress }) => poolAddress)).size === 1;
    const faults = (): string[] => {
      const trades = tradesOf(client.frames('trades'));
      const wrong: string[] = [];
      for (const mint of mints) {
        // The earliest slot opens a candle and the latest closes it, also if the log has them in another order.
        const ofMint = trades.filter((trade) => trade.mint === mint).sort((a, b) => a.slot - b.slot);
        for (const interval of intervals) {
          const seconds = candleIntervals[interval];
          const followed = new Set(trades.slice(followedFrom).flatMap((trade) => (trade.mint === mint ? [startOf(trade, seconds)] : [])));
          const last = new Map(client.frames(candlesTopic(mint, interval)).map((frame) => [candleOf(frame).start, candleOf(frame)]));
          for (const expected of candlesOf(ofMint, seconds)) {
            if (!followed.has(expected.startS)) continue;
            const got = last.get(expected.startS);
            const same = got !== undefined && got.closed && isSame(got, expected, inOnePool(mint, trades));
            if (!same) wrong.push(`${mint} ${interval} ${expected.startS}: ${JSON.stringify(got)} instead of ${JSON.stringify(expected)}`);
          }
        }
      }
      return wrong;
    };
    // The last candles are closed when they are over.
    await until('all candles', () => faults().length === 0, 2 * waitMs).catch(() => expect(faults().slice(0, 3)).toEqual([]));
    const whole = mints.filter((mint) => inOnePool(mint, tradesOf(client.frames('trades'))));
    expect(whole.length).toBeGreaterThan(3);
    // Each candle begins where the one before it ended.
    for (const mint of whole) {
      const last = new Map(client.frames(candlesTopic(mint, '1s')).map((frame) => [candleOf(frame).start, candleOf(frame)]));
      const inOrder = [...last.values()].sort((a, b) => a.start - b.start);
      expect(inOrder.slice(1).map(({ open }) => open)).toEqual(inOrder.slice(0, -1).map(({ close }) => close));
      // A price that lasted for one slot moves none.
      expect(inOrder.filter(({ open, close }) => open !== close).length).toBeGreaterThan(inOrder.length / 2);
    }
    for (const mint of mints) {
      for (const interval of intervals) {
        const frames = client.frames(candlesTopic(mint, interval));
        expect(seqs(frames)).toEqual(run(1, frames.length));
        expect(new Set(frames.map(({ data }) => data!.id)).size).toBe(frames.length);
      }
    }
    expect(client.messages.filter(({ op }) => op === 'gap')).toEqual([]);
  });
});

function busiest(trades: readonly TradeEvent[], count: number): string[] {
  const counts = new Map<string, number>();
  for (const { mint } of trades) counts.set(mint, (counts.get(mint) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([mint]) => mint);
}

/** Prices must be equal; sums may differ by the order of addition. Prices of a migrated mint are those of its main pool. */
function isSame(got: CandleEvent, expected: ReturnType<typeof candlesOf>[number], withPrices: boolean): boolean {
  const prices = ['open', 'high', 'low', 'close', 'openUsd', 'highUsd', 'lowUsd', 'closeUsd'] as const;
  const volumes = ['volumeBase', 'volumeQuote', 'volumeSol', 'volumeUsd'] as const;
  const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
  return (
    got.buys === expected.buys &&
    got.sells === expected.sells &&
    got.trades === expected.buys + expected.sells &&
    (!withPrices || prices.every((field) => got[field] === expected[field])) &&
    volumes.every((field) => near(got[field], expected[field]))
  );
}
