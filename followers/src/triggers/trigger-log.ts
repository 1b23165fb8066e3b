import type { Bus, LogPosition } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { LogFollower, OpenState, Section } from '../kit/follower.ts';
import { LogConsumer, type ConsumerStats } from '../kit/log-consumer.ts';
import { readWatched } from './read-entry.ts';
import { WatchIndex, type WatchEvent } from './watch-index.ts';
import type { Met, PriceRead, Watch } from './watch.ts';

/** Time between two checkpoints. What came after the last one is read again after a restart. */
const saveEveryMs = 1_000;
/** A save that takes long is followed by a pause of as many times its duration. */
const saveShare = 4;
/** Mints of one read of the market's state. There is one at a time. */
const mintsOfRead = 100;

export interface TriggerLogParts {
  readonly bus: Bus;
  /** The position that was stored last; null if none was. */
  readonly checkpoint: () => Promise<LogPosition | null>;
  /** Stores a position, and watermarks by the ids of their triggers, both or neither. `fenced`: another process has taken over. */
  readonly save: (position: LogPosition, watermarks: ReadonlyMap<string, number>) => Promise<'stored' | 'fenced'>;
  /** What the market's state shows of mints. Those of which it shows nothing are missing, and asked for again later. */
  readonly readPrices: (mints: readonly string[]) => Promise<ReadonlyMap<string, PriceRead>>;
  /** Conditions are met that were not before. Called in the turn of the event loop in which the log shows it. */
  readonly onMet: () => void;
  /** Unix milliseconds. */
  readonly unixMs: () => number;
  readonly clock?: Clock;
  readonly log: Logger;
}

/**
 * Watches conditions on the log, from the last checkpoint on. Its owner makes sure that no other process does the same, and adds all watches before the first
 * call of `tick`, which begins the reading.
 *
 * After a start or a loss, nothing is met until the log is read to its end. So a price that is over by then fires nothing.
 */
export class TriggerLog implements LogFollower<WatchEvent> {
  readonly name = 'triggers';
  readonly #index = new WatchIndex();
  readonly #parts: TriggerLogParts;
  readonly #clock: Clock;
  #consumer: LogConsumer<WatchEvent> | null = null;
  /** The index contains all entries up to here. */
  #position: LogPosition | null = null;
  #saved: LogPosition | null = null;
  #saving: Promise<void> | null = null;
  #saveAtMs = 0;
  /** Watermarks that are not stored. */
  #watermarks = new Map<string, number>();
  #reading = false;
  #isFenced = false;
  #failures = 0;
  #closed = false;

  constructor(parts: TriggerLogParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? systemClock;
    this.#index.beginReplay(this.#clock.steadyMs(), parts.unixMs());
  }

  get size(): number {
    return this.#index.size;
  }

  get stats(): ConsumerStats | null {
    return this.#consumer?.stats ?? null;
  }

  /** As `WatchIndex.add`. */
  add(watch: Watch): 'added' | 'full' {
    return this.#index.add(watch);
  }

  remove(id: string): void {
    this.#index.remove(id);
  }

  /** As `WatchIndex.tick`. Its first call begins the reading of the log. */
  tick(nowMs: number, wallMs: number, solUsd: number | null): void {
    const { bus, clock, log } = this.#parts;
    this.#index.tick(nowMs, wallMs, solUsd);
    if (this.#closed) return;
    this.#consumer ??= new LogConsumer(this, { bus, ...(clock === undefined ? {} : { clock }), log }, { prompt: true, unleased: true });
    if (!this.#index.isReplaying) void this.#readPrices(nowMs);
  }

  /** As `WatchIndex.takeMet`. Nothing once another process has taken over. */
  takeMet(limit: number, mayTake?: (id: string) => boolean): Met[] {
    return this.#isFenced ? [] : this.#index.takeMet(limit, mayTake);
  }

  stored(met: Met): void {
    this.#index.stored(met);
  }

  reasons(limit?: number): ReadonlyMap<string, string | null> {
    return this.#index.reasons(limit);
  }

  setPosition(publicKey: string, mint: string, costSol: number | null): void {
    this.#index.setPosition(publicKey, mint, costSol);
  }

  /** Stores the last checkpoint. */
  async close(withinMs = 1_000): Promise<void> {
    this.#closed = true;
    await this.#consumer?.close(withinMs);
    await this.#saving;
    if (this.#consumer !== null) await this.#save();
  }

  readonly read = (entry: Parameters<typeof readWatched>[0]): WatchEvent | null => readWatched(entry, this.#index);

  async open(): Promise<OpenState<WatchEvent>> {
    const checkpoint = await this.#parts.checkpoint();
    this.#position = checkpoint;
    this.#saveAtMs = this.#clock.steadyMs() + saveEveryMs;
    this.#index.beginReplay(this.#clock.steadyMs(), this.#parts.unixMs());
    if (checkpoint !== null) this.#index.enterEpoch(checkpoint.epoch, true);
    return {
      checkpoint,
      apply: async (section) => {
        this.#apply(section);
        return 'applied';
      },
      round: async () => {
        if (this.#clock.steadyMs() >= this.#saveAtMs) this.#saving ??= this.#save().finally(() => (this.#saving = null));
        return true;
      },
      close: async () => undefined,
    };
  }

  #apply({ events, to, afterLoss, left }: Section<WatchEvent>): void {
    const index = this.#index;
    const nowMs = this.#clock.steadyMs();
    const wallMs = this.#parts.unixMs();
    const { metCount } = index;
    if (afterLoss !== null) index.lose(nowMs, wallMs);
    index.enterEpoch(to.epoch, afterLoss !== 'epoch');
    for (const event of events) index.note(event, nowMs, wallMs);
    this.#position = to;
    const wasReplaying = index.isReplaying;
    if (left === 0) index.endReplay();
    if (index.metCount > metCount || wasReplaying) this.#parts.onMet();
  }

  /** The checkpoint stays before an event that is not stored as the cause of a firing. */
  async #save(): Promise<void> {
    const nowMs = this.#clock.steadyMs();
    const pinned = this.#index.oldestPinned(nowMs);
    const to = pinned === null ? this.#position : { epoch: pinned.epoch, offset: pinned.offset - 1 };
    for (const [id, watermark] of this.#index.watermarks(nowMs)) this.#watermarks.set(id, watermark);
    this.#saveAtMs = nowMs + saveEveryMs;
    const isSame = to === null || (to.epoch === this.#saved?.epoch && to.offset === this.#saved.offset);
    if (this.#isFenced || to === null || (isSame && this.#watermarks.size === 0)) return;
    const watermarks = this.#watermarks;
    this.#watermarks = new Map();
    try {
      if ((await this.#parts.save(to, watermarks)) === 'fenced') this.#isFenced = true;
      this.#saved = to;
      this.#failures = 0;
    } catch (error) {
      this.#watermarks = new Map([...watermarks, ...this.#watermarks]);
      if (this.#failures++ === 0) this.#parts.log.warn({ err: error }, 'trigger_checkpoint_not_stored');
    }
    const endMs = this.#clock.steadyMs();
    this.#saveAtMs = Math.max(this.#saveAtMs, endMs + saveShare * (endMs - nowMs));
  }

  async #readPrices(nowMs: number): Promise<void> {
    if (this.#reading) return;
    const mints = this.#index.needed(mintsOfRead, nowMs);
    if (mints.length === 0) return;
    this.#reading = true;
    try {
      const reads = await this.#parts.readPrices(mints);
      const { metCount } = this.#index;
      for (const [mint, read] of reads) this.#index.takeRead(mint, read, this.#clock.steadyMs(), this.#parts.unixMs());
      if (this.#index.metCount > metCount) this.#parts.onMet();
    } catch (error) {
      this.#parts.log.warn({ err: error, mints: mints.length }, 'trigger_prices_not_read');
    } finally {
      this.#reading = false;
    }
  }
}
