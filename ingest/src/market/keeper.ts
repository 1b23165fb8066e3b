import { BusError } from '@sluice/shared/bus/bus-error.ts';
import type { Bus, BusPublisher, BusSubscriber, Lease } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import type { MintHead } from '@sluice/shared/market/main-pool.ts';
import type { Checkpoint, LeaseTerm, Market, MarketBatch } from '@sluice/shared/market/market.ts';
import type { PoolDirectory } from '@sluice/shared/pools/pool-directory.ts';
import { PoolKeeper } from './pool-keeper.ts';
import { CandlePublisher } from './candle-publisher.ts';
import { Intake, type IntakeBatch } from './intake.ts';
import { MarketLedger } from './ledger.ts';

/** The lease of the one process that keeps the state of the market. */
const leaseName = 'market';
/** Time between two batches while the log is followed. A reader of the state is behind by at most this. */
const applyEveryMs = 25;
/** Events of one batch. A batch takes about a millisecond of Redis and half of one in this process, and new events wait for both. */
const batchEvents = 100;
/** Time between two checks for candles to publish. */
const candlesEveryMs = 250;
/** Entries of the log that are searched for candles of the previous keeper. */
const tailEntries = 8_192;
const firstPauseMs = 50;
const maxPauseMs = 1_000;

export interface KeeperStats {
  /** Whether this process keeps the state; one of several does. */
  readonly keeps: boolean;
  /** Trades, prices, migrations, retractions and verdicts that were applied, and in how many batches. */
  readonly events: number;
  readonly batches: number;
  /** Events that wait to be applied. */
  readonly waiting: number;
  /** Entries that the log no longer had when they were to be applied. */
  readonly lostEntries: number;
  /** Trades and prices of undecided slots. */
  readonly undecided: number;
  /** Trades that were settled before their slot was decided, because there were too many. They remain even if it dies. */
  readonly forgotten: number;
  readonly candleTopics: number;
  readonly candles: number;
  /** Times that the market or the bus did not answer. */
  readonly failures: number;
  /** Times that the keeper's thread was started again; 0 if it has none. */
  readonly restarts: number;
}

export interface KeeperOptions {
  readonly bus: Bus;
  readonly market: Market;
  readonly pools: PoolDirectory;
  readonly clock?: Clock;
  readonly log: Logger;
}

/** One term of the lease, from a checkpoint on. */
interface Term {
  readonly leaseTerm: LeaseTerm;
  readonly publisher: BusPublisher;
  readonly candles: CandlePublisher;
  /** Null while the intake is full. The log is read again when its events are applied. */
  subscriber: BusSubscriber | null;
  intake: Intake;
  readonly ledger: MarketLedger;
  readonly pools: PoolKeeper;
  checkpoint: Checkpoint | null;
  /** Events from the log that are not applied yet. */
  intakeBatch: IntakeBatch | null;
  batch: MarketBatch | null;
  candlesAtMs: number;
  /** The log lacks entries that were read from it. Those that are not applied yet must be dropped. */
  isOver: boolean;
}

/**
 * Computes the state of the market from the log, in the one ingest process that holds the lease. It begins at the checkpoint, and each batch moves
 * the checkpoint together with its changes. So every event is applied once, even if something fails in between. If it does not know whether a batch
 * was applied, it begins again at the checkpoint.
 */
export class Keeper {
  readonly #bus: Bus;
  readonly #market: Market;
  readonly #pools: PoolDirectory;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #lease: Lease;
  readonly #running: Promise<void>;
  readonly #counts = { events: 0, batches: 0, lostEntries: 0, forgotten: 0, candles: 0, failures: 0 };
  #term: Term | null = null;
  /** Pause after a failure; doubled until a round succeeds. */
  #pauseMs = firstPauseMs;
  #closed = false;
  #wake: (() => void) | null = null;

  constructor({ bus, market, pools, clock = systemClock, log }: KeeperOptions) {
    this.#bus = bus;
    this.#market = market;
    this.#pools = pools;
    this.#clock = clock;
    this.#log = log;
    this.#lease = bus.lease(leaseName);
    this.#lease.onChange(() => this.#wake?.());
    this.#running = this.#run();
  }

  get stats(): KeeperStats {
    const { events, batches, lostEntries, forgotten, candles, failures } = this.#counts;
    const term = this.#term;
    return {
      keeps: term !== null,
      events,
      batches,
      waiting: term?.intake.length ?? 0,
      lostEntries,
      undecided: term?.ledger.undecided ?? 0,
      forgotten: forgotten + (term?.ledger.forgotten ?? 0),
      candleTopics: term?.candles.topics ?? 0,
      candles: candles + (term?.candles.published ?? 0),
      failures,
      restarts: 0,
    };
  }

  /** Applies waiting events for at most `withinMs`, and releases the lease. */
  async close(withinMs: number): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    // A publisher whose log does not answer waits until it is closed.
    const cancel = this.#clock.after(withinMs, () => void this.#term?.publisher.close());
    await this.#running;
    cancel();
    await this.#lease.close();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      if (!this.#lease.held) {
        await this.#sleep(null);
        continue;
      }
      try {
        await this.#serve(await this.#begin());
        // The lease may learn a moment later what ended the period.
        await this.#sleep(firstPauseMs);
      } catch (error) {
        this.#fail(error, this.#pauseMs === firstPauseMs);
        await this.#sleep(this.#pauseMs);
        this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
      }
    }
  }

  async #begin(): Promise<Term> {
    const startedAtMs = this.#clock.steadyMs();
    const leaseTerm = { lease: this.#lease, fence: this.#lease.fence };
    const publisher = await this.#bus.publisher({ lease: this.#lease });
    try {
      const checkpoint = await this.#market.checkpoint();
      const open = await this.#market.published();
      // The last candles of the previous keeper matter only if it published any.
      const tail = open.size === 0 ? [] : await this.#bus.tail(tailEntries);
      const undecided = await this.#market.undecided();
      const ledger = new MarketLedger(undecided, await this.#market.heads([...undecided.keys()]));
      const headsOf = (mints: readonly string[]): Promise<ReadonlyMap<string, MintHead>> => this.#headsOf(ledger, mints);
      const candles = new CandlePublisher({ market: this.#market, bus: publisher, leaseTerm, headsOf, clock: this.#clock }, open, tail);
      const pools = new PoolKeeper(this.#pools);
      const intake = new Intake(checkpoint);
      const nothing = { subscriber: null, intakeBatch: null, batch: null, candlesAtMs: Number.NEGATIVE_INFINITY, isOver: false };
      const term: Term = { leaseTerm, publisher, candles, intake, ledger, pools, checkpoint, ...nothing };
      await this.#read(term);
      const tookMs = Math.round(this.#clock.steadyMs() - startedAtMs);
      this.#log.info({ fence: leaseTerm.fence, checkpoint, waiting: term.intake.length, tookMs }, 'market_keeps');
      return term;
    } catch (error) {
      await publisher.close();
      throw error;
    }
  }

  /** Reads the log after the checkpoint, and follows it, until the intake is full. */
  async #read(term: Term): Promise<void> {
    const { checkpoint } = term;
    const intake = new Intake(checkpoint);
    const subscriber = await this.#bus.subscriber(checkpoint === null ? {} : { after: checkpoint });
    term.intake = intake;
    term.subscriber = subscriber;
    const stop = async (): Promise<void> => {
      if (term.subscriber === subscriber) term.subscriber = null;
      await subscriber.close();
    };
    try {
      await subscriber.start({
        onEntry: (entry) => {
          intake.add(subscriber.epoch, entry);
          term.pools.addEntry(entry);
          if (intake.full && term.subscriber === subscriber) void stop();
        },
        onEpoch: () => intake.enterEpoch(subscriber.epoch),
        // The offsets of later entries show that entries were trimmed.
        onLost: ({ reason, last }) => {
          if (reason !== 'epoch') return;
          if (intake.isUntouched) intake.enterEpoch(subscriber.epoch, last);
          else {
            term.isOver = true;
            this.#wake?.();
          }
        },
      });
    } catch (error) {
      if (intake.full) return;
      await stop();
      throw error;
    }
  }

  /**
   * Applies and publishes until the lease is lost, the log must be read again, or the keeper closes. Rejects if the market or the bus does
   * not answer.
   */
  async #serve(term: Term): Promise<void> {
    this.#term = term;
    // At the same time as the batches, so that candles need not wait until a whole log is read.
    term.pools.complete(this.#bus, term.leaseTerm).catch((error: unknown) => {
      if (this.#term !== term) return;
      this.#fail(error, true);
      term.isOver = true;
      this.#wake?.();
    });
    try {
      for (let last = false; !last;) {
        // Events that came before the close are applied.
        last = this.#closed;
        if (!(await this.#round(term))) return;
        this.#pauseMs = firstPauseMs;
        if (last || !isHeld(term.leaseTerm)) return;
        if (term.intake.length < batchEvents) await this.#sleep(applyEveryMs);
      }
    } catch (error) {
      if (!(error instanceof BusError && error.code === 'FENCED')) throw error;
      this.#lease.relinquish(term.leaseTerm.fence);
    } finally {
      this.#term = null;
      this.#counts.candles += term.candles.published;
      this.#counts.forgotten += term.ledger.forgotten;
      await term.pools.stop();
      await term.subscriber?.close();
      await term.publisher.close();
      this.#log.info({ fence: term.leaseTerm.fence, checkpoint: term.checkpoint }, 'market_left');
    }
  }

  /** One batch and its candles. False if this period is over. */
  async #round(term: Term): Promise<boolean> {
    if (term.isOver) return false;
    await this.#prepare(term);
    if (term.batch !== null) {
      // Before the checkpoint moves past the events that show the pools.
      const pools = await term.pools.write(term.leaseTerm);
      const outcome = pools === 'fenced' ? pools : await this.#market.apply(term.batch, term.leaseTerm);
      if (outcome !== 'applied') {
        this.#log.warn({ outcome, fence: term.leaseTerm.fence }, 'market_batch_refused');
        return false;
      }
      this.#settle(term, term.batch);
    }
    const nowMs = this.#clock.steadyMs();
    if (this.#closed || nowMs - term.candlesAtMs >= candlesEveryMs) {
      term.candlesAtMs = nowMs;
      if (!(await term.candles.round())) return false;
    }
    if (term.intake.full && term.intake.length === 0) await this.#read(term);
    return true;
  }

  /** Prepares the next batch, if there is anything to apply. */
  async #prepare(term: Term): Promise<void> {
    const { intake, ledger, checkpoint } = term;
    if (term.batch !== null) return;
    term.intakeBatch ??= intake.take(batchEvents, checkpoint);
    if (intake.lost > 0) {
      this.#log.error({ entries: intake.lost, checkpoint }, 'market_entries_lost');
      this.#counts.lostEntries += intake.lost;
      intake.lost = 0;
    }
    if (term.intakeBatch === null) return;
    const { events, to } = term.intakeBatch;
    await this.#learn(
      ledger,
      events.flatMap(({ mint }) => mint ?? []),
    );
    for (const event of events) term.pools.add(event);
    term.batch = { from: checkpoint, to, changes: ledger.take(events) };
  }

  async #learn(ledger: MarketLedger, mints: readonly string[]): Promise<void> {
    const unknown = ledger.unknown(mints);
    if (unknown.length > 0) ledger.learn(unknown, await this.#market.heads(unknown));
  }

  /** Heads of mints, with undecided trades. */
  async #headsOf(ledger: MarketLedger, mints: readonly string[]): Promise<ReadonlyMap<string, MintHead>> {
    await this.#learn(ledger, mints);
    return new Map(
      mints.flatMap((mint) => [[mint, ledger.headOf(mint)] as const]).filter((found): found is [string, MintHead] => found[1] !== null),
    );
  }

  #settle(term: Term, { changes, to }: MarketBatch): void {
    const events = term.intakeBatch?.events.length ?? 0;
    term.intakeBatch = null;
    term.batch = null;
    term.checkpoint = to;
    this.#counts.events += events;
    if (events > 0) this.#counts.batches++;
    term.candles.note(changes);
  }

  #fail(error: unknown, isFirst: boolean): void {
    this.#counts.failures++;
    if (isFirst) this.#log.warn({ err: error }, 'market_no_answer');
  }

  /** Waits until the time is over (null: no limit), the lease changes, or the keeper closes. */
  #sleep(ms: number | null): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = ms === null ? null : this.#clock.after(ms, resolve);
      this.#wake = () => {
        cancel?.();
        resolve();
      };
    });
  }
}

function isHeld({ lease, fence }: LeaseTerm): boolean {
  return lease.held && lease.fence === fence;
}
