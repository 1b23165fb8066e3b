import { TransientMap } from '@sluice/shared/runtime/collections/transient-map.ts';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { LevelWithSilent, Logger } from '@sluice/shared/runtime/log/log.ts';
import { beginThread, RestartingThread } from '@sluice/shared/runtime/thread/restarting-thread.ts';
import { programUrl } from '@sluice/shared/runtime/thread/programs.ts';
import { endStates, publishedFields, type OpenOrder, type PublishedOrder } from '@sluice/gateway/store/order-model/order.ts';
import { maxFollowed, noFollowerCounts, type FollowerCounters, type OpenByState } from '../followed-orders.ts';
import type { LaneCounters } from '../../send/lane.ts';
import type { StorePlace } from '@sluice/gateway/store/store.ts';
import { noReads, type LandedReader } from '../evidence/landed-reader.ts';
import { wallOffsetMs } from './relayed-clock.ts';

/** How often the thread receives the newest slot, the block height and the time. */
const knownEveryMs = 200;
/** Orders and signatures for the thread are sent in batches, because waking the thread takes CPU time from this one. */
const batchWithinMs = 50;
/** A thread that has not ended by then is terminated. Until then it may release its orders and close its connections. */
const endWithinMs = 10_000;

/** The state of a follower, at most some seconds old. */
export interface FollowReport {
  readonly counters: Readonly<FollowerCounters>;
  readonly openByState: OpenByState;
  readonly reads: LandedReader['counters'];
  readonly lanes: readonly { readonly name: string; readonly counters: Readonly<LaneCounters> }[];
}

/** The settings of a thread. */
export interface FollowerSettings {
  readonly store: StorePlace;
  readonly httpUrls: readonly string[];
  readonly broadcast: Config['broadcast'];
  readonly gatewayId: string;
  /** Claims the orders of other gateways at once, even if the claims of those gateways have not expired. */
  readonly takesOverAtOnce: boolean;
  /** See `OrderClaimsOptions`. Null for a thread that replaces another one: it loads what that one followed. */
  readonly placesSinceMs: number | null;
  /** Genesis hash of the chain whose orders are followed. */
  readonly genesisHash: string;
  /** The gateway's time until it is sent again, see `relayedClock`. */
  readonly wallOffsetMs: number;
  readonly level: LevelWithSilent;
}

/** What the gateway knows of the chain and the time. */
export interface KnownToThread {
  readonly newestSlot: number;
  readonly blockHeight: number | null;
  readonly wallOffsetMs: number;
}

export type ToThread =
  /** The first rounds of these orders were sent. */
  | { readonly op: 'follow'; readonly orders: readonly OpenOrder[] }
  | { readonly op: 'seen'; readonly signatures: ReadonlySet<string> }
  | { readonly op: 'known'; readonly known: KnownToThread }
  | { readonly op: 'close' };

/** The fields of an order that can change, and the slot in which the nodes agree that it landed. */
export type OrderChanges = Pick<PublishedOrder, 'id' | 'state' | 'fill' | 'error' | 'updatedAtMs' | 'version'> & {
  /** Null: they are not known, or cannot change. */
  readonly terms: PublishedOrder['terms'];
  readonly landedSlot: number | null;
};

export type FromThread =
  | { readonly op: 'started' }
  /** The thread loaded this order from the store. */
  | { readonly op: 'loaded'; readonly order: PublishedOrder }
  /** The thread does not follow this order any more, and has not changed it. */
  | { readonly op: 'dropped'; readonly id: string }
  /** Stored changes, in the order in which they were stored. */
  | { readonly op: 'changed'; readonly changes: readonly OrderChanges[] }
  | { readonly op: 'report'; readonly report: FollowReport };

export interface ThreadedFollowerOptions {
  readonly settings: Omit<FollowerSettings, 'level' | 'genesisHash' | 'placesSinceMs' | 'wallOffsetMs'>;
  /** Called after each stored change. `landedSlot`: the slot in which the nodes agree that it landed. Must not throw. */
  readonly onChange: (order: PublishedOrder, landedSlot: number | null) => void;
  /** The newest slot that the gateway knows. */
  readonly newestSlot: () => number;
  readonly blockHeight: () => number | null;
  /** The thread uses its time. */
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Logger;
  /** Starts the thread; tests replace it. */
  readonly begin?: (settings: FollowerSettings) => Worker;
}

/** A `Follower` in a thread, so that a slot that ends many orders delays no request. A new thread loads the orders from the store. */
export class ThreadedFollower {
  readonly #options: ThreadedFollowerOptions;
  #placesSinceMs: number | null;
  /** The followed orders by id, as far as the thread has reported. */
  readonly #open = new TransientMap<string, PublishedOrder>();
  readonly #signatures = new Set<string>();
  /** The content of the next messages to the thread. It has each order at most once. */
  #unsentOrders: OpenOrder[] = [];
  #unsentSignatures = new Set<string>();
  #flushTimer: NodeJS.Timeout | null = null;
  #thread: RestartingThread | null = null;
  #report: FollowReport = { counters: noFollowerCounts, openByState: new Map(), reads: noReads, lanes: [] };
  #isClosed = false;
  #onStarted: () => void = () => undefined;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: ThreadedFollowerOptions) {
    this.#options = options;
    this.#placesSinceMs = options.clock.wallMs();
  }

  /** Orders that are followed now. */
  get size(): number {
    return this.#open.size;
  }

  get hasRoom(): boolean {
    return this.#open.size < maxFollowed;
  }

  get report(): FollowReport {
    return this.#report;
  }

  /** Takes up the open orders of the chain with this genesis hash. Retries while the store cannot be read. Resolves when that is done, or at `close`. */
  async start(genesisHash: string): Promise<void> {
    if (this.#isClosed) return;
    const { settings, clock, log, begin = beginFollower } = this.#options;
    const chosen = { ...settings, genesisHash, level: log.level as LevelWithSilent };
    const started = new Promise<void>((resolve) => (this.#onStarted = resolve));
    this.#thread = new RestartingThread({
      name: 'orders',
      begin: () => begin({ ...chosen, placesSinceMs: this.#placesSinceMs, wallOffsetMs: wallOffsetMs(clock) }),
      onMessage: (message) => this.#receive(message as FromThread),
      onEnd: () => this.#onEnd(),
      log,
    });
    this.#timer = setInterval(() => this.#postKnown(), knownEveryMs);
    this.#flush();
    this.#postKnown();
    await started;
  }

  /** Follows a stored order whose first round was sent. Returns false if too many orders are followed; it is then loaded from the store later. */
  follow(order: OpenOrder): boolean {
    if (this.#open.has(order.id) || endStates.has(order.state)) return true;
    if (!this.hasRoom) return false;
    const fields = publishedFields(order);
    this.#add(fields);
    this.#unsentOrders.push({ signedBytes: order.signedBytes, ...fields });
    this.#flushSoon();
    return true;
  }

  /** Our own stream shows the transaction in a block, so the nodes are asked at once. Cheap: one lookup in a set. */
  seen(signature: string): void {
    if (!this.#signatures.has(signature)) return;
    this.#unsentSignatures.add(signature);
    this.#flushSoon();
  }

  /** Stops following. Other gateways may take over the orders at once. Does not reject if the store fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#flush();
    const message: ToThread = { op: 'close' };
    await this.#thread?.close(message, endWithinMs);
    this.#onStarted();
  }

  /** The next thread reports the orders that it loads from the store. They include those that were not sent to this thread yet. */
  #onEnd(): void {
    this.#placesSinceMs = null;
    this.#open.clear();
    this.#signatures.clear();
    this.#unsentOrders = [];
    this.#unsentSignatures.clear();
  }

  #flushSoon(): void {
    this.#flushTimer ??= setTimeout(() => this.#flush(), batchWithinMs);
  }

  #flush(): void {
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    this.#flushTimer = null;
    // The first thread does not load these orders from the store.
    if (this.#thread === null) return;
    if (this.#unsentOrders.length > 0) this.#post({ op: 'follow', orders: this.#unsentOrders });
    if (this.#unsentSignatures.size > 0) this.#post({ op: 'seen', signatures: this.#unsentSignatures });
    this.#unsentOrders = [];
    this.#unsentSignatures.clear();
  }

  #post(message: ToThread): void {
    this.#thread?.post(message);
  }

  #postKnown(): void {
    const { newestSlot, blockHeight, clock } = this.#options;
    this.#post({ op: 'known', known: { newestSlot: newestSlot(), blockHeight: blockHeight(), wallOffsetMs: wallOffsetMs(clock) } });
  }

  #add(order: PublishedOrder): void {
    this.#open.set(order.id, order);
    if (order.signature !== null) this.#signatures.add(order.signature);
  }

  #remove(id: string): void {
    const signature = this.#open.take(id)?.signature ?? null;
    // If another order has the same signature, `seen` no longer reports that order. Its follower still asks the nodes for its status.
    if (signature !== null) this.#signatures.delete(signature);
  }

  #receive(message: FromThread): void {
    switch (message.op) {
      case 'started':
        return this.#onStarted();
      case 'loaded':
        return this.#add(message.order);
      case 'dropped':
        return this.#remove(message.id);
      case 'report':
        this.#report = message.report;
        return;
      case 'changed':
        for (const changes of message.changes) this.#change(changes);
    }
  }

  #change({ landedSlot, terms, ...changes }: OrderChanges): void {
    const order = this.#open.get(changes.id);
    if (order === undefined) return;
    const changed = { ...order, ...changes, terms: terms ?? order.terms };
    if (endStates.has(changed.state)) this.#remove(changed.id);
    else this.#open.set(changed.id, changed);
    this.#options.onChange(changed, landedSlot);
  }
}

export function beginFollower(settings: FollowerSettings): Worker {
  return beginThread(programUrl('follower-thread'), 'orders', settings);
}
