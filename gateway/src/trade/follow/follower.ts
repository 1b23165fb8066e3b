import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '@sluice/shared/log/log.ts';
import { maxOrderRows, type Advance, type AdvanceOutcome, type OrderChange, type OrderTable } from '../../store/order-table.ts';
import { isUnderWay, judge, type Evidence, type OrderError } from '../life.ts';
import { endStates, type OrderState, type StoredOrder } from '../order.ts';
import type { Broadcaster } from '../send/broadcaster.ts';
import { createLandedReader, type LandedOrder, type LandedReader } from './landed-reader.ts';
import type { SendNode } from '../send/nodes.ts';
import type { FinalizedPoint } from './signature-status.ts';
import { pollStatuses, type PollCounter, type PolledOrders } from './status-poller.ts';
import { agreeing, findEvidence, type Landing, type TrackedOrder } from './tracked-order.ts';
import { createWaker, type Waker } from './waker.ts';

/** Open orders followed at a time; beyond it none is taken over, and `hasRoom` says no. */
export const maxFollowed = 10_000;
/** How often the hold on the orders is renewed, and how long it lasts: another gateway takes them over after that. */
const claimEveryMs = 4_000;
const holdMs = 15_000;
/** An order of ours that is as old and not followed was forgotten: its insert was not answered, or there was no room. */
const forgottenAfterMs = 10_000;
/** Orders of the store's that are held against those that are followed at each renewal, in turn: whole rows, which take their time to read. */
const lookedUp = 200;
/** How often every order is looked at, whatever was told of it: some things follow from silence. */
const lookEveryMs = 250;
/** Orders looked at, and changes stored, before requests get their turn: a slot ends a hundred orders at once, and new ones must not wait. */
const maxLooks = 64;
const maxChanges = 8;
/** The store is asked again after so long where it failed. */
const storePauseMs = 500;
/**
 * Blocks that a message may live for beyond the finalized height, where it was not told with the order: its own 150, and as
 * many as the chain may be ahead of its finalized part.
 */
const longestLifeBlocks = 150 + 512;

export type FollowerCounter =
  | PollCounter
  | 'followed'
  | 'takenOver'
  | 'forgotten'
  | 'advanced'
  | 'stale'
  | 'contradictions'
  | 'storeFailures'
  | 'refused';

export interface FollowerOptions {
  readonly nodes: readonly SendNode[];
  readonly broadcaster: Pick<Broadcaster, 'send' | 'keepSending' | 'stop'>;
  readonly orders: Pick<OrderTable, 'advanceAll' | 'claim' | 'openOf' | 'release'>;
  readonly gatewayId: string;
  /** After every change that was stored. Must not throw. */
  readonly onChange: (order: StoredOrder) => void;
  /** An order was taken up from the store. Must not throw. */
  readonly onTaken?: (order: StoredOrder) => void;
  /** An order that was followed is not in the store any more. Must not throw. */
  readonly onGone?: (id: string) => void;
  /** Newest slot that the chain can have reached. */
  readonly newestSlot: () => number;
  readonly log: Logger;
}

interface Followed extends TrackedOrder {
  /** Its first round was begun, by whoever handed it over or by this follower. */
  isSent: boolean;
  /** Its message is being sent, as far as this follower knows. */
  sending: boolean;
  /** Landing that is being read; null where none is. */
  beingRead: Landing | null;
  contradicted: boolean;
}

const notSent: OrderError = {
  code: 'UPSTREAM_UNAVAILABLE',
  message: 'The gateway that took the order ended before it was sent.',
  detailsJson: '{}',
};

export const noFollowerCounts: Readonly<Record<FollowerCounter, number>> = {
  polls: 0,
  heights: 0,
  malformed: 0,
  unanswered: 0,
  followed: 0,
  takenOver: 0,
  forgotten: 0,
  advanced: 0,
  stale: 0,
  contradictions: 0,
  storeFailures: 0,
  refused: 0,
};

/**
 * Follows all open orders together to their ends: by our own stream, by the statuses that every node tells, and by the store over
 * restarts. Until somebody has a message in a block it is sent again, always the same bytes.
 */
export class Follower {
  readonly counters: Record<FollowerCounter, number> = { ...noFollowerCounts };
  readonly #options: FollowerOptions;
  readonly #closing = new AbortController();
  readonly #byId = new Map<string, Followed>();
  /** Those that have a message. Several owners may each have an order of the same transaction: anybody may hand in what is in the chain. */
  readonly #bySignature = new Map<string, Set<Followed>>();
  readonly #dirty = new Set<Followed>();
  /** For the loops that ask nodes, and for the one that writes. */
  readonly #pollWaker: Waker;
  readonly #settleWaker: Waker;
  readonly #heights: (number | null)[];
  readonly #reader: LandedReader;
  readonly #reads = new Set<Promise<void>>();
  #loops: readonly Promise<void>[] = [];
  #storeFails = false;
  #lookedUpTo: string | null = null;
  #genesisHash = '';

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#pollWaker = createWaker(this.#closing.signal);
    this.#settleWaker = createWaker(this.#closing.signal);
    this.#heights = options.nodes.map(() => null);
    this.#reader = createLandedReader(options.nodes);
  }

  /** Orders that are followed now. */
  get size(): number {
    return this.#byId.size;
  }

  get hasRoom(): boolean {
    return this.#byId.size < maxFollowed;
  }

  /** Orders that are followed, by the state that they are in, and how long the oldest has been in it, milliseconds. */
  openByState(nowMs: number): ReadonlyMap<OrderState, { readonly orders: number; readonly oldestMs: number }> {
    const states = new Map<OrderState, { orders: number; oldestMs: number }>();
    for (const { order } of this.#byId.values()) {
      const ageMs = Math.max(0, nowMs - order.updatedAtMs);
      const known = states.get(order.state);
      if (known === undefined) states.set(order.state, { orders: 1, oldestMs: ageMs });
      else {
        known.orders++;
        known.oldestMs = Math.max(known.oldestMs, ageMs);
      }
    }
    return states;
  }

  get reads(): LandedReader['counters'] {
    return this.#reader.counters;
  }

  /**
   * Takes up what this gateway held before, then what others left, of the chain that its nodes are of, and keeps following. Rejects
   * where the store cannot be read, and may then be called again.
   */
  async start(genesisHash: string): Promise<void> {
    const { orders, gatewayId } = this.#options;
    this.#genesisHash = genesisHash;
    for (let after: string | null = null; ;) {
      const page: readonly StoredOrder[] = await orders.openOf({ gatewayId, genesisHash }, after, maxOrderRows);
      for (const order of page) this.#takeUp(order);
      after = page.at(-1)?.id ?? null;
      if (after === null || !this.hasRoom) break;
    }
    await this.#claim();
    const polls = this.#options.nodes.map((node, index) => this.#poll(node, index));
    this.#loops = [this.#settleLoop(), this.#claimLoop(), ...polls];
  }

  /**
   * Follows an order to its end. One that is submitted is sent until it is in a block; `isSent`: whoever hands it over sees to the
   * first time. One that was not sent yet, and is no longer worked on, will not be. False where there is no room.
   */
  follow(order: StoredOrder, isSent = false): boolean {
    if (this.#byId.has(order.id) || endStates.has(order.state)) return true;
    if (!this.hasRoom) {
      this.counters.refused++;
      return false;
    }
    const followed: Followed = {
      order,
      signature: order.signature ?? '',
      lastValidBlockHeight: order.lastValidBlockHeight,
      sinceMs: performance.now(),
      views: this.#options.nodes.map(() => null),
      streamSlot: null,
      reading: null,
      isSent,
      sending: false,
      beingRead: null,
      contradicted: false,
    };
    this.counters.followed++;
    this.#byId.set(order.id, followed);
    if (order.signature !== null) {
      const same = this.#bySignature.get(order.signature);
      if (same === undefined) this.#bySignature.set(order.signature, new Set([followed]));
      else same.add(followed);
    }
    this.#touch(followed);
    this.#pollWaker.wake();
    return true;
  }

  #takeUp(order: StoredOrder): boolean {
    if (!this.follow(order)) return false;
    this.#options.onTaken?.(order);
    return true;
  }

  /** Our own stream has the transaction in a block, where it succeeded. Costs a look into a map. */
  seen(signature: string, slot: number): void {
    for (const followed of this.#bySignature.get(signature) ?? []) {
      followed.streamSlot = slot;
      this.#touch(followed);
    }
  }

  /** Ends following; other gateways may take over at once, or, where the store is away, when the hold has run out. Never rejects for the store. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await Promise.all([...this.#loops, ...this.#reads]);
    for (const signature of this.#bySignature.keys()) this.#options.broadcaster.stop(signature);
    await this.#stored(() => this.#options.orders.release(this.#options.gatewayId));
  }

  *#withMessage(): Iterable<Followed> {
    for (const same of this.#bySignature.values()) yield* same;
  }

  #touch(followed: Followed): void {
    this.#dirty.add(followed);
    this.#settleWaker.wake();
  }

  #remove(followed: Followed): void {
    this.#byId.delete(followed.order.id);
    this.#dirty.delete(followed);
    const same = this.#bySignature.get(followed.signature);
    same?.delete(followed);
    if (same?.size !== 0) return;
    this.#bySignature.delete(followed.signature);
    this.#options.broadcaster.stop(followed.signature);
  }

  #poll(node: SendNode, index: number): Promise<void> {
    const orders: PolledOrders = {
      tracked: () => this.#withMessage(),
      size: () => this.#bySignature.size,
      wait: (ms) => this.#pollWaker.wait(ms),
      onView: (from, tracked, view) => {
        const followed = this.#byId.get(tracked.order.id);
        if (followed !== tracked) return;
        followed.views[from] = view;
        this.#touch(followed);
      },
      onFinalized: (from, point) => this.#onFinalized(from, point),
    };
    const { newestSlot } = this.#options;
    return pollStatuses({ node, index, orders, newestSlot, counters: this.counters, signal: this.#closing.signal });
  }

  /** Where a message's last block is not known, it is bounded from the highest that nodes tell, once enough have told one. */
  #onFinalized(node: number, { blockHeight }: FinalizedPoint): void {
    this.#heights[node] = blockHeight;
    const told = this.#heights.filter((height) => height !== null);
    if (told.length < Math.min(agreeing, this.#heights.length)) return;
    for (const followed of this.#withMessage()) followed.lastValidBlockHeight ??= Math.max(...told) + longestLifeBlocks;
  }

  #setSending(followed: Followed, wanted: boolean): void {
    if (followed.sending === wanted) return;
    followed.sending = wanted;
    const { signature, lastValidBlockHeight, order } = followed;
    const { broadcaster } = this.#options;
    if (!wanted) broadcaster.stop(signature);
    else if (order.signedBytes !== null) {
      const message = { signature, wire: order.signedBytes, lastValidBlockHeight };
      if (followed.isSent) broadcaster.keepSending(message);
      else void broadcaster.send(message);
      followed.isSent = true;
    }
  }

  #read(followed: Followed, landing: Landing): void {
    const { beingRead, signature, order } = followed;
    if (beingRead?.slot === landing.slot && (beingRead.err === null) === (landing.err === null)) return;
    followed.beingRead = landing;
    const read = this.#readLanded(followed, { signature, ...landing, terms: order.terms, isLightning: order.kind === 'lightning' });
    this.#reads.add(read);
    void read.finally(() => this.#reads.delete(read));
  }

  async #readLanded(followed: Followed, landed: LandedOrder): Promise<void> {
    const { beingRead } = followed;
    const reading = await this.#reader.read(landed, this.#closing.signal);
    if (reading === null || followed.beingRead !== beingRead) return;
    followed.reading = reading;
    followed.beingRead = null;
    this.#touch(followed);
  }

  /** What is known of an order now; sees to its message on the way. */
  #evidenceOf(followed: Followed): Evidence | null {
    const { order } = followed;
    const underWay = isUnderWay(order.state);
    // Before `submitted` nothing was sent, and nobody but us has the bytes of a custodial wallet's message.
    if (underWay && (order.kind !== 'sent' || order.signature === null)) return { kind: 'refused', error: notSent };
    const { evidence, broadcast, read } = findEvidence(followed, performance.now());
    this.#setSending(followed, broadcast === 'send' && !underWay);
    if (read !== null) this.#read(followed, read);
    return evidence;
  }

  #changeOf(followed: Followed): OrderChange | null {
    const evidence = this.#evidenceOf(followed);
    if (evidence === null) return null;
    const verdict = judge(followed.order, evidence);
    if (verdict.kind === 'contradiction' && !followed.contradicted) {
      followed.contradicted = true;
      this.counters.contradictions++;
      const { id, state } = followed.order;
      this.#options.log.error({ orderId: id, state, evidence: evidence.kind }, 'order_contradicted');
    }
    return verdict.kind === 'change' ? verdict.change : null;
  }

  /** Judges some of what was touched, and stores what changed in one go. */
  async #settle(): Promise<void> {
    const advances: Advance[] = [];
    const changed: Followed[] = [];
    let looks = 0;
    for (const followed of this.#dirty) {
      if (advances.length === maxChanges || looks++ === maxLooks) break;
      this.#dirty.delete(followed);
      const change = this.#changeOf(followed);
      if (change === null) continue;
      advances.push({ id: followed.order.id, fromVersion: followed.order.version, change, atMs: Date.now() });
      changed.push(followed);
    }
    if (advances.length === 0) return;
    const outcomes = await this.#stored(() => this.#options.orders.advanceAll(advances));
    if (outcomes === null) {
      for (const followed of changed) this.#dirty.add(followed);
      await this.#settleWaker.wait(storePauseMs);
      return;
    }
    for (const [at, outcome] of outcomes.entries()) this.#onStored(changed[at]!, outcome);
  }

  #onStored(followed: Followed, outcome: AdvanceOutcome): void {
    if (outcome.kind === 'no_such_order') {
      this.#remove(followed);
      this.#options.onGone?.(followed.order.id);
      return;
    }
    followed.order = outcome.order;
    this.counters[outcome.kind]++;
    if (outcome.kind === 'advanced') this.#options.onChange(outcome.order);
    if (endStates.has(outcome.order.state)) this.#remove(followed);
    else this.#touch(followed);
  }

  /** Null where the store failed, which is told once until it answers again. */
  async #stored<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      const result = await work();
      this.#storeFails = false;
      return result;
    } catch (error) {
      this.counters.storeFailures++;
      if (!this.#storeFails) this.#options.log.error({ err: error }, 'order_store_failed');
      this.#storeFails = true;
      return null;
    }
  }

  async #settleLoop(): Promise<void> {
    let lookedMs = -Infinity;
    while (!this.#closing.signal.aborted) {
      const nowMs = performance.now();
      if (nowMs - lookedMs >= lookEveryMs) {
        lookedMs = nowMs;
        for (const followed of this.#byId.values()) this.#dirty.add(followed);
      }
      await this.#settle();
      await turn();
      if (this.#dirty.size === 0) await this.#settleWaker.wait(this.#byId.size === 0 ? Infinity : lookEveryMs);
    }
  }

  async #claim(): Promise<void> {
    const nowMs = Date.now();
    const limit = Math.min(maxOrderRows, Math.max(1, maxFollowed - this.#byId.size));
    const { orders, gatewayId } = this.#options;
    const taken = await orders.claim({ gatewayId, genesisHash: this.#genesisHash, nowMs, untilMs: nowMs + holdMs, limit });
    for (const order of taken) if (this.#takeUp(order)) this.counters.takenOver++;
    if (taken.length > 0) this.#options.log.info({ orders: taken.length }, 'orders_taken_over');
  }

  /** Some of what the store has as followed by this gateway, in turn: an order whose insert nobody answered may be there. */
  async #takeUpForgotten(): Promise<void> {
    if (!this.hasRoom) return;
    const { orders, gatewayId } = this.#options;
    const page = await orders.openOf({ gatewayId, genesisHash: this.#genesisHash }, this.#lookedUpTo, lookedUp);
    this.#lookedUpTo = page.length < lookedUp ? null : page.at(-1)!.id;
    const before = Date.now() - forgottenAfterMs;
    const forgotten = page.filter(({ id, createdAtMs }) => createdAtMs < before && !this.#byId.has(id));
    for (const order of forgotten) if (this.#takeUp(order)) this.counters.forgotten++;
    if (forgotten.length > 0) this.#options.log.warn({ orders: forgotten.length }, 'orders_were_forgotten');
  }

  async #claimLoop(): Promise<void> {
    const { signal } = this.#closing;
    const waker = createWaker(signal);
    for (;;) {
      await waker.wait(claimEveryMs);
      if (signal.aborted) return;
      await this.#stored(async () => {
        await this.#claim();
        await this.#takeUpForgotten();
      });
    }
  }
}
