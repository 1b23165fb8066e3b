import type { Logger } from '@sluice/shared/log/log.ts';
import { shownHost } from '@sluice/shared/solana/endpoint-host.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { ChainSlot, laggingSlots } from '@sluice/shared/solana/pubsub/chain-slot.ts';
import { RpcSocket, type ReportedSlot, type SocketHandlers } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { accountSubscription, slotSubscription, type Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import { nowUs } from '@sluice/shared/clock/now-us.ts';
import type { Source, SourceCounts, SourceHealth, SourceSink } from '../source.ts';
import {
  confirmedSubscription,
  programSubscriptions,
  readAccountNotification,
  readNotifiedSlot,
  readProgramNotification,
  type WatchedProgram,
} from './accounts.ts';
import type { FeedEndpoint, PubSubFeed } from './feed.ts';

/** Slots that a notification may be ahead of the chain, five minutes: an endpoint counts slots and sends logs in one stream. */
const maxAheadSlots = 1_500;
const compareEveryMs = 1_000;

export interface PubSubOptions {
  /** What is read of transactions. */
  readonly feed: PubSubFeed;
  readonly urls: readonly string[];
  /** Programs whose accounts are subscribed to. */
  readonly programs: readonly WatchedProgram[];
  /** Further accounts to subscribe to. */
  readonly accounts: readonly string[];
  readonly log: Logger;
}

/**
 * What a feed reads by PubSub, from all endpoints at once, with slots, confirmations and accounts. The first report of a transaction counts. Each
 * source has connections of its own, so long frames of one feed delay no other.
 */
export class PubSubSource implements Source {
  readonly name: string;
  readonly #options: PubSubOptions;
  readonly #counts: SourceCounts = { accounts: 0, failed: 0, placeholder: 0, malformed: 0, unasked: 0 };
  readonly #chain = new ChainSlot();
  #sockets: readonly RpcSocket[] = [];
  #sink!: SourceSink;
  #feedEndpoints: readonly FeedEndpoint[] = [];
  #holes = 0;
  #blindPeriods = 0;
  #blindSinceSlot: number | null = null;
  /** When the newest slot was reported; null before the first. */
  #slotAtMs: number | null = null;
  /** Notifications of newer slots are refused. */
  #maxSlot = newestPossibleSlot;

  constructor(options: PubSubOptions) {
    this.#options = options;
    this.name = options.feed.name;
  }

  start(sink: SourceSink, signal: AbortSignal): void {
    const { urls, log } = this.#options;
    this.#sink = sink;
    this.#feedEndpoints = urls.map((_url, index) => this.#feedEndpoint(index));
    const subscriptions = subscriptionsOf(this.#options);
    this.#sockets = urls.map(
      (url, index) => new RpcSocket({ url, index, subscriptions, handlers: this.#handlersOf(index), nowUs, log, signal }),
    );
    for (const socket of this.#sockets) socket.start();
    const timer = setInterval(() => this.#compare(), compareEveryMs);
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  health(): SourceHealth {
    const { slot } = this.#chain;
    return {
      slot,
      slotAgeMs: this.#slotAtMs === null ? null : Math.round(performance.now() - this.#slotAtMs),
      endpointsUp: this.endpointsUp,
      holes: this.#holes,
      blindPeriods: this.#blindPeriods,
      endpoints: this.#sockets.map((socket) => ({
        source: this.name,
        index: socket.index,
        host: shownHost(this.#options.urls[socket.index]!),
        state: socket.state,
        slot: socket.slot,
        slotsBehind: slot - socket.slot,
        ...socket.counts,
      })),
      counts: { ...this.#counts },
    };
  }

  get slot(): number {
    return this.#chain.slot;
  }

  get endpointsUp(): number {
    let up = 0;
    for (const { state } of this.#sockets) if (state !== 'down') up++;
    return up;
  }

  #handlersOf(endpoint: number): SocketHandlers {
    const { feed } = this.#options;
    return {
      takeFrame: (frame: Buffer, receivedUs: number): boolean =>
        feed.takeFrame?.(frame, receivedUs, this.#feedEndpoints[endpoint]!) ?? false,
      onNotification: (method: string, params: unknown, receivedUs: number, subscription: Subscription | null): void =>
        this.#takeNotification(endpoint, method, params, receivedUs, subscription),
      onSlot: ({ slot, parent }: ReportedSlot): void => {
        this.#judgeSlots();
        if (slot <= this.#maxSlot) this.#sink.slot(slot, parent);
      },
    };
  }

  /** Compares the endpoints with each other. */
  #compare(): void {
    this.#judgeSlots();
    const { slot } = this.#chain;
    for (const socket of this.#sockets) {
      if (socket.state === 'down') continue;
      const behind = slot - socket.slot;
      if (socket.slot > 0) socket.setState(behind > laggingSlots ? 'lagging' : 'up', `${behind} slots behind`);
    }
    const { log } = this.#options;
    const isBlind = this.endpointsUp === 0;
    if (isBlind && slot > 0 && this.#blindSinceSlot === null) {
      this.#blindSinceSlot = slot;
      this.#blindPeriods++;
      log.error({ source: this.name, slot }, 'no_endpoint_up');
    } else if (this.#blindSinceSlot !== null && !isBlind && slot > this.#blindSinceSlot) {
      this.#missed(this.#blindSinceSlot, slot);
      this.#blindSinceSlot = null;
    }
  }

  #missed(fromSlot: number, toSlot: number): void {
    this.#holes += toSlot - fromSlot;
    this.#options.log.warn({ source: this.name, fromSlot, toSlot }, 'slots_not_seen');
    this.#sink.resumed();
  }

  #feedEndpoint(index: number): FeedEndpoint {
    return {
      sink: this.#sink,
      counts: this.#counts,
      isPossible: (slot) => slot <= this.#maxSlot,
      checkAsked: (subscription) => this.#sockets[index]!.checkAsked(subscription),
      malformed: () => this.#malformed(index),
      missed: (slot) => this.#missed(slot - 1, slot),
    };
  }

  #judgeSlots(): void {
    const reported: number[] = [];
    for (const { state, slot } of this.#sockets) if (state !== 'down' && slot > 0) reported.push(slot);
    const before = this.#chain.slot;
    const nowMs = performance.now();
    this.#chain.judge(reported, nowMs);
    const { slot } = this.#chain;
    if (slot !== before) this.#slotAtMs = nowMs;
    this.#maxSlot = slot > 0 ? slot + maxAheadSlots : newestPossibleSlot;
  }

  #takeNotification(endpoint: number, method: string, params: unknown, receivedUs: number, subscription: Subscription | null): void {
    if (method === this.#options.feed.method) this.#options.feed.takeNotification(params, receivedUs, this.#feedEndpoints[endpoint]!);
    else if (method === 'programNotification') this.#takeAccount(endpoint, readProgramNotification(params, receivedUs));
    else if (method === 'accountNotification' && subscription?.name === confirmedSubscription.name) this.#takeConfirmed(endpoint, params);
    else if (method === 'accountNotification' && subscription?.method === 'accountSubscribe') {
      this.#takeAccount(endpoint, readAccountNotification(String(subscription.params[0]), params, receivedUs));
    } else this.#counts.unasked++;
  }

  #takeAccount(endpoint: number, state: ReturnType<typeof readProgramNotification>): void {
    if (state === 'malformed' || state.slot > this.#maxSlot) {
      this.#malformed(endpoint);
      return;
    }
    this.#counts.accounts++;
    this.#sink.account(state);
  }

  #takeConfirmed(endpoint: number, params: unknown): void {
    const slot = readNotifiedSlot(params);
    const reached = this.#chain.slot;
    if (slot === null || slot > this.#maxSlot) this.#malformed(endpoint);
    // The endpoint may be right and the others may lag, so it is not blamed.
    else if (reached > 0 && slot > reached + laggingSlots) this.#counts.malformed++;
    // A lagging endpoint would hold the others back.
    else if (this.#sockets[endpoint]!.state !== 'lagging') this.#sink.confirmedSlot(endpoint, slot);
  }

  #malformed(endpoint: number): void {
    this.#counts.malformed++;
    this.#sockets[endpoint]!.fault('content');
  }
}

function subscriptionsOf({ feed, programs, accounts }: PubSubOptions): Subscription[] {
  return [
    ...feed.subscriptions,
    ...programs.flatMap((program) => programSubscriptions(program)),
    ...accounts.map((address) => accountSubscription(address)),
    slotSubscription(false),
    confirmedSubscription,
  ];
}
