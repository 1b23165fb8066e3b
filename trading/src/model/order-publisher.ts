import { setImmediate as turn } from 'node:timers/promises';
import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import type { Bus, BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { checkEntry } from '@sluice/shared/bus/entry-checks.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { encodeEvent } from '@sluice/shared/codec/encode-event.ts';
import { ordersTopic } from '@sluice/shared/wire/stream/topics.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import type { PrivateEvents } from '@sluice/gateway/stream/delivery/private-events.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import type { StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { orderEvent } from './order-object.ts';
import { triggerEvent } from './trigger-object.ts';
import type { PublishedOrder } from '@sluice/gateway/store/order-model/order.ts';

/**
 * Most changes that wait for the bus, in addition to the batch that is being published: more than the triggers that one request can cancel. Beyond
 * that the oldest is dropped: the store still has the order or trigger, and the version in the next event shows that one is missing.
 */
export const maxQueuedOrders = 25_000;
/** Changes that are encoded and published in one batch. Between two batches the event loop serves requests. */
const maxBatch = 16;
const firstPauseMs = 50;
const maxPauseMs = 2_000;

export interface OrderPublisherOptions {
  readonly bus: Pick<Bus, 'publisher'>;
  readonly events: Pick<PrivateEvents, 'entry'>;
  /** Whether the chain is simulated; false while that is unknown. */
  readonly simulated: () => boolean;
  readonly log: Logger;
}

/** A change that waits. Its event is made when it is published. */
interface Change {
  readonly id: string;
  readonly keyId: string;
  readonly version: number;
  readonly event: (publishedUs: number, simulated: boolean) => StreamEvent;
}

/** Publishes changes of orders and triggers on the channel `orders`, each to the topic of the key that made them. */
export class OrderPublisher {
  /** `dropped`: the bus accepted no events for too long. `refused`: no entry can carry the change. `failures`: batches that the bus did not accept. */
  readonly counts = { published: 0, dropped: 0, refused: 0, failures: 0 };
  readonly #options: OrderPublisherOptions;
  readonly #queue: Change[] = [];
  readonly #closing = new AbortController();
  #publisher: BusPublisher | null = null;
  /** Null while nothing is queued or being published. */
  #running: Promise<void> | null = null;

  constructor(options: OrderPublisherOptions) {
    this.#options = options;
  }

  /** Queues a change that is stored already. Changes are published in the order of the calls. Never throws. */
  publish(order: PublishedOrder): void {
    const { id, keyId, version } = order;
    this.#put({ id, keyId, version, event: (...at) => orderEvent(order, ...at) });
  }

  /** The same for a trigger. */
  publishTrigger(trigger: StoredTrigger): void {
    const { id, keyId, version } = trigger;
    this.#put({ id, keyId, version, event: (...at) => triggerEvent(trigger, ...at) });
  }

  /** The same for a position of a wallet that a key follows. It has no version. */
  publishPosition(keyId: string, id: string, event: Change['event']): void {
    this.#put({ id, keyId, version: 0, event });
  }

  #put(change: Change): void {
    if (this.#closing.signal.aborted) return;
    if (this.#queue.length === maxQueuedOrders) {
      this.#queue.shift();
      if (this.counts.dropped++ === 0) this.#options.log.error({ limit: maxQueuedOrders }, 'order_events_dropped');
    }
    this.#queue.push(change);
    this.#running ??= this.#run().finally(() => (this.#running = null));
  }

  /** Resolves when all changes queued so far were published or dropped. */
  flushed(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** Publishes the queued changes, each batch in one attempt, and ends. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    await this.#publisher?.close();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#deliver(this.#entriesOf(this.#queue.splice(0, maxBatch)));
      await turn();
    }
  }

  /** Leaves out a change that cannot be encoded, because it would block all others. */
  #entriesOf(changes: readonly Change[]): BusEntry[] {
    const { events, simulated, log } = this.#options;
    return changes.flatMap(({ id, keyId, version, event }) => {
      try {
        const entry = events.entry(ordersTopic(keyId), encodeEvent(event(nowUs(), simulated())));
        checkEntry(entry);
        return [entry];
      } catch (error) {
        this.counts.refused++;
        log.error({ err: error, id, version }, 'order_event_refused');
        return [];
      }
    });
  }

  /** Publishes entries, and retries until the bus accepts them or the publisher is closed. */
  async #deliver(entries: readonly BusEntry[]): Promise<void> {
    const { bus, log } = this.#options;
    let left = entries;
    for (let pauseMs = firstPauseMs; left.length > 0; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      try {
        this.#publisher ??= await bus.publisher();
        await this.#publisher.publish(left);
        this.counts.published += left.length;
        return;
      } catch (error) {
        const stored = error instanceof BusError ? error.stored : 0;
        this.counts.published += stored;
        left = left.slice(stored);
        if (this.counts.failures++ === 0 || pauseMs === firstPauseMs)
          log.warn({ err: error, waiting: left.length }, 'order_events_delayed');
      }
      if (this.#closing.signal.aborted) break;
      await pause(pauseMs, this.#closing.signal);
    }
    this.counts.dropped += left.length;
  }
}
