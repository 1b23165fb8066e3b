import { checkNames, checkNumber, checkStrings } from '../check-options.ts';
import { SluiceError } from '../errors.ts';
import type { CandleInterval, ChannelEvents, Channel, Filters, Gap, JoinPosition, Position, RejectedKey, Retract, Trade } from '../wire.ts';
import type { Connection } from './connection.ts';
import { TopicProgress } from './topic-progress.ts';

export interface SubscribeOptions<C extends Channel> {
  /** Mints to follow. Required for prices and candles. Without `mints` and `accounts` you follow all trades; an empty list is refused. */
  readonly mints?: readonly string[];
  /** Programs to follow. Required for `programs`. */
  readonly programs?: readonly string[];
  /** Wallets whose trades to follow. Only for trades. */
  readonly accounts?: readonly string[];
  /** Length of the candles, for example `1m`. Required for candles. */
  readonly interval?: CandleInterval;
  readonly filter?: C extends keyof Filters ? Filters[C] : never;
  /** `confirmed`: events come once their slot is confirmed, and none is retracted. */
  readonly commitment?: 'processed' | 'confirmed';
  /** Begin with the newest event of each topic. */
  readonly snapshot?: boolean;
  /** Begin with the newest events of each topic that the gateway retains, at most this many, before the filter. `isPast` marks them. */
  readonly last?: number;
  /** Resume after these positions, which `Subscription.positions` returned. */
  readonly since?: Readonly<Record<string, Position>>;
  /** Called instead of iteration. It may return a promise; the next event waits for it. */
  readonly onEvent?: (event: EventOf<C>, topic: string) => void | Promise<void>;
  /** Events are missing and cannot be replayed. Called in order with the events. */
  readonly onGap?: (gap: Gap) => void;
  /**
   * Mints and accounts that are not followed, for example because they are not addresses. Called again after each connection. Without it, the
   * client prints each of them once as a warning. If none is accepted, the subscription ends with a `SluiceError`.
   */
  readonly onRejected?: (rejected: readonly RejectedKey[]) => void;
  /**
   * The connection of this subscription is live or lost, or a gateway cannot be reached. Without it, the client prints a warning when a gateway
   * cannot be reached, once until it is reached.
   */
  readonly onStatus?: (status: Status) => void;
  /** Called each second while the connection works. Above a `slotAgeMs` of some seconds, prices may be old. */
  readonly onHeartbeat?: (heartbeat: Heartbeat) => void;
  /** Venues whose programs may have changed: events of them may be missing. Called within seconds of a change; empty: all are read again. */
  readonly onLayout?: (venues: readonly VenueName[]) => void;
  /**
   * Called once after a permanent failure if you use `onEvent` instead of iteration. The error is a `SluiceError`, or what `onEvent` or another
   * callback threw. Without `onError`, the error is an unhandled rejection.
   */
  readonly onError?: (error: Error) => void;
  /** Ends the subscription. */
  readonly signal?: AbortSignal;
  /**
   * Maximum number of events that wait for the consumer; 10,000 by default. At this number the client unsubscribes. It resumes when half are
   * consumed.
   */
  readonly maxWaiting?: number;
}

/** Name of a venue, as in the field `pool` of events. */
export type VenueName = Trade['pool'];

/** `ts`: the gateway's clock, Unix microseconds. `slotAgeMs`: time since ingest last saw a newer slot of the chain; null before its first report. */
export interface Heartbeat {
  readonly ts: number;
  readonly slotAgeMs: number | null;
}

/**
 * `live`: the gateway follows all accepted mints and accounts. `reconnecting`: the connection was lost, or could not be opened (`reason` then
 * begins with "cannot reach"). The client connects again in `inMs`.
 */
export type Status =
  | { readonly state: 'live'; readonly url: string }
  | { readonly state: 'reconnecting'; readonly reason: string; readonly inMs: number };

/** An event of a channel, or the retraction of one. */
export type EventOf<C extends Channel> = ChannelEvents[C] | Retract;

/** What a subscription to any channel requests. */
export interface Request {
  readonly channel: Channel;
  /** Of the channel `programs`, the programs. */
  readonly mints: readonly string[];
  readonly accounts: readonly string[];
  readonly interval: CandleInterval | undefined;
  readonly filter: unknown;
  readonly commitment: 'processed' | 'confirmed' | undefined;
  readonly snapshot: boolean;
  readonly last: number | undefined;
}

/** A subscription to any channel, as its connection sees it. */
export type AnySubscription = Omit<Subscription<Channel>, typeof Symbol.asyncIterator>;

/** `before`: the position of the topic before the gap; null if the topic was not followed. `seq` is null for an event of a snapshot. */
type Item =
  | { readonly event: unknown; readonly topic: string; readonly epoch: string; readonly seq: number | null }
  | { readonly gap: Gap; readonly before: Position | null };

const defaultMaxWaiting = 10_000;
/** The gateway accepts no larger `last`. */
const maxLast = 10_000;
/** Rejected keys that one warning names. */
const keysPerWarning = 5;
const optionNames: Readonly<Record<keyof SubscribeOptions<Channel>, true>> = {
  mints: true,
  programs: true,
  accounts: true,
  interval: true,
  filter: true,
  commitment: true,
  snapshot: true,
  last: true,
  since: true,
  onEvent: true,
  onGap: true,
  onRejected: true,
  onStatus: true,
  onHeartbeat: true,
  onLayout: true,
  onError: true,
  signal: true,
  maxWaiting: true,
};

/** One subscription: its positions, and the events that wait for its consumer. Iterate it, or give `onEvent`. */
export class Subscription<C extends Channel> implements AsyncIterable<EventOf<C>> {
  readonly request: Request;
  readonly #options: SubscribeOptions<C>;
  #connection: Pick<Connection, 'pause' | 'resume' | 'remove'> | null = null;
  readonly #progress = new Map<string, TopicProgress>();
  readonly #maxWaiting: number;
  /** Rejected keys that were printed. */
  readonly #warned = new Set<string>();
  #waiting: Item[] = [];
  #head = 0;
  /** As `onLayout` reported them, joined. */
  #changedVenues = '';
  #isPaused = false;
  #end: { readonly error: Error | null } | null = null;
  #wake: (() => void) | null = null;
  #isConsumed = false;
  #isPast = false;
  /** With `last`: the newest event of each topic when the subscription began. */
  readonly #newest = new Map<string, Position>();
  #lastPositions: Readonly<Record<string, Position>> | null = null;
  readonly #stop = (): void => this.close();

  constructor(channel: C, options: SubscribeOptions<C>) {
    checkOptions(options);
    const { programs = [], mints = programs, accounts = [], interval, filter, commitment, snapshot = false, last } = options;
    this.request = { channel, mints, accounts, interval, filter, commitment, snapshot, last };
    this.#options = options;
    this.#maxWaiting = options.maxWaiting ?? defaultMaxWaiting;
    for (const [topic, position] of Object.entries(options.since ?? {})) this.#progress.set(topic, new TopicProgress(position));
    if (options.signal?.aborted === true) this.close();
    else options.signal?.addEventListener('abort', this.#stop, { once: true });
    if (options.onEvent !== undefined) void this.#consume(options.onEvent);
  }

  /** Follows the channel on this connection. */
  begin(connection: Connection): void {
    this.#connection = connection;
    connection.add(this);
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

  /** The last position of each topic that arrived, whether or not it was consumed. */
  get received(): Readonly<Record<string, Position>> {
    return Object.fromEntries([...this.#progress].map(([topic, progress]) => [topic, progress.position]));
  }

  /** Events that wait for the consumer. */
  get waiting(): number {
    return this.#waiting.length - this.#head;
  }

  /** Whether the event that the consumer received last was published before the subscription began: with `last` or `snapshot`. */
  get isPast(): boolean {
    return this.#isPast;
  }

  get isEnded(): boolean {
    return this.#end !== null;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** The program is notified of the state of the connection. */
  get handlesStatus(): boolean {
    return this.#options.onStatus !== undefined;
  }

  /**
   * Ends the subscription and drops the events that wait for the consumer. `positions` stays before these events, so a later subscription receives
   * them again.
   */
  close(): void {
    this.#finish(null);
  }

  /** One consumer at a time. Leaving the loop ends the subscription. */
  async *[Symbol.asyncIterator](): AsyncGenerator<EventOf<C>, void, undefined> {
    if (this.#isConsumed) throw new SluiceError('The subscription already has a consumer.', { code: 'INVALID_REQUEST', retryable: false });
    this.#isConsumed = true;
    try {
      for await (const { event } of this.#items()) yield event as EventOf<C>;
    } finally {
      this.close();
    }
  }

  /** The reply to a subscribe command. */
  accept(
    positions: Readonly<Record<string, JoinPosition>>,
    snapshot: readonly { readonly topic: string; readonly data: unknown }[],
    rejected: readonly RejectedKey[],
  ): void {
    const { onRejected } = this.#options;
    // If no key is accepted, the connection fails the subscription with an error that names them.
    if (onRejected === undefined && Object.keys(positions).length > 0) this.#warnOf(rejected);
    if (onRejected !== undefined && rejected.length > 0) this.#report(() => onRejected(rejected));
    for (const [topic, position] of Object.entries(positions)) {
      const progress = this.#progress.get(topic);
      if (progress === undefined) this.#progress.set(topic, new TopicProgress(position));
      else progress.resume(position);
      if (position.newest !== undefined) this.#newest.set(topic, { epoch: position.epoch, seq: position.newest });
    }
    for (const { topic, data } of snapshot) this.#push({ event: data, topic, epoch: '', seq: null });
  }

  /** Returns false if frames are missing and no gap reported them. The client must then reconnect and resume. */
  onFrame(topic: string, seq: number, prev: number | undefined, event: unknown): boolean {
    const progress = this.#progress.get(topic);
    const verdict = progress?.frame(seq, prev) ?? 'repeat';
    if (verdict === 'deliver') this.#push({ event, topic, epoch: progress!.epoch, seq });
    return verdict !== 'hole';
  }

  onGap(gap: Gap): void {
    const progress = this.#progress.get(gap.topic);
    const before = progress?.position ?? null;
    progress?.gap(gap);
    // If the numbers continue in the new epoch, no event is missing.
    if (gap.to === null || gap.to >= gap.from) this.#push({ gap, before });
  }

  /** The newest position of a topic. False as for `onFrame`. */
  onPosition(topic: string, position: Position): boolean {
    const { filter, commitment } = this.request;
    const isFiltered = filter !== undefined || commitment !== undefined;
    return this.#progress.get(topic)?.heartbeat(position, isFiltered) ?? true;
  }

  /** `changedVenues`: what this connection has reported so far. */
  onHeartbeat(heartbeat: Heartbeat, changedVenues: readonly VenueName[]): void {
    this.#report(() => this.#options.onHeartbeat?.(heartbeat));
    const changed = changedVenues.join();
    if (changed === this.#changedVenues) return;
    this.#changedVenues = changed;
    this.#report(() => this.#options.onLayout?.(changedVenues));
  }

  onStatus(status: Status): void {
    this.#report(() => this.#options.onStatus?.(status));
  }

  /** Ends the subscription with this error. The client does not resume it. */
  fail(error: SluiceError): void {
    this.#finish(error);
  }

  /** Once for each key, and not again after each connection. */
  #warnOf(rejected: readonly RejectedKey[]): void {
    const unseen = rejected.filter(({ key }) => !this.#warned.has(key));
    if (unseen.length === 0) return;
    for (const { key } of unseen) this.#warned.add(key);
    const named = unseen.slice(0, keysPerWarning).map(({ key, code }) => `${key} (${code})`);
    const more = unseen.length > keysPerWarning ? ` and ${unseen.length - keysPerWarning} more` : '';
    // oxlint-disable-next-line no-console -- the client has no logger
    console.warn(`sluice: ${this.request.channel}: not followed: ${named.join(', ')}${more}. Give onRejected to handle this.`);
  }

  /** A fault of the callback ends this subscription, and not the others on its connection. */
  #report(callback: () => void): void {
    if (this.#end !== null) return;
    try {
      callback();
    } catch (error) {
      this.#finish(asError(error));
    }
  }

  #push(item: Item): void {
    if (this.#end !== null) return;
    this.#waiting.push(item);
    if (this.waiting >= this.#maxWaiting && !this.#isPaused) {
      this.#isPaused = true;
      this.#connection?.pause(this);
    }
    this.#wake?.();
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
      this.#connection?.resume(this);
    }
    return item;
  }

  /** The events for the consumer, until the subscription ends. Calls `onGap` in order with them. Throws the error that ended the subscription. */
  async *#items(): AsyncGenerator<{ readonly event: unknown; readonly topic: string }, void, undefined> {
    for (;;) {
      const item = this.#next();
      if (item === null) {
        if (this.#end === null) await new Promise<void>((wake) => (this.#wake = wake));
        else if (this.#end.error === null) return;
        else throw this.#end.error;
      } else if ('gap' in item) this.#options.onGap?.(item.gap);
      else {
        const newest = this.#newest.get(item.topic);
        this.#isPast = item.seq === null || (newest?.epoch === item.epoch && item.seq <= newest.seq);
        yield item;
      }
    }
  }

  #finish(error: Error | null): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#options.signal?.removeEventListener('abort', this.#stop);
    if (error === null) {
      this.#lastPositions = this.positions;
      this.#waiting = [];
      this.#head = 0;
    } else if (!this.#isConsumed) this.#options.onError?.(error);
    this.#connection?.remove(this);
    this.#wake?.();
  }

  async #consume(onEvent: NonNullable<SubscribeOptions<C>['onEvent']>): Promise<void> {
    this.#isConsumed = true;
    try {
      for await (const { event, topic } of this.#items()) await onEvent(event as EventOf<C>, topic);
    } catch (fault) {
      // After a fault in a callback nobody would consume the events.
      this.close();
      if (this.#options.onError === undefined) throw asError(fault);
      this.#options.onError(asError(fault));
    }
  }
}

/** Throws a `TypeError`. */
function checkOptions(options: Pick<SubscribeOptions<Channel>, 'mints' | 'accounts' | 'programs' | 'last' | 'since' | 'maxWaiting'>): void {
  checkNames('subscribe', options, optionNames);
  const { mints, accounts, programs, last = 1, since = {}, maxWaiting = defaultMaxWaiting } = options;
  for (const [name, keys] of Object.entries({ mints, accounts, programs })) if (keys !== undefined) checkStrings(name, keys);
  if ((mints !== undefined || accounts !== undefined) && !mints?.length && !accounts?.length) {
    throw new TypeError('mints and accounts are empty. Leave them out to follow everything.');
  }
  checkNumber('maxWaiting', maxWaiting, 1, Infinity);
  checkNumber('last', last, 1, maxLast);
  const positions: readonly (Partial<Position> | null)[] | null = typeof since === 'object' ? Object.values(since) : null;
  if (positions?.every((one) => typeof one?.epoch === 'string' && Number.isSafeInteger(one.seq)) !== true) {
    throw new TypeError('since must be the positions of a subscription: { [topic]: { epoch, seq } }.');
  }
}

function asError(fault: unknown): Error {
  return fault instanceof Error ? fault : new Error(String(fault), { cause: fault });
}
