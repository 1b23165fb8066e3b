import type { Logger } from '@sluice/shared/log/log.ts';
import { shownHost } from '@sluice/shared/solana/endpoint-host.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { ChainSlot, laggingSlots } from '@sluice/shared/solana/pubsub/chain-slot.ts';
import { subscriptionAtTail } from '@sluice/shared/solana/pubsub/frame-shape.ts';
import { RpcSocket, type ReportedSlot, type SocketHandlers } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { accountSubscription, slotSubscription, type Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import { nowUs } from '@sluice/shared/clock/now-us.ts';
import type { LogsSighting } from '../sighting.ts';
import type { Source, SourceCounts, SourceHealth, SourceSink } from '../source.ts';
import {
  confirmedSubscription,
  programSubscriptions,
  readAccountNotification,
  readNotifiedSlot,
  readProgramNotification,
  type WatchedProgram,
} from './accounts.ts';
import { digestLines, logsSubscription, readLogsHead, readLogsLines, readLogsNotification } from './logs.ts';

/** Slots that a notification may be ahead of the chain, five minutes: an endpoint counts slots and sends logs in one stream. */
const maxAheadSlots = 1_500;
const compareEveryMs = 1_000;

export interface PubSubOptions {
  readonly urls: readonly string[];
  /** Programs whose logs and accounts are subscribed to. */
  readonly programs: readonly WatchedProgram[];
  /** Further accounts to subscribe to. */
  readonly accounts: readonly string[];
  /** Beginnings of the `Program log: ` lines that a venue reads, with that part. Other text is left out of sightings. */
  readonly logTextPrefixes: readonly string[];
  readonly log: Logger;
}

/**
 * Logs of transactions by PubSub, from all endpoints at once. The first report of a transaction counts; repeats of other endpoints are
 * dropped before they are parsed.
 */
export class PubSubSource implements Source {
  readonly name = 'logs';
  readonly #options: PubSubOptions;
  readonly #counts: SourceCounts = { accounts: 0, failed: 0, placeholder: 0, malformed: 0, unasked: 0 };
  readonly #chain = new ChainSlot();
  #sockets: readonly RpcSocket[] = [];
  #sink!: SourceSink;
  #blindPeriods = 0;
  #blindSinceSlot: number | null = null;
  /** When the newest slot was reported; null before the first. */
  #slotAtMs: number | null = null;
  /** Notifications of newer slots are refused. */
  #maxSlot = newestPossibleSlot;

  constructor(options: PubSubOptions) {
    this.#options = options;
  }

  start(sink: SourceSink, signal: AbortSignal): void {
    const { urls, log } = this.#options;
    this.#sink = sink;
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
      holes: 0,
      blindPeriods: this.#blindPeriods,
      endpoints: this.#sockets.map((socket) => ({
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
    return {
      takeFrame: (frame: Buffer, receivedUs: number): boolean => this.#takeFrame(endpoint, frame, receivedUs),
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
      log.error({ slot }, 'no_endpoint_up');
    } else if (this.#blindSinceSlot !== null && !isBlind && slot > this.#blindSinceSlot) {
      log.warn({ fromSlot: this.#blindSinceSlot, toSlot: slot }, 'slots_not_seen');
      this.#blindSinceSlot = null;
      this.#sink.resumed();
    }
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

  /** Reads a logs notification in the form that nodes write; nearly all traffic is of this kind. False for any other frame. */
  #takeFrame(endpoint: number, frame: Buffer, receivedUs: number): boolean {
    const head = readLogsHead(frame);
    if (head === null) return false;
    this.#sockets[endpoint]!.checkAsked(subscriptionAtTail(frame));
    if (head.failed) {
      this.#counts.failed++;
      this.#sink.failed(head.signature, head.slot);
      return true;
    }
    const { signature, slot } = head;
    if (slot > this.#maxSlot) {
      this.#malformed(endpoint);
      return true;
    }
    if (this.#sink.isRepeat(this.name, signature, slot, digestLines(frame, head))) return true;
    const logs = readLogsLines(frame, head, this.#options.logTextPrefixes);
    if (logs === null) return false;
    this.#sink.sighting(this.#sightingOf(signature, slot, logs, receivedUs));
    return true;
  }

  #takeNotification(endpoint: number, method: string, params: unknown, receivedUs: number, subscription: Subscription | null): void {
    if (method === 'logsNotification') this.#takeLogs(endpoint, params, receivedUs);
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

  #takeLogs(endpoint: number, params: unknown, receivedUs: number): void {
    const outcome = readLogsNotification(params);
    if (outcome === 'malformed' || (typeof outcome !== 'string' && outcome.slot > this.#maxSlot)) this.#malformed(endpoint);
    else if (typeof outcome === 'string') this.#counts[outcome]++;
    else if (!this.#sink.isRepeat(this.name, outcome.signature, outcome.slot, null)) {
      this.#sink.sighting(this.#sightingOf(outcome.signature, outcome.slot, outcome.logs, receivedUs));
    }
  }

  #sightingOf(signature: string, slot: number, logs: readonly string[], receivedUs: number): LogsSighting {
    return { kind: 'logs', source: this.name, signature, slot, commitment: 'processed', receivedUs, logs };
  }
}

function subscriptionsOf({ programs, accounts }: PubSubOptions): Subscription[] {
  return [
    ...programs.map(({ programId }) => logsSubscription(programId)),
    ...programs.flatMap((program) => programSubscriptions(program)),
    ...accounts.map((address) => accountSubscription(address)),
    slotSubscription(false),
    confirmedSubscription,
  ];
}
