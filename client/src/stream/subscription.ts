import { SluiceError } from '../errors.ts';
import type { ChannelEvents, Channel, Filters, Gap, JoinPosition, Position, RejectedKey, Retract } from '../wire.ts';
import { Place } from './place.ts';

export interface SubscribeOptions<C extends Channel> {
  /** Mints to follow. Required for prices and candles. */
  readonly mints?: readonly string[];
  /** Wallets whose trades to follow. Only for trades. */
  readonly accounts?: readonly string[];
  /** Length of the candles, for example `1m`. Required for candles. */
  readonly interval?: string;
  readonly filter?: C extends keyof Filters ? Filters[C] : never;
  /** `confirmed`: events come once their slot is confirmed, and none is retracted. */
  readonly commitment?: 'processed' | 'confirmed';
  /** Begin with the newest event of each topic. */
  readonly snapshot?: boolean;
  /** Resume after these positions, which `Subscription.positions` returned. */
  readonly since?: Readonly<Record<string, Position>>;
  /** Called instead of iteration. It may return a promise; the next event waits for it. */
  readonly onEvent?: (event: EventOf<C>, topic: string) => void | Promise<void>;
  /** Events are missing and cannot be replayed. Called in order with the events. */
  readonly onGap?: (gap: Gap) => void;
  /** Keys that are not followed, for example because they are no addresses. */
  readonly onRejected?: (rejected: readonly RejectedKey[]) => void;
  /** The connection of this subscription changed. */
  readonly onStatus?: (status: Status) => void;
  /** Called once, if the subscription has failed and will not be retried, and nobody iterates. Without it the error is an unhandled rejection. */
  readonly onError?: (error: SluiceError) => void;
  /** Ends the subscription. */
  readonly signal?: AbortSignal;
  /** Events that wait for the consumer, at most; 10,000 by default. Beyond them the client unsubscribes, and resumes when half are consumed. */
  readonly maxWaiting?: number;
}

/** `live`: the gateway follows all accepted keys. `reconnecting`: it was lost, and is tried again in `inMs`. */
export type Status =
  | { readonly state: 'live'; readonly url: string }
  | { readonly state: 'reconnecting'; readonly reason: string; readonly inMs: number };

/** An event of a channel, or the retraction of one. */
export type EventOf<C extends Channel> = ChannelEvents[C] | Retract;

/** What the connection does for a subscription. */
export interface SubscriptionHost {
  /** The consumer is too slow: stop the frames of this subscription. */
  pause(subscription: AnySubscription): void;
  /** The consumer has caught up. */
  resume(subscription: AnySubscription): void;
  remove(subscription: AnySubscription): void;
}

/** What a subscription to any channel requests. */
export interface Request {
  readonly channel: Channel;
  readonly mints: readonly string[];
  readonly accounts: readonly string[];
  readonly interval: string | undefined;
  readonly filter: unknown;
  readonly commitment: 'processed' | 'confirmed' | undefined;
  readonly snapshot: boolean;
}

/** A subscription as its connection sees it. */
export interface AnySubscription {
  readonly request: Request;
  /** The last position of each topic that arrived, whether or not it was consumed. */
  readonly received: Readonly<Record<string, Position>>;
  readonly isPaused: boolean;
  /** The reply to a subscribe command. */
  accept(
    positions: Readonly<Record<string, JoinPosition>>,
    snapshot: readonly { readonly topic: string; readonly data: unknown }[],
    rejected: readonly RejectedKey[],
  ): void;
  /** False if something is missing that no gap reported: then the connection must begin again. */
  onFrame(topic: string, seq: number, prev: number | undefined, event: unknown): boolean;
  onGap(gap: Gap): void;
  /** False as for `onFrame`. */
  onHeartbeat(topic: string, position: Position): boolean;
  onStatus(status: Status): void;
  /** Ends it; it does not reconnect. */
  fail(error: SluiceError): void;
  close(): void;
}

/** `before`: where its topic was before the gap; null if the topic was not followed. A snapshot has no position. */
type Item =
  | { readonly event: unknown; readonly topic: string; readonly epoch: string; readonly seq: number | null }
  | { readonly gap: Gap; readonly before: Position | null };

const defaultMaxWaiting = 10_000;

/** One subscription: its positions, and the events that wait for its consumer. Iterate it, or give `onEvent`. */
export class Subscription<C extends Channel> implements AsyncIterable<EventOf<C>>, AnySubscription {
  readonly request: Request;
  readonly #options: SubscribeOptions<C>;
  readonly #host: SubscriptionHost;
  readonly #places = new Map<string, Place>();
  readonly #maxWaiting: number;
  #waiting: Item[] = [];
  #head = 0;
  #isPaused = false;
  #end: { readonly error: SluiceError | null } | null = null;
  #wake: (() => void) | null = null;
  #isConsumed = false;
  #lastPositions: Readonly<Record<string, Position>> | null = null;
  readonly #stop = (): void => this.close();

  constructor(channel: C, options: SubscribeOptions<C>, host: SubscriptionHost) {
    const { mints = [], accounts = [], interval, filter, commitment, snapshot = false } = options;
    this.request = { channel, mints, accounts, interval, filter, commitment, snapshot };
    this.#options = options;
    this.#host = host;
    this.#maxWaiting = options.maxWaiting ?? defaultMaxWaiting;
    for (const [topic, position] of Object.entries(options.since ?? {})) this.#places.set(topic, new Place(position));
    if (options.signal?.aborted === true) this.close();
    else options.signal?.addEventListener('abort', this.#stop, { once: true });
    if (options.onEvent !== undefined) void this.#consume(options.onEvent);
  }

  /**
   * Where each topic can be resumed, also by another process: `since` of a later subscription. They are the positions of the last events that
   * the consumer received; events that wait for it come again.
   */
  get positions(): Readonly<Record<string, Position>> {
    if (this.#lastPositions !== null) return this.#lastPositions;
    const positions: Record<string, Position> = { ...this.received };
    for (let at = this.#waiting.length - 1; at >= this.#head; at--) {
      const item = this.#waiting[at]!;
      if ('gap' in item) {
        if (item.before !== null) positions[item.gap.topic] = item.before;
      } else if (item.seq !== null) positions[item.topic] = { epoch: item.epoch, seq: item.seq - 1 };
    }
    return positions;
  }

  get received(): Readonly<Record<string, Position>> {
    return Object.fromEntries([...this.#places].map(([topic, place]) => [topic, place.position]));
  }

  /** Events that wait for the consumer. */
  get waiting(): number {
    return this.#waiting.length - this.#head;
  }

  get isEnded(): boolean {
    return this.#end !== null;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Ends it. Events that wait for the consumer are dropped; `positions` does not count them. */
  close(): void {
    this.#finish(null);
  }

  /** One consumer at a time. Leaving the loop ends the subscription. */
  async *[Symbol.asyncIterator](): AsyncGenerator<EventOf<C>, void, undefined> {
    if (this.#isConsumed) throw new SluiceError('The subscription has a consumer already.', { code: 'CLOSED', retryable: false });
    this.#isConsumed = true;
    try {
      for (;;) {
        const item = this.#next();
        if (item !== null) {
          if ('gap' in item) this.#options.onGap?.(item.gap);
          else yield item.event as EventOf<C>;
        } else if (this.#end !== null) {
          if (this.#end.error !== null) throw this.#end.error;
          return;
        } else await new Promise<void>((wake) => (this.#wake = wake));
      }
    } finally {
      this.close();
    }
  }

  accept(
    positions: Readonly<Record<string, JoinPosition>>,
    snapshot: readonly { topic: string; data: unknown }[],
    rejected: readonly RejectedKey[],
  ): void {
    if (rejected.length > 0) this.#options.onRejected?.(rejected);
    for (const [topic, position] of Object.entries(positions)) {
      const place = this.#places.get(topic);
      if (place === undefined) this.#places.set(topic, new Place(position));
      else place.resume(position);
    }
    for (const { topic, data } of snapshot) this.#push({ event: data, topic, epoch: '', seq: null });
  }

  onFrame(topic: string, seq: number, prev: number | undefined, event: unknown): boolean {
    const place = this.#places.get(topic);
    const verdict = place?.frame(seq, prev) ?? 'repeat';
    if (verdict === 'deliver') this.#push({ event, topic, epoch: place!.epoch, seq });
    return verdict !== 'hole';
  }

  onGap(gap: Gap): void {
    const place = this.#places.get(gap.topic);
    const before = place?.position ?? null;
    place?.gap(gap);
    // An epoch that continues the numbers lacks nothing.
    if (gap.to === null || gap.to >= gap.from) this.#push({ gap, before });
  }

  onHeartbeat(topic: string, position: Position): boolean {
    const { filter, commitment } = this.request;
    const isFiltered = filter !== undefined || commitment !== undefined;
    return this.#places.get(topic)?.heartbeat(position, isFiltered) ?? true;
  }

  onStatus(status: Status): void {
    this.#options.onStatus?.(status);
  }

  fail(error: SluiceError): void {
    this.#finish(error);
  }

  #push(item: Item): void {
    if (this.#end !== null) return;
    this.#waiting.push(item);
    if (this.waiting >= this.#maxWaiting && !this.#isPaused) {
      this.#isPaused = true;
      this.#host.pause(this);
    }
    this.#wakeUp();
  }

  #next(): Item | null {
    if (this.#head === this.#waiting.length) return null;
    const item = this.#waiting[this.#head]!;
    this.#head++;
    // Without this the array would keep what was consumed.
    if (this.#head >= 1_024 || this.#head === this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    if (this.#isPaused && this.waiting <= this.#maxWaiting / 2) {
      this.#isPaused = false;
      this.#host.resume(this);
    }
    return item;
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #finish(error: SluiceError | null): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#options.signal?.removeEventListener('abort', this.#stop);
    if (error === null) {
      this.#lastPositions = this.positions;
      this.#waiting = [];
      this.#head = 0;
    }
    if (error !== null && !this.#isConsumed) this.#options.onError?.(error);
    this.#host.remove(this);
    this.#wakeUp();
  }

  async #consume(onEvent: NonNullable<SubscribeOptions<C>['onEvent']>): Promise<void> {
    this.#isConsumed = true;
    try {
      for (;;) {
        const item = this.#next();
        if (item === null) {
          if (this.#end !== null) break;
          await new Promise<void>((wake) => (this.#wake = wake));
        } else if ('gap' in item) this.#options.onGap?.(item.gap);
        else await onEvent(item.event as EventOf<C>, item.topic);
      }
    } finally {
      // After a fault in a callback nobody would consume the events.
      this.close();
    }
    const error = this.#end?.error ?? null;
    if (error === null) return;
    if (this.#options.onError === undefined) throw error;
    this.#options.onError(error);
  }
}
