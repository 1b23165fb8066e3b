import { connect, type Socket } from 'node:net';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { bytesOf } from '@sluice/shared/codec/encoded-event.ts';
import { encodeTrade, writers } from '@sluice/shared/codec/encode-event.ts';
import type { PriceEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { topicsOf } from '../../../ingest/src/publisher/outgoing.ts';
import { silentLog } from '../../contract/bus-harness.ts';
import { addressOf, priceEvent, tradeEvent } from '../../support/events/stream-events.ts';
import { startRedis, type TestRedis } from '../../support/servers/redis.ts';
import type { BenchRow } from '../row.ts';

const turns = 6;
const perTurn = 10_000;
/** Trades of one call of `publish`. */
const atOnce = 64;
const gateways = 4;
const liveChannel = '{sluice}:live';

type Form = (trade: TradeEvent, price: PriceEvent) => BusEntry[];

/** As sluice stores it: one entry with two views. */
const present: Form = (trade, price) => [{ topics: topicsOf(trade), tickTopics: topicsOf(price), record: encodeTrade(trade, price)! }];

/** The reference: two entries, each with JSON and MessagePack, so that a gateway encodes nothing. */
const reference: Form = (trade, price) =>
  ([trade, price] as const).map((event) => {
    const { json, msgpack } = writers[event.type];
    return { topics: topicsOf(event), record: bytesOf(json(event) + msgpack(event)) };
  });

function pairAt(index: number, form: Form): BusEntry[] {
  const mint = addressOf(index % 3_000);
  const trade = tradeEvent(mint, { trader: addressOf(10_000 + (index % 2_900)) });
  const { id, signature, poolAddress, slot, blockTime, ts } = trade;
  return form(trade, priceEvent(mint, { id: `${id}.price`, signature, poolAddress, slot, blockTime, ts }));
}

async function info(redis: TestRedis, field: string): Promise<number> {
  return Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await redis.command('INFO', 'everything'))![1]);
}

async function cpuUs(redis: TestRedis): Promise<number> {
  return ((await info(redis, 'used_cpu_user')) + (await info(redis, 'used_cpu_sys'))) * 1_000_000;
}

async function logBytes(redis: TestRedis): Promise<number> {
  return Number(/\d+/.exec(await redis.command('MEMORY', 'USAGE', '{sluice}:log', 'SAMPLES', '0'))![0]);
}

/** Receives the announcements as a gateway does, and reads nothing of them. */
async function follow({ port }: TestRedis): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`SUBSCRIBE ${liveChannel}\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  return socket.resume();
}

interface Side {
  /** Microseconds of Redis and bytes of its log, for each trade. */
  turn(): Promise<{ readonly us: number; readonly bytes: number }>;
  follow(): Promise<void>;
  stop(): Promise<void>;
}

async function start(form: Form): Promise<Side> {
  const redis = await startRedis();
  const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
  const publisher = await bus.publisher();
  const sockets: Socket[] = [];
  let sent = 0;
  return {
    turn: async () => {
      const [before, bytesBefore] = [await cpuUs(redis), await logBytes(redis)];
      for (const end = sent + perTurn; sent < end; sent += atOnce) {
        await publisher.publish(Array.from({ length: Math.min(atOnce, end - sent) }, (_, at) => pairAt(sent + at, form)).flat());
      }
      sent = Math.ceil(sent / perTurn) * perTurn;
      return { us: ((await cpuUs(redis)) - before) / perTurn, bytes: ((await logBytes(redis)) - bytesBefore) / perTurn };
    },
    follow: async () => void sockets.push(await follow(redis)),
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await bus.close();
      await redis.stop();
    },
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** Both forms in turns, the first of which warms up. */
async function measure(sides: readonly Side[]): Promise<{ readonly us: number; readonly bytes: number }[]> {
  const measured: { us: number; bytes: number }[][] = sides.map(() => []);
  for (let at = 0; at <= turns; at++) for (const [index, side] of sides.entries()) measured[index]!.push(await side.turn());
  return measured.map((each) => ({
    us: median(each.slice(1).map(({ us }) => us)),
    bytes: median(each.slice(1).map(({ bytes }) => bytes)),
  }));
}

/** What Redis pays for a trade with its price tick: to store it, and to announce it to each gateway. */
export async function run(): Promise<BenchRow[]> {
  const sides = [await start(present), await start(reference)];
  try {
    const alone = await measure(sides);
    for (const side of sides) for (let count = 0; count < gateways; count++) await side.follow();
    const followed = await measure(sides);
    const costs = alone.map(({ us, bytes }, at) => ({ us, bytes, perGatewayUs: (followed[at]!.us - us) / gateways }));
    const [ours, theirs] = costs.map(
      ({ us, bytes, perGatewayUs }) => `${us.toFixed(1)} + ${perGatewayUs.toFixed(2)} × gateways µs, ${(bytes / 1024).toFixed(2)} KB`,
    );
    const [one, other] = costs as [(typeof costs)[0], (typeof costs)[0]];
    const parts = [one.us / other.us, one.perGatewayUs / other.perGatewayUs, one.bytes / other.bytes];
    return [
      {
        name: 'Redis: CPU time and memory of the log for a trade with its price tick',
        figure: `${ours}: ${parts.map((part) => part.toFixed(2)).join(', ')} of the reference`,
        target: '≤ 0.5 of the reference, in each of the three',
        pass: parts.every((part) => part <= 0.5),
        note: `the reference, two entries with JSON and MessagePack: ${theirs}; ${perTurn.toLocaleString('en')} trades of 3,000 mints in each of ${turns} turns of both forms, ${atOnce} at once; median; gateways are ${gateways} clients that only receive`,
      },
    ];
  } finally {
    for (const side of sides) await side.stop();
  }
}
