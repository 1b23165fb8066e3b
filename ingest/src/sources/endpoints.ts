import type { Logger } from '@sluice/shared/log/log.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { ChainSlot, laggingSlots } from '@sluice/shared/solana/pubsub/chain-slot.ts';
import { subscriptionAtTail } from '@sluice/shared/solana/pubsub/frame-shape.ts';
import { RpcSocket, type SlotTold, type SocketHandlers } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import type { Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import { nowUs } from '../clock.ts';
import type { Continuity } from '../continuity/continuity.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { SolUsdFeed } from '../pipeline/sol-usd.ts';
import { confirmedSubscription, readAccountNotification, readNotifiedSlot, readProgramNotification } from './accounts.ts';
import { readLogsHead, readLogsLines, readLogsNotification } from './logs.ts';
import type { TransactionLogs } from './source.ts';

/** Slots that a notification may be ahead of the slot that the endpoints told, ten minutes: they count slots and tell logs in one stream. */
const maxAheadSlots = 1_500;

export interface NotificationCounts {
  /** Successful transactions seen for the first time. */
  logs: number;
  /** Told before by another endpoint or subscription. */
  repeats: number;
  /** Told before, but not whole or without any event: read once more. */
  retold: number;
  /** Told before for another slot: it landed on two forks, or an endpoint is wrong. */
  moved: number;
  /** Of a slot that is known to have died. */
  died: number;
  accounts: number;
  /** Transactions that failed; of no interest. */
  failed: number;
  /** Announced under the placeholder signature. */
  placeholder: number;
  /** Of another form, or of a slot that the chain cannot have reached. */
  malformed: number;
  /** Under an id that the endpoint never gave, or of a kind that was not asked for. */
  unasked: number;
}

export interface EndpointsOptions {
  readonly urls: readonly string[];
  readonly subscriptions: readonly Subscription[];
  readonly pipeline: Pipeline;
  readonly solUsd: SolUsdFeed;
  readonly continuity: Pick<Continuity, 'slot' | 'confirmed' | 'isDead' | 'again' | 'sighted'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * All endpoints at once: what one tells first counts, and what the others repeat is dropped before it is parsed, as long as
 * the first told it whole.
 */
export class Endpoints {
  readonly counts: NotificationCounts = {
    logs: 0,
    repeats: 0,
    retold: 0,
    moved: 0,
    died: 0,
    accounts: 0,
    failed: 0,
    placeholder: 0,
    malformed: 0,
    unasked: 0,
  };
  readonly sockets: readonly RpcSocket[];
  readonly #pipeline: Pipeline;
  readonly #solUsd: SolUsdFeed;
  readonly #continuity: EndpointsOptions['continuity'];
  readonly #log: Logger;
  /** Times without any endpoint: what happened meanwhile was not seen. */
  blindPeriods = 0;
  #blindSinceSlot: number | null = null;
  readonly #chain = new ChainSlot();
  /** When the newest slot was told; null before the first. */
  #slotAtMs: number | null = null;
  /** A notification of a newer slot is not believed. */
  #maxSlot = newestPossibleSlot(Date.now());

  constructor(options: EndpointsOptions) {
    const { pipeline, solUsd, continuity, log, signal, subscriptions } = options;
    this.#pipeline = pipeline;
    this.#solUsd = solUsd;
    this.#continuity = continuity;
    this.#log = log;
    const handlersOf = (index: number): SocketHandlers => ({
      takeFrame: (frame: Buffer, receivedUs: number): boolean => this.#takeFrame(index, frame, receivedUs),
      onNotification: (method: string, params: unknown, receivedUs: number, subscription: Subscription | null): void =>
        this.#take(index, method, params, receivedUs, subscription),
      onSlot: ({ slot, parent }: SlotTold): void => {
        this.#judgeSlots();
        if (slot <= this.#maxSlot) continuity.slot(slot, parent);
      },
    });
    this.sockets = options.urls.map(
      (url, index) => new RpcSocket({ url, index, subscriptions, handlers: handlersOf(index), nowUs, log, signal }),
    );
  }

  /** The slot that the chain has reached; 0 before any was told. */
  get slot(): number {
    return this.#chain.slot;
  }

  /** Time since a newer slot was told; null before the first. */
  get slotAgeMs(): number | null {
    return this.#slotAtMs === null ? null : Math.round(performance.now() - this.#slotAtMs);
  }

  get up(): number {
    return this.sockets.filter((socket) => socket.state !== 'down').length;
  }

  start(): void {
    for (const socket of this.sockets) socket.start();
  }

  /** Compares the endpoints; called once a second. */
  look(): void {
    this.#judgeSlots();
    const { slot } = this;
    for (const socket of this.sockets) {
      if (socket.state === 'down') continue;
      const behind = slot - socket.slot;
      if (socket.slot > 0) socket.setState(behind > laggingSlots ? 'lagging' : 'up', `${behind} slots behind`);
    }
    if (this.up === 0 && slot > 0 && this.#blindSinceSlot === null) {
      this.#blindSinceSlot = slot;
      this.blindPeriods++;
      this.#log.error({ slot }, 'no_endpoint_up');
    } else if (this.#blindSinceSlot !== null && this.up > 0 && slot > this.#blindSinceSlot) {
      this.#log.warn({ fromSlot: this.#blindSinceSlot, toSlot: slot }, 'slots_not_seen');
      this.#blindSinceSlot = null;
      this.#continuity.sighted();
    }
  }

  #judgeSlots(): void {
    const told: number[] = [];
    for (const { state, slot } of this.sockets) if (state !== 'down' && slot > 0) told.push(slot);
    const before = this.slot;
    const nowMs = performance.now();
    this.#chain.judge(told, nowMs);
    if (this.slot !== before) this.#slotAtMs = nowMs;
    this.#maxSlot = this.slot > 0 ? this.slot + maxAheadSlots : newestPossibleSlot(Date.now());
  }

  /** The notification that nearly all traffic is, in the form that nodes write. */
  #takeFrame(endpoint: number, frame: Buffer, receivedUs: number): boolean {
    const head = readLogsHead(frame);
    if (head === null) return false;
    this.sockets[endpoint]!.checkAsked(subscriptionAtTail(frame));
    if (head.failed) {
      this.counts.failed++;
      return true;
    }
    const { signature, slot } = head;
    if (slot > this.#maxSlot) {
      this.#malformed(endpoint);
      return true;
    }
    const firstSlot = this.#pipeline.dedupe.slotOf(signature);
    if (firstSlot === slot && !this.#pipeline.isOpen(signature)) {
      this.counts.repeats++;
      return true;
    }
    const logs = readLogsLines(frame, head);
    if (logs === null) return false;
    this.#tell({ signature, slot, logs, receivedUs }, firstSlot);
    return true;
  }

  #tell(seen: TransactionLogs, firstSlot: number | null): void {
    if (this.#continuity.isDead(seen.slot)) this.counts.died++;
    else if (firstSlot === null) {
      this.counts.logs++;
      this.#pipeline.dedupe.see(seen.signature, seen.slot);
      this.#pipeline.takeNew(seen);
    } else if (firstSlot !== seen.slot) {
      this.counts.moved++;
      this.#continuity.again(seen);
    } else if (this.#pipeline.isOpen(seen.signature)) {
      this.counts.retold++;
      this.#pipeline.takeAgain(seen);
    } else this.counts.repeats++;
  }

  #take(endpoint: number, method: string, params: unknown, receivedUs: number, subscription: Subscription | null): void {
    if (method === 'logsNotification') this.#takeLogs(endpoint, params, receivedUs);
    else if (method === 'programNotification') {
      const state = readProgramNotification(params, receivedUs);
      if (state === 'malformed' || state.slot > this.#maxSlot) this.#malformed(endpoint);
      else {
        this.counts.accounts++;
        this.#pipeline.takeAccount(state);
      }
    } else if (method === 'accountNotification' && subscription?.name === confirmedSubscription.name) {
      const slot = readNotifiedSlot(params);
      if (slot === null || slot > this.#maxSlot) this.#malformed(endpoint);
      // The others may lag.
      else if (this.slot > 0 && slot > this.slot + laggingSlots) this.counts.malformed++;
      // One that lags would hold the others back.
      else if (this.sockets[endpoint]!.state !== 'lagging') this.#continuity.confirmed(endpoint, slot);
    } else if (method === 'accountNotification' && subscription?.method === 'accountSubscribe') {
      const state = readAccountNotification(String(subscription.params[0]), params, receivedUs);
      if (state === 'malformed' || state.slot > this.#maxSlot) this.#malformed(endpoint);
      else {
        this.counts.accounts++;
        this.#solUsd.take(state);
      }
    } else this.counts.unasked++;
  }

  #malformed(endpoint: number): void {
    this.counts.malformed++;
    this.sockets[endpoint]!.fault('content');
  }

  #takeLogs(endpoint: number, params: unknown, receivedUs: number): void {
    const outcome = readLogsNotification(params, receivedUs);
    if (outcome === 'malformed' || (typeof outcome !== 'string' && outcome.slot > this.#maxSlot)) {
      this.#malformed(endpoint);
      return;
    }
    if (typeof outcome === 'string') {
      this.counts[outcome]++;
      return;
    }
    this.#tell(outcome, this.#pipeline.dedupe.slotOf(outcome.signature));
  }
}
