import type { Bus, LogEntry } from '@sluice/shared/bus/bus.ts';
import { Recent } from '@sluice/shared/collections/recent.ts';
import { depthInSol } from '@sluice/shared/market/depth.ts';
import type { LeaseTerm } from '@sluice/shared/market/market.ts';
import type { PoolDirectory, PoolSighting } from '@sluice/shared/pools/pool-directory.ts';
import { readPoolNews } from '@sluice/shared/pools/pool-news.ts';
import type { NewTokenEvent } from '@sluice/shared/wire/events.ts';
import { newTokensTopic } from '@sluice/shared/wire/stream/topics.ts';
import { readEvent, type MarketEvent } from './read-event.ts';

/** Sightings that wait to be written. Above this limit, the oldest is dropped; the next trade in its pool reports it again. */
const maxWaiting = 100_000;
/** Pools whose last written depth is remembered. A forgotten one is written again at its next trade. */
const maxWritten = 200_000;
/** A pool is written again if its depth has changed by this part. */
const changedBy = 0.2;
/** A pool that still trades is also written again after this time, so that it does not become the oldest of the directory. */
const writeAgainAfterMs = 10 * 60_000;

interface Written {
  readonly depthSol: number;
  readonly atMs: number;
}

/**
 * Updates the directory of pools from the creations, opened pools, trades and migrations in the log, under the lease of the market's keeper. It writes the
 * pools of a part of the log before the market's checkpoint moves past that part. So a process that ends in between misses no pool.
 */
export class PoolKeeper {
  readonly #directory: PoolDirectory;
  /** By address, oldest first. */
  readonly #waiting = new Map<string, PoolSighting>();
  readonly #written = new Recent<Written>(maxWritten);
  #isStopped = false;
  #stop: () => Promise<void> = async () => undefined;

  constructor(directory: PoolDirectory) {
    this.#directory = directory;
  }

  /**
   * If the directory is new or was emptied, fills it from all that the log has, until `stop`. Events of the market may be added meanwhile.
   * Rejects when the bus or the directory does not answer.
   */
  async complete(bus: Bus, leaseTerm: LeaseTerm): Promise<void> {
    if (await this.#directory.isComplete()) return;
    const subscriber = await bus.subscriber();
    this.#stop = () => subscriber.close();
    try {
      if (this.#isStopped) return;
      await subscriber.start({
        onEntry: (entry) => {
          this.addEntry(entry);
          const event = readEvent(entry);
          if (event !== null) this.add(event);
        },
        // What the log has lost is found on the chain: see the gateway's `PoolReader`.
        onLost: () => undefined,
      });
    } finally {
      await subscriber.close();
    }
    if (!this.#isStopped) await this.#write(leaseTerm, true);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#stop();
  }

  /** Adds the pool of a trade or of a migration, both of which `readEvent` returns as `trade`. Ignores other events. */
  add(event: MarketEvent): void {
    if (event.kind !== 'trade') return;
    const { mint, trade } = event;
    const { pool: venue, poolAddress: address, quoteMint, slot } = trade;
    const depthSol = trade.depthSol ?? 0;
    if (this.#isNews(address, depthSol)) this.#wait({ mint, venue, address, quoteMint, depthSol, slot });
  }

  /** Any entry of the log; opened pools, and the pool that a coin begins in, are seen before their first trade. */
  addEntry(entry: Pick<LogEntry, 'topics' | 'json'>): void {
    const { topics, json } = entry;
    const opened = readPoolNews(entry);
    if (opened !== null && this.#isNews(opened.address, opened.depthSol)) {
      const { mint, venue, address, quoteMint, depthSol, slot } = opened;
      this.#wait({ mint, venue, address, quoteMint, depthSol, slot });
    }
    if (topics[0]?.topic !== newTokensTopic) return;
    const event = parseCreation(json);
    if (event === null) return;
    const { mint, pool: venue, poolAddress: address, quoteMint, slot } = event;
    const depthSol = depthInSol(event) ?? 0;
    if (this.#isNews(address, depthSol)) this.#wait({ mint, venue, address, quoteMint, depthSol, slot });
  }

  /** Writes what was added. Rejects when the directory does not answer; it may then be called again. */
  async write(leaseTerm: LeaseTerm): Promise<'applied' | 'fenced'> {
    return this.#waiting.size === 0 ? 'applied' : this.#write(leaseTerm, false);
  }

  async #write(leaseTerm: LeaseTerm, completes: boolean): Promise<'applied' | 'fenced'> {
    const sightings = [...this.#waiting.values()];
    const outcome = await this.#directory.note(sightings, leaseTerm, completes);
    if (outcome === 'fenced') return outcome;
    const atMs = performance.now();
    for (const sighting of sightings) {
      const { address, depthSol } = sighting;
      this.#written.set(address, { depthSol, atMs });
      // A newer one may have come in the meantime.
      if (this.#waiting.get(address) === sighting) this.#waiting.delete(address);
    }
    return outcome;
  }

  #isNews(address: string, depthSol: number): boolean {
    const last = this.#waiting.get(address) ?? this.#written.get(address);
    if (last === undefined) return true;
    if (Math.abs(depthSol - last.depthSol) > changedBy * last.depthSol) return true;
    return 'atMs' in last && performance.now() - last.atMs > writeAgainAfterMs;
  }

  #wait(sighting: PoolSighting): void {
    const waiting = this.#waiting.get(sighting.address);
    if (waiting !== undefined && waiting.slot > sighting.slot) return;
    this.#waiting.delete(sighting.address);
    this.#waiting.set(sighting.address, sighting);
    if (this.#waiting.size <= maxWaiting) return;
    const oldest = this.#waiting.keys().next();
    if (oldest.done !== true) this.#waiting.delete(oldest.value);
  }
}

/** Null for other bytes: the bus carries any, not only those that ingest publishes. */
function parseCreation(json: Uint8Array): NewTokenEvent | null {
  try {
    const value = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8')) as Partial<NewTokenEvent> | null;
    return value?.type === 'newToken' && value.reserves !== undefined ? (value as NewTokenEvent) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
