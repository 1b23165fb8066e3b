import { PassingMap } from '@sluice/shared/collections/passing-map.ts';
import type { Worker } from 'node:worker_threads';
import type { Config } from '@sluice/shared/config/config.ts';
import type { LevelWithSilent, Logger } from '@sluice/shared/log/log.ts';
import { beginThread, RestartingThread } from '@sluice/shared/thread/restarting-thread.ts';
import { programUrl } from '@sluice/shared/thread/programs.ts';
import { endStates, toldOf, type OpenOrder, type ToldOrder } from '../model/order.ts';
import { maxFollowed } from './followed-orders.ts';
import { noFollowerCounts } from './follower-counters.ts';
import { noReads } from '../evidence/landed-reader.ts';
import type { FollowReport, OrderFollower } from './order-follower.ts';

/** How often the thread is told how far the chain is. */
const tellChainEveryMs = 200;
/** What is to be followed, and was seen, is told together: a thread that is woken takes a turn of the core from this one. */
const tellWithinMs = 50;
/** A thread that does not end by itself is ended after so long: it lets go of its orders, and of its connections. */
const endWithinMs = 10_000;

/** What a thread is begun with. */
export interface FollowerSettings {
  readonly store: Pick<Config, 'dataDir' | 'databaseUrl'>;
  readonly httpUrls: readonly string[];
  readonly broadcast: Config['broadcast'];
  readonly gatewayId: string;
  /** Orders of other gateways are taken up at once, even if those still hold them. */
  readonly succeeds: boolean;
  /** Of the chain whose orders are followed. */
  readonly genesisHash: string;
  readonly level: LevelWithSilent;
}

export type ToThread =
  /** Their first rounds are begun. */
  | { readonly op: 'follow'; readonly orders: readonly OpenOrder[] }
  | { readonly op: 'seen'; readonly signatures: ReadonlySet<string> }
  | { readonly op: 'chain'; readonly newestSlot: number; readonly blockHeight: number | null }
  | { readonly op: 'close' };

/** All of an order that changes, and the slot that it is known to have landed in. */
export type OrderChanges = Pick<ToldOrder, 'id' | 'state' | 'fill' | 'error' | 'updatedAtMs' | 'version'> & {
  readonly landedSlot: number | null;
};

export type FromThread =
  | { readonly op: 'started' }
  /** Taken up from the store. */
  | { readonly op: 'taken'; readonly order: ToldOrder }
  /** Followed no more, by no change of this thread's. */
  | { readonly op: 'gone'; readonly id: string }
  /** Stored, in this order. */
  | { readonly op: 'changed'; readonly changes: readonly OrderChanges[] }
  | { readonly op: 'report'; readonly report: FollowReport };

export interface ThreadedFollowerOptions extends Omit<FollowerSettings, 'level' | 'genesisHash'> {
  /** After every change that was stored, with the slot that it is known to have landed in. Must not throw. */
  readonly onChange: (order: ToldOrder, landedSlot: number | null) => void;
  /** How far the chain is, as the gateway knows it. */
  readonly newestSlot: () => number;
  readonly blockHeight: () => number | null;
  readonly log: Logger;
  readonly begin?: (settings: FollowerSettings) => Worker;
}

/**
 * A `Follower` in a thread of its own: a slot ends a hundred orders at once, and what that costs delays no request. Where the thread
 * ends it is begun again, and takes its orders up from the store.
 */
export class ThreadedFollower implements OrderFollower {
  readonly #options: ThreadedFollowerOptions;
  /** What is followed, as far as the thread has told, by id. */
  readonly #open = new PassingMap<string, ToldOrder>();
  readonly #signatures = new Set<string>();
  /** What the thread is to be told next: of each order that is followed once at most. */
  #toFollow: OpenOrder[] = [];
  #toSee = new Set<string>();
  #telling: NodeJS.Timeout | null = null;
  #thread: RestartingThread | null = null;
  #report: FollowReport = { counters: noFollowerCounts, openByState: new Map(), reads: noReads, lanes: [] };
  #isClosed = false;
  #onStarted: () => void = () => undefined;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: ThreadedFollowerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  get hasRoom(): boolean {
    return this.#open.size < maxFollowed;
  }

  get report(): FollowReport {
    return this.#report;
  }

  async start(genesisHash: string): Promise<void> {
    if (this.#isClosed) return;
    const { store, httpUrls, broadcast, gatewayId, succeeds, log, begin = beginFollower } = this.#options;
    const settings: FollowerSettings = {
      store,
      httpUrls,
      broadcast,
      gatewayId,
      succeeds,
      genesisHash,
      level: log.level as LevelWithSilent,
    };
    const started = new Promise<void>((resolve) => (this.#onStarted = resolve));
    this.#thread = new RestartingThread({
      name: 'orders',
      begin: () => begin(settings),
      onMessage: (message) => this.#take(message as FromThread),
      onEnd: () => this.#onEnd(),
      log,
    });
    this.#timer = setInterval(() => this.#tellChain(), tellChainEveryMs);
    this.#tellChain();
    await started;
  }

  follow(order: OpenOrder): boolean {
    if (this.#open.has(order.id) || endStates.has(order.state)) return true;
    if (!this.hasRoom) return false;
    const told = toldOf(order);
    this.#note(told);
    this.#toFollow.push({ signedBytes: order.signedBytes, ...told });
    this.#tellSoon();
    return true;
  }

  seen(signature: string): void {
    if (!this.#signatures.has(signature)) return;
    this.#toSee.add(signature);
    this.#tellSoon();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#tell();
    const order: ToThread = { op: 'close' };
    await this.#thread?.close(order, endWithinMs);
    this.#onStarted();
  }

  /** The next thread tells anew what it takes up, which is all that was not told as well: it is in the store. */
  #onEnd(): void {
    this.#open.clear();
    this.#signatures.clear();
    this.#toFollow = [];
    this.#toSee.clear();
  }

  #tellSoon(): void {
    this.#telling ??= setTimeout(() => this.#tell(), tellWithinMs);
  }

  #tell(): void {
    if (this.#telling !== null) clearTimeout(this.#telling);
    this.#telling = null;
    if (this.#toFollow.length > 0) this.#post({ op: 'follow', orders: this.#toFollow });
    if (this.#toSee.size > 0) this.#post({ op: 'seen', signatures: this.#toSee });
    this.#toFollow = [];
    this.#toSee.clear();
  }

  #post(message: ToThread): void {
    this.#thread?.post(message);
  }

  #tellChain(): void {
    const { newestSlot, blockHeight } = this.#options;
    this.#post({ op: 'chain', newestSlot: newestSlot(), blockHeight: blockHeight() });
  }

  #note(order: ToldOrder): void {
    this.#open.set(order.id, order);
    if (order.signature !== null) this.#signatures.add(order.signature);
  }

  #forget(id: string): void {
    const signature = this.#open.take(id)?.signature ?? null;
    // Another order may have the same one; what our stream tells of it the nodes' statuses tell as well.
    if (signature !== null) this.#signatures.delete(signature);
  }

  #take(message: FromThread): void {
    switch (message.op) {
      case 'started':
        return this.#onStarted();
      case 'taken':
        return this.#note(message.order);
      case 'gone':
        return this.#forget(message.id);
      case 'report':
        this.#report = message.report;
        return;
      case 'changed':
        for (const changes of message.changes) this.#change(changes);
    }
  }

  #change({ landedSlot, ...changes }: OrderChanges): void {
    const order = this.#open.get(changes.id);
    if (order === undefined) return;
    const changed = { ...order, ...changes };
    if (endStates.has(changed.state)) this.#forget(changed.id);
    else this.#open.set(changed.id, changed);
    this.#options.onChange(changed, landedSlot);
  }
}

export function beginFollower(settings: FollowerSettings): Worker {
  return beginThread(programUrl('follower-thread'), 'orders', settings);
}
