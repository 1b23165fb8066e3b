import type { Worker } from 'node:worker_threads';
import type { Config } from '@sluice/shared/config/config.ts';
import type { LevelWithSilent, Logger } from '@sluice/shared/log/log.ts';
import { beginThread, KeptThread } from '@sluice/shared/thread/kept-thread.ts';
import { endStates, type StoredOrder } from '../order.ts';
import { maxFollowed, noFollowerCounts } from './follower.ts';
import { noReads } from './landed-reader.ts';
import type { FollowReport, OrderFollower } from './order-follower.ts';

/** How often the thread is told how far the chain is. */
const tellChainEveryMs = 200;
/** A thread that does not end by itself is ended after so long: it lets go of its orders, and of its connections. */
const endWithinMs = 10_000;

/** What a thread is begun with. */
export interface FollowerSettings {
  readonly store: Pick<Config, 'dataDir' | 'databaseUrl'>;
  readonly httpUrls: readonly string[];
  readonly broadcast: Config['broadcast'];
  readonly gatewayId: string;
  /** Of the chain whose orders are followed. */
  readonly genesisHash: string;
  readonly level: LevelWithSilent;
}

export type ToThread =
  /** Its first round is begun. */
  | { readonly op: 'follow'; readonly order: StoredOrder }
  | { readonly op: 'seen'; readonly signature: string; readonly slot: number }
  | { readonly op: 'chain'; readonly newestSlot: number; readonly blockHeight: number | null }
  | { readonly op: 'close' };

export type FromThread =
  | { readonly op: 'started' }
  /** Taken up from the store. */
  | { readonly op: 'taken'; readonly id: string; readonly signature: string | null }
  /** Not in the store any more. */
  | { readonly op: 'gone'; readonly id: string }
  /** Stored, in this order. */
  | { readonly op: 'changed'; readonly orders: readonly StoredOrder[] }
  | { readonly op: 'report'; readonly report: FollowReport };

export interface ThreadedFollowerOptions extends Omit<FollowerSettings, 'level' | 'genesisHash'> {
  /** After every change that was stored; without the signed bytes. Must not throw. */
  readonly onChange: (order: StoredOrder) => void;
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
  /** What is followed, as far as the thread has told: signatures by order. */
  readonly #open = new Map<string, string | null>();
  readonly #signatures = new Set<string>();
  #thread: KeptThread | null = null;
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
    const { store, httpUrls, broadcast, gatewayId, log, begin = beginFollower } = this.#options;
    const settings: FollowerSettings = { store, httpUrls, broadcast, gatewayId, genesisHash, level: log.level as LevelWithSilent };
    const started = new Promise<void>((resolve) => (this.#onStarted = resolve));
    this.#thread = new KeptThread({
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

  follow(order: StoredOrder): boolean {
    if (this.#open.has(order.id) || endStates.has(order.state)) return true;
    if (!this.hasRoom) return false;
    this.#note(order.id, order.signature);
    this.#post({ op: 'follow', order });
    return true;
  }

  seen(signature: string, slot: number): void {
    if (this.#signatures.has(signature)) this.#post({ op: 'seen', signature, slot });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    const order: ToThread = { op: 'close' };
    await this.#thread?.close(order, endWithinMs);
    this.#onStarted();
  }

  /** The next thread tells anew what it takes up. */
  #onEnd(): void {
    this.#open.clear();
    this.#signatures.clear();
  }

  #post(message: ToThread): void {
    this.#thread?.post(message);
  }

  #tellChain(): void {
    const { newestSlot, blockHeight } = this.#options;
    this.#post({ op: 'chain', newestSlot: newestSlot(), blockHeight: blockHeight() });
  }

  #note(id: string, signature: string | null): void {
    this.#open.set(id, signature);
    if (signature !== null) this.#signatures.add(signature);
  }

  #forget(id: string): void {
    const signature = this.#open.get(id) ?? null;
    this.#open.delete(id);
    // Another order may have the same one; what our stream tells of it the nodes' statuses tell as well.
    if (signature !== null) this.#signatures.delete(signature);
  }

  #take(message: FromThread): void {
    switch (message.op) {
      case 'started':
        return this.#onStarted();
      case 'taken':
        return this.#note(message.id, message.signature);
      case 'gone':
        return this.#forget(message.id);
      case 'report':
        this.#report = message.report;
        return;
      case 'changed':
        for (const order of message.orders) {
          if (endStates.has(order.state)) this.#forget(order.id);
          this.#options.onChange(order);
        }
    }
  }
}

export function beginFollower(settings: FollowerSettings): Worker {
  return beginThread(new URL('./follower-thread.ts', import.meta.url), 'orders', settings);
}
