import { BusError } from '@sluice/shared/bus/bus-error.ts';
import { isHeld, type Bus, type BusSubscriber, type Lease, type LeaseTerm, type LogPosition } from '@sluice/shared/bus/bus.ts';
import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { LogFollower, OpenState } from './follower.ts';
import { Intake } from './intake.ts';

/** Time between two sections while the log is followed, and between two rounds. A reader of the state is behind by at most this. */
const applyEveryMs = 25;
/** Events of one section. For candles, a section takes about 1 ms in Redis and 0.5 ms in this process. New events wait for both. */
const sectionEvents = 100;
const firstPauseMs = 50;
const maxPauseMs = 1_000;

export interface ConsumerStats {
  /** Whether this process holds the lease and keeps the state; one of several does. */
  readonly keeps: boolean;
  /** Events that were applied, and in how many sections. */
  readonly events: number;
  readonly batches: number;
  /** Events that wait to be applied. */
  readonly waiting: number;
  /** Entries that the log no longer had when they were to be applied. */
  readonly lostEntries: number;
  /** Times that the state or the bus did not answer. */
  readonly failures: number;
}

export interface ConsumerParts {
  readonly bus: Bus;
  readonly clock?: Clock;
  readonly log: Logger;
}

export interface ConsumerOptions {
  /** Applies events in the turn of the event loop in which they arrive. */
  readonly prompt?: boolean;
  /** The consumer runs without a lease until it is closed: its owner makes sure that it is the only one. */
  readonly unleased?: boolean;
}

/** One term of the lease, from a checkpoint on. */
interface Term<Event> {
  readonly leaseTerm: LeaseTerm;
  readonly state: OpenState<Event>;
  /** Null while the intake is full. The log is read again when its events are applied. */
  subscriber: BusSubscriber | null;
  intake: Intake<Event>;
  checkpoint: LogPosition | null;
  /** The log lacks entries that were read from it. Those that are not applied yet must be dropped. */
  isOver: boolean;
}

/**
 * Runs a follower in the one process that holds its lease. It begins at the checkpoint, and each section moves the checkpoint together with its
 * changes. So every event is applied once, even if something fails in between. If it does not know whether a section was applied, it begins
 * again at the checkpoint.
 */
export class LogConsumer<Event> {
  readonly #follower: LogFollower<Event>;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #prompt: boolean;
  readonly #lease: Lease;
  readonly #running: Promise<void>;
  readonly #counts = { events: 0, batches: 0, lostEntries: 0, failures: 0 };
  #term: Term<Event> | null = null;
  /** Pause after a failure; doubled until a round succeeds. */
  #pauseMs = firstPauseMs;
  #closed = false;
  #wake: (() => void) | null = null;

  constructor(
    follower: LogFollower<Event>,
    { bus, clock = systemClock, log }: ConsumerParts,
    { prompt = false, unleased = false }: ConsumerOptions = {},
  ) {
    this.#follower = follower;
    this.#bus = bus;
    this.#clock = clock;
    this.#log = log.child({ follower: follower.name });
    this.#prompt = prompt;
    this.#lease = unleased ? ownLease(follower.name) : bus.lease(follower.name);
    this.#lease.onChange(() => this.#wake?.());
    this.#running = this.#run();
  }

  get stats(): ConsumerStats {
    return { keeps: this.#term !== null, ...this.#counts, waiting: this.#term?.intake.length ?? 0 };
  }

  /** Applies waiting events for at most `withinMs`, and releases the lease. */
  async close(withinMs: number): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    const cancel = this.#clock.after(withinMs, () => void this.#term?.state.close());
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
        this.#counts.failures++;
        if (this.#pauseMs === firstPauseMs) this.#log.warn({ err: error }, 'follower_no_answer');
        await this.#sleep(this.#pauseMs);
        this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
      }
    }
  }

  async #begin(): Promise<Term<Event>> {
    const startedAtMs = this.#clock.steadyMs();
    const leaseTerm = { lease: this.#lease, fence: this.#lease.fence };
    const state = await this.#follower.open(leaseTerm);
    const { checkpoint } = state;
    const term: Term<Event> = { leaseTerm, state, subscriber: null, intake: this.#intake(checkpoint), checkpoint, isOver: false };
    try {
      await this.#read(term);
    } catch (error) {
      await state.close();
      throw error;
    }
    const tookMs = Math.round(this.#clock.steadyMs() - startedAtMs);
    this.#log.info({ fence: leaseTerm.fence, checkpoint, waiting: term.intake.length, tookMs }, 'follower_keeps');
    return term;
  }

  #intake(from: LogPosition | null): Intake<Event> {
    return new Intake(from, (entry) => this.#follower.read(entry));
  }

  /** Reads the log after the checkpoint, and follows it, until the intake is full. */
  async #read(term: Term<Event>): Promise<void> {
    const { checkpoint } = term;
    const intake = this.#intake(checkpoint);
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
          const { length } = intake;
          intake.add(subscriber.epoch, entry);
          if (this.#prompt && intake.length > length) this.#wake?.();
          if (intake.full && term.subscriber === subscriber) void stop();
        },
        onEpoch: () => intake.enterEpoch(subscriber.epoch),
        // The offsets of later entries show that entries were trimmed.
        onLost: ({ reason, last }) => {
          if (reason !== 'epoch') return;
          if (intake.isUntouched) intake.loseEpoch(subscriber.epoch, last);
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
   * Applies until the lease is lost, the log must be read again, or the consumer closes. Rejects if the state or the bus does not answer.
   */
  async #serve(term: Term<Event>): Promise<void> {
    this.#term = term;
    try {
      for (let last = false; !last;) {
        // Events that came before the close are applied.
        last = this.#closed;
        if (!(await this.#round(term))) return;
        this.#pauseMs = firstPauseMs;
        if (last || !isHeld(term.leaseTerm)) return;
        if (term.intake.length < (this.#prompt ? 1 : sectionEvents)) await this.#sleep(applyEveryMs);
      }
    } catch (error) {
      if (!(error instanceof BusError && error.code === 'FENCED')) throw error;
      this.#lease.relinquish(term.leaseTerm.fence);
    } finally {
      this.#term = null;
      await term.subscriber?.close();
      await term.state.close();
      this.#log.info({ fence: term.leaseTerm.fence, checkpoint: term.checkpoint }, 'follower_left');
    }
  }

  /** One section. False if this term is over. */
  async #round(term: Term<Event>): Promise<boolean> {
    const { intake, checkpoint, state } = term;
    if (term.isOver) return false;
    if (intake.lost > 0) {
      this.#log.error({ entries: intake.lost, checkpoint }, 'follower_entries_lost');
      this.#counts.lostEntries += intake.lost;
      intake.lost = 0;
    }
    const section = intake.take(sectionEvents, checkpoint);
    if (section !== null) {
      const outcome = await state.apply(section);
      if (outcome !== 'applied') {
        this.#log.warn({ outcome, fence: term.leaseTerm.fence }, 'follower_section_refused');
        return false;
      }
      term.checkpoint = section.to;
      this.#counts.events += section.events.length;
      if (section.events.length > 0) this.#counts.batches++;
    }
    if ((await state.round?.(this.#closed)) === false) return false;
    if (intake.full && intake.length === 0) await this.#read(term);
    return true;
  }

  /** Waits until the time is over (null: no limit), the lease changes, or the consumer closes. */
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

function ownLease(name: string): Lease {
  return {
    name,
    held: true,
    holder: 'self',
    fence: 1,
    onChange: () => () => undefined,
    relinquish: () => undefined,
    close: async () => undefined,
  };
}
