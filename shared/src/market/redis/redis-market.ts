import type { LeaseTerm, LogPosition } from '../../bus/bus.ts';
import { positionText, readPosition } from '../../bus/known-position.ts';
import { redisKeys } from '../../bus/redis/redis-scripts.ts';
import { RedisConnection, type Argument } from '../../bus/redis/redis-connection.ts';
import { bufferOf } from '../../codec/bytes.ts';
import type { Logger } from '../../runtime/log/log.ts';
import type { MintHead } from '../pools/main-pool.ts';
import { bucketRetention, chunkRetentionS, headRetentionS, olderTrades, priceRetentionS, tradesRetentionS } from '../candles/retention.ts';
import { baseIntervals, marketLimits, summarySeconds, demandTtlMs } from '../market.ts';
import type { BaseInterval, Bucket, MarketStore, MarketBatch, MarketSummary, MintChange, TopicTurns } from '../market.ts';
import { applyScript, marketKeys, noteScript, readScript, turnsScript, undecidedScript, demandScript } from './redis-market-scripts.ts';
import { noSlots } from '../candles/fold-trades.ts';
import { readTally, writeTally } from '../candles/tally.ts';
import {
  encodeTrade,
  nothingUndecided,
  priceField,
  readUndecided,
  tradeField,
  currentBuckets,
  currentPrice,
  undecidedRetentionS,
  type Range,
  type Settled,
  type Undecided,
} from '../verdicts/undecided.ts';

/** Heads, or topics, that one command names. */
const perCommand = 500;
const topicKeys = [marketKeys.demand, marketKeys.fresh, marketKeys.published];

/**
 * The state of the market in the Redis of the bus. A mint has its head, its newest price event, a list of its newest trades, a hash for
 * each chunk of its buckets, and a hash of its undecided entries (0.4 kB a trade, 0.9 kB a slot with prices, for a few seconds). All of
 * them expire (`retention.ts`), so the memory follows what trades. A mint needs about 1 kB for its head and keys, 0.9 kB for the price, 1.3
 * kB a trade (at most 130 kB, for two hours) and 0.2 kB a bucket. All methods reject with a `RedisFault` while Redis does not answer.
 */
export class RedisMarket implements MarketStore {
  readonly #connection: RedisConnection;

  private constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /** Rejects with `UNAVAILABLE` if Redis cannot be reached. */
  static async open(urls: readonly string[], log: Logger): Promise<RedisMarket> {
    return new RedisMarket(await RedisConnection.open(urls, 'market', log));
  }

  // --- Reader.

  async buckets(
    mint: string,
    interval: BaseInterval,
    fromS: number,
    toS: number,
    limit: number,
    nowUs = Number.POSITIVE_INFINITY,
  ): Promise<readonly Bucket[]> {
    if (limit <= 0 || fromS >= toS) return [];
    const range = { interval, fromS, toS, limit, nowUs };
    // Stored buckets without a price count for the script, and are not returned. If some are missing because of them, more are read.
    for (let most = limit; ; most *= 8) {
      const stored = await this.#read(mint, { ...range, limit: most });
      const isAll = stored.settled.size < most;
      const buckets = currentBuckets(stored, range);
      if (isAll || buckets.length === limit) return buckets;
    }
  }

  async summary(mint: string, nowS: number): Promise<MarketSummary> {
    const fromS = nowS - summarySeconds;
    const from = fromS - (fromS % baseIntervals['1m']);
    const range = { interval: '1m', fromS: from, toS: nowS + summarySeconds, limit: summarySeconds, nowUs: nowS * 1_000_000 } as const;
    const { checkpoint, price, ...stored } = await this.#read(mint, range);
    return { checkpoint, minutes: currentBuckets(stored, range), price: currentPrice(stored.head, price, stored.undecided) };
  }

  async #read(mint: string, { interval, fromS, toS, limit }: Range): Promise<Stored> {
    const keys = [marketKeys.head(mint), marketKeys.undecided(mint), marketKeys.price(mint), marketKeys.checkpoint];
    const { chunkS, retentionS } = bucketRetention[interval];
    const args = [interval, mint, chunkS, baseIntervals[interval], retentionS, fromS, toS, limit];
    const reply = (await this.#connection.run(readScript, keys, args)) as [Buffer, Buffer, Buffer, Buffer[], Buffer[]];
    const [checkpoint, price, head, undecided, tallies] = reply;
    return {
      checkpoint: readPosition(checkpoint),
      price: price.length === 0 ? null : price,
      head: head.length === 0 ? null : readHead(head),
      undecided: undecided.length === 0 ? nothingUndecided : readUndecided(pairs(undecided)),
      settled: new Map(pairs(tallies).map(([startS, tally]) => [Number(startS), readTally(tally)])),
    };
  }

  async trades(mint: string, before: string | null, limit: number): Promise<readonly Uint8Array[]> {
    const last = before === null ? Math.min(limit, marketLimits.tradesPerMint) - 1 : -1;
    if (limit <= 0) return [];
    return olderTrades((await this.#connection.binary('lrange', [marketKeys.trades(mint), 0, last])) as Buffer[], before, limit);
  }

  async reportDemand(topics: readonly string[]): Promise<readonly string[]> {
    const refused: string[] = [];
    for (let from = 0; from < topics.length; from += perCommand) {
      const args = [demandTtlMs, marketLimits.candleTopics, ...topics.slice(from, from + perCommand)];
      refused.push(...texts(await this.#connection.run(demandScript, topicKeys, args)));
    }
    return refused;
  }

  // --- Writer.

  async checkpoint(): Promise<LogPosition | null> {
    const stored = (await this.#connection.binary('get', [marketKeys.checkpoint])) as Buffer | null;
    return stored === null ? null : readPosition(stored);
  }

  async heads(mints: readonly string[]): Promise<ReadonlyMap<string, MintHead>> {
    const found = new Map<string, MintHead>();
    for (let from = 0; from < mints.length; from += perCommand) {
      const some = mints.slice(from, from + perCommand);
      const stored = (await this.#connection.binary('mget', some.map(marketKeys.head))) as (Buffer | null)[];
      stored.forEach((json, index) => {
        if (json !== null) found.set(some[index]!, readHead(json));
      });
    }
    return found;
  }

  async undecided(): Promise<ReadonlyMap<string, Undecided>> {
    const mints = texts(await this.#connection.binary('smembers', [marketKeys.undecidedMints]));
    const found = new Map<string, Undecided>();
    for (let from = 0; from < mints.length; from += perCommand) {
      const some = mints.slice(from, from + perCommand);
      const stored = await Promise.all(some.map((mint) => this.#connection.run(undecidedScript, [marketKeys.undecided(mint)], [])));
      some.forEach((mint, index) => found.set(mint, readUndecided(pairs(stored[index] as Buffer[]))));
    }
    return found;
  }

  async apply({ from, to, changes }: MarketBatch, { lease, fence }: LeaseTerm): Promise<'applied' | 'fenced' | 'stale'> {
    const args = [
      fence,
      from === null ? '' : positionText(from),
      positionText(to),
      marketLimits.tradesPerMint,
      priceRetentionS,
      tradesRetentionS,
      undecidedRetentionS,
      ...changeArguments(changes),
    ];
    const reply = await this.#connection.run(applyScript, [marketKeys.checkpoint, redisKeys.lease(lease.name)], args);
    return text(reply) as 'applied' | 'fenced' | 'stale';
  }

  async published(): Promise<ReadonlyMap<string, number>> {
    // The client returns a hash as an object.
    const reply = (await this.#connection.text('hgetall', marketKeys.published)) as Readonly<Record<string, string>>;
    return new Map(Object.entries(reply).map(([topic, startS]) => [topic, Number(startS)]));
  }

  async turns(): Promise<TopicTurns> {
    const [begin, end] = (await this.#connection.run(turnsScript, topicKeys, [perCommand])) as [Buffer[], Buffer[]];
    return { begin: texts(begin), end: texts(end) };
  }

  async note(open: ReadonlyMap<string, number>, ended: readonly string[], { lease, fence }: LeaseTerm): Promise<'applied' | 'fenced'> {
    const args = [fence, open.size, ...[...open].flat(), ...ended];
    return text(await this.#connection.run(noteScript, [...topicKeys, redisKeys.lease(lease.name)], args)) as 'applied' | 'fenced';
  }

  async close(): Promise<void> {
    this.#connection.close();
  }
}

/** The changes in the form that `applyScript` reads: their names and numbers as JSON, then their values, in the order in which it uses them. */
export function changeArguments(changes: readonly MintChange[]): Argument[] {
  const values: Argument[] = [];
  const described = changes.map(({ mint, head, retracted, trades, undecided, price, voided, buckets }) => {
    if (head !== null) values.push(JSON.stringify(head));
    values.push(...trades.map(bufferOf), ...undecided.trades.map(encodeTrade), ...undecided.prices.map(({ json }) => bufferOf(json)));
    for (const { tally } of buckets) values.push(writeTally(tally));
    return {
      mint,
      headS: head === null ? 0 : headRetentionS(head),
      retracted,
      trades: trades.length,
      undecided: [...undecided.trades.map(tradeField), ...undecided.prices.map(priceField)],
      price: price ?? undefined,
      gone: undecided.gone,
      voided: voided ?? undefined,
      buckets: buckets.map(({ interval, startS }) => {
        const { chunkS } = bucketRetention[interval];
        return { interval, startS, chunkS: startS - (startS % chunkS), keepS: chunkRetentionS(interval, head!) };
      }),
    };
  });
  return [JSON.stringify(described), ...values];
}

interface Stored extends Settled {
  readonly checkpoint: LogPosition | null;
  readonly price: Buffer | null;
}

/** Values of fields that an earlier version did not store. */
const earlierHead = { poolSlot: 0, priceSlot: 0, tickSlot: 0, provenFromS: 0, rival: '', rivalSinceS: 0, ...noSlots };

function readHead(json: Buffer): MintHead {
  const stored = JSON.parse(json.toString('utf8')) as Omit<MintHead, keyof typeof earlierHead> & Partial<typeof earlierHead>;
  return { ...earlierHead, ...stored };
}

/** Names and values of a hash. */
function pairs(reply: readonly Buffer[]): (readonly [string, Buffer])[] {
  return reply.flatMap((name, at) => (at % 2 === 0 ? [[text(name), reply[at + 1]!] as const] : []));
}

function text(bytes: unknown): string {
  return (bytes as Buffer).toString('utf8');
}

function texts(reply: unknown): string[] {
  return (reply as Buffer[]).map(text);
}
