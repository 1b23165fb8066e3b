import type { Logger } from '../../runtime/log/log.ts';
import { busLimits } from '../bus.ts';
import type { Bus, BusPublisher, BusStatus, BusSubscriber, Lease, LogEntry, PublisherOptions, SubscriberOptions } from '../bus.ts';
import { BusError, closedError, fencedError } from '../bus-error.ts';
import { KnownPosition } from '../known-position.ts';
import { databaseOf } from './redis-connect.ts';
import { RedisConnection } from './redis-connection.ts';
import { RedisHistory, type LogState } from './redis-history.ts';
import { RedisLease } from './redis-lease.ts';
import { RedisPublisher, setStatus, type LogLimits } from './redis-publisher.ts';
import { liveChannel, redisKeys, statusesScript, timeScript } from './redis-scripts.ts';
import { RedisSubscriber } from './redis-subscriber.ts';

/**
 * Connects to Redis: one address, or several for the nodes of a cluster or for a primary and its replicas. Rejects with `UNAVAILABLE` if it
 * cannot be reached, and with `INCOMPATIBLE` if it is too old or its log has another version. `limits` replace those of `busLimits`.
 */
export async function connectRedisBus(urls: readonly string[], log: Logger, limits: Partial<LogLimits> = {}): Promise<Bus> {
  const connection = await RedisConnection.open(urls, 'bus', log);
  try {
    await new RedisHistory(connection).state(null);
  } catch (error) {
    connection.close();
    throw error;
  }
  return new RedisBus(urls, connection, log, { maxEntries: busLimits.maxEntries, maxTopics: busLimits.maxTopics, ...limits });
}

class RedisBus implements Bus {
  readonly #urls: readonly string[];
  readonly #connection: RedisConnection;
  readonly #log: Logger;
  readonly #channel: string;
  readonly #parts = new Set<BusPublisher | BusSubscriber | Lease>();
  readonly #limits: LogLimits;
  readonly #known = new KnownPosition();
  readonly #stopReporting: () => void;
  #closed = false;

  constructor(urls: readonly string[], connection: RedisConnection, log: Logger, limits: LogLimits) {
    this.#urls = urls;
    this.#connection = connection;
    this.#log = log;
    this.#limits = limits;
    this.#channel = liveChannel(databaseOf(urls[0] as string));
    this.#stopReporting = connection.onReady(() => void this.#reportKnown());
  }

  /** The state of the log. If it lacks what this process stored or found there, its followers report that. */
  async #readState(): Promise<LogState> {
    const state = await new RedisHistory(this.#connection).state(this.#known.at);
    this.#known.note(state);
    return state;
  }

  /** After a reconnection, Redis may have lost what this process stored. Other processes must learn that now, not at the next batch. */
  async #reportKnown(): Promise<void> {
    if (this.#known.at === null) return;
    try {
      await this.#readState();
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      this.#log.warn({ reason: error.message }, 'bus_state_unknown');
    }
  }

  async publisher({ lease }: PublisherOptions = {}): Promise<BusPublisher> {
    this.#assertOpen();
    if (lease !== undefined && !lease.held) throw fencedError(lease.name);
    const leaseTerm = lease === undefined ? null : { name: lease.name, fence: lease.fence, ...(await this.#readState()) };
    const publisher = new RedisPublisher({
      connection: this.#connection,
      channel: this.#channel,
      limits: this.#limits,
      leaseTerm,
      known: this.#known,
      log: this.#log,
      onClosed: () => this.#parts.delete(publisher),
    });
    this.#parts.add(publisher);
    return publisher;
  }

  lease(name: string, ttlMs?: number): Lease {
    this.#assertOpen();
    const lease = new RedisLease(this.#connection, name, this.#log, () => this.#parts.delete(lease), ttlMs);
    this.#parts.add(lease);
    return lease;
  }

  tail(maxEntries: number): Promise<readonly LogEntry[]> {
    return this.readTail(Math.min(maxEntries, busLimits.maxTailEntries), (entry) => entry);
  }

  async readTail<T>(maxEntries: number, read: (entry: LogEntry) => T): Promise<readonly T[]> {
    this.#assertOpen();
    return new RedisHistory(this.#connection).tail(Math.min(maxEntries, busLimits.maxEntries), read);
  }

  async subscriber(options: SubscriberOptions = {}): Promise<BusSubscriber> {
    this.#assertOpen();
    // Its own connection, so that reading pages of the history does not delay publishing.
    const reader = await RedisConnection.open(this.#urls, 'reader', this.#log);
    if (this.#closed) {
      reader.close();
      throw closedError();
    }
    const forget = (): boolean => this.#parts.delete(subscriber);
    const subscriber = new RedisSubscriber(this.#channel, reader, this.#log, forget, options);
    this.#parts.add(subscriber);
    return subscriber;
  }

  async setStatus(name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): Promise<void> {
    this.#assertOpen();
    await setStatus(this.#connection, null, name, value, ttlMs);
  }

  async statuses(): Promise<readonly BusStatus[]> {
    this.#assertOpen();
    const reply = (await this.#connection.run(statusesScript, [redisKeys.status], [])) as Buffer[];
    const statuses: BusStatus[] = [];
    for (let i = 0; i + 1 < reply.length; i += 2) {
      const value = JSON.parse((reply[i + 1] as Buffer).toString('utf8')) as Record<string, unknown>;
      statuses.push({ name: (reply[i] as Buffer).toString('utf8'), value });
    }
    return statuses.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async timeMs(): Promise<number> {
    this.#assertOpen();
    return Number(await this.#connection.run(timeScript, [redisKeys.status], []));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopReporting();
    await Promise.all([...this.#parts].map((part) => part.close()));
    this.#connection.close();
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError();
  }
}
