import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { reachedBy } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { AdvanceOutcome, OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { judge } from '@sluice/gateway/store/order-model/life.ts';
import { endStates, type OpenOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { Broadcaster } from '../send/broadcaster.ts';
import type { SendNode } from '../nodes/nodes.ts';
import { FollowedOrders, type Followed, type OpenByState } from './followed-orders.ts';
import { noFollowerCounts, type FollowerCounters } from './followed-orders.ts';
import { LandedReader } from './evidence/landed-reader.ts';
import { createOrderClaims } from './storing/order-claims.ts';
import { ChangeWriter, createTryStore, type TryStore } from './storing/change-writer.ts';
import type { FinalizedPoint } from './evidence/signature-status.ts';
import { StatusPoller, type PolledOrders } from './evidence/status-poller.ts';
import { findEvidence, landedSlotOf, isNewView, type Landing } from './evidence/tracked-order.ts';
import { createWaker, type Waker } from './thread/waker.ts';

/** How often every order is checked even without news, because silence is evidence too. Confirmed orders are checked in every fifth round. */
const checkEveryMs = 1_000;
const confirmedCheckRounds = 5;
/** Orders checked in one turn of the event loop. */
const maxChecks = 64;
/** The change to `confirmed` waits this long for the fill, so that both are published together. */
const readFirstMs = 500;
/**
 * If the last valid block of a message is unknown, the message expires this many blocks after the finalized height: the 150 of every
 * blockhash, plus the blocks by which the chain may be ahead of its finalized part.
 */
const longestLifeBlocks = 150 + 512;

/** The bound is computed once this many nodes have reported their heights. */
const leastHeights = 2;

export interface FollowerOptions {
  readonly nodes: readonly SendNode[];
  readonly broadcaster: Pick<Broadcaster, 'keepSending' | 'stop'>;
  readonly orders: Pick<OrderTable, 'advanceAll' | 'byId' | 'claim' | 'openIdsOf' | 'openOf' | 'release'>;
  readonly gatewayId: string;
  /** Takes up the orders of other gateways at its start, even if their claims have not expired. */
  readonly takesOverAtOnce?: boolean;
  /** See `OrderClaimsOptions`. */
  readonly placesSinceMs?: number | null;
  /** Called after each stored change. `landedSlot`: the slot in which the nodes agree that it landed. Must not throw. */
  readonly onChange: (order: OpenOrder, landedSlot: number | null) => void;
  /** Called when an order was loaded from the store. Must not throw. */
  readonly onLoaded?: (order: OpenOrder) => void;
  /** Called when a followed order is no longer in the store, or another writer has ended it. Must not throw. */
  readonly onGone?: (id: string) => void;
  /** Newest slot that the chain can have reached. */
  readonly newestSlot: () => number;
  readonly clock?: Clock;
  readonly log: Logger;
}

/** Follows all open orders to their ends, by the statuses that every node reports, also after a restart. */
export class Follower {
  readonly counters: FollowerCounters = { ...noFollowerCounts };
  readonly #options: FollowerOptions;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #followed: FollowedOrders;
  /** Wakes the loops that ask nodes. */
  readonly #pollWaker: Waker;
  readonly #heights: (number | null)[];
  readonly #reader: LandedReader;
  /** Reads of landed transactions that are in progress. */
  readonly #reads = new Set<Promise<void>>();
  readonly #changeWriter: ChangeWriter;
  readonly #tryStore: TryStore;
  #loops: readonly Promise<void>[] = [];

  constructor(options: FollowerOptions) {
    const { nodes, orders, clock = systemClock, log } = options;
    const { signal } = this.#closing;
    this.#options = options;
    this.#clock = clock;
    this.#followed = new FollowedOrders(nodes.length, clock);
    this.#pollWaker = createWaker(signal, this.#clock);
    this.#heights = nodes.map(() => null);
    this.#reader = new LandedReader(nodes, clock);
    this.#tryStore = createTryStore(this.counters, log);
    this.#changeWriter = new ChangeWriter({
      orders,
      counters: this.counters,
      tryStore: this.#tryStore,
      isFollowed: (followed) => this.#followed.isFollowed(followed),
      onStored: (followed, outcome) => this.#onStored(followed, outcome),
      clock,
      log,
      signal,
    });
  }

  /** Orders that are followed now. */
  get size(): number {
    return this.#followed.size;
  }

  get hasRoom(): boolean {
    return this.#followed.hasRoom;
  }

  get reads(): LandedReader['counters'] {
    return this.#reader.counters;
  }

  openByState(nowMs: number): OpenByState {
    return this.#followed.openByState(nowMs);
  }

  /** Takes up the open orders of the chain with this genesis hash, and follows them until `close`. Rejects if the store cannot be read; then call it again. */
  async start(genesisHash: string): Promise<void> {
    const { orders, gatewayId, takesOverAtOnce = false, placesSinceMs = null, nodes, log } = this.#options;
    const claims = createOrderClaims({
      orders,
      gateway: { gatewayId, genesisHash },
      takesOverAtOnce,
      placesSinceMs,
      followed: this.#followed,
      followStored: (order) => this.#followStored(order),
      counters: this.counters,
      tryStore: this.#tryStore,
      clock: this.#clock,
      log,
      signal: this.#closing.signal,
    });
    await claims.followAll();
    this.#loops = [this.#changeWriter.run(), claims.run(), this.#checkLoop(), ...nodes.map((node, index) => this.#poll(node, index))];
  }

  /** Follows an order to its end, and sends it repeatedly until it is in a block. Returns false if too many orders are followed. */
  follow(order: OpenOrder, isFromStore = false): boolean {
    if (this.#followed.has(order.id) || endStates.has(order.state)) return true;
    if (!this.hasRoom) {
      this.counters.refused++;
      return false;
    }
    this.counters.followed++;
    this.#check(this.#followed.add(order, isFromStore));
    this.#pollWaker.wake();
    return true;
  }

  #followStored(order: OpenOrder): boolean {
    if (!this.follow(order, true)) return false;
    this.#options.onLoaded?.(order);
    return true;
  }

  /** Our own stream shows the transaction in a block, so the nodes are asked at once. It is no evidence, because one endpoint may have invented it. */
  seen(signature: string): void {
    for (const followed of this.#followed.ofSignature(signature)) followed.seenAtMs = this.#clock.steadyMs();
  }

  /** Stops following. Other gateways may take over the orders at once, or, if the store fails, when the claim has expired. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await Promise.all(this.#loops);
    await Promise.all(this.#reads);
    for (const { signature } of this.#followed.withMessage.values()) this.#options.broadcaster.stop(signature);
    await this.#tryStore(() => this.#options.orders.release(this.#options.gatewayId));
  }

  #poll(node: SendNode, index: number): Promise<void> {
    const orders: PolledOrders<Followed> = {
      tracked: () => this.#followed.withMessage,
      wait: (ms) => this.#pollWaker.wait(ms),
      onView: (from, followed, view) => {
        if (!this.#followed.isFollowed(followed)) return;
        const before = followed.views[from] ?? null;
        followed.views[from] = view;
        if (isNewView(before, view)) this.#check(followed);
      },
      onFinalized: (from, point) => this.#onFinalized(from, point),
    };
    const { newestSlot } = this.#options;
    const { signal } = this.#closing;
    return new StatusPoller({ node, index, orders, newestSlot, counters: this.counters, clock: this.#clock, signal }).run();
  }

  /** Bounds the life of messages whose last valid block is unknown, from a height that a majority has reached, so that one node cannot extend it. */
  #onFinalized(node: number, { blockHeight }: FinalizedPoint): void {
    this.#heights[node] = blockHeight;
    const known = this.#heights.filter((height) => height !== null);
    if (known.length < Math.min(leastHeights, this.#heights.length)) return;
    for (const followed of this.#followed.withMessage.values()) followed.lastValidBlockHeight ??= reachedBy(known) + longestLifeBlocks;
  }

  /** Finds the evidence about an order, sends or reads its message if needed, and queues the change that follows. */
  #check(followed: Followed): void {
    const nowMs = this.#clock.steadyMs();
    const finding = findEvidence(followed, nowMs);
    this.#setSending(followed, finding.broadcast === 'send');
    if (finding.read !== null) this.#read(followed, finding.read);
    followed.evidence = finding.evidence;
    if (finding.read?.err === null && followed.beingRead !== null && nowMs - followed.beingRead.sinceMs < readFirstMs) return;
    this.#writeChange(followed);
  }

  #setSending(followed: Followed, sending: boolean): void {
    if (followed.sending === sending) return;
    followed.sending = sending;
    const { broadcaster } = this.#options;
    const { signature, lastValidBlockHeight, order } = followed;
    if (!sending) broadcaster.stop(signature);
    else if (order.signedBytes !== null) {
      const { blockEngineOnly = false, bundle } = order.terms ?? {};
      const message = { signature, wire: order.signedBytes, lastValidBlockHeight, blockEngineOnly, atOnce: followed.isFromStore };
      broadcaster.keepSending(bundle === undefined ? message : { ...message, bundle });
    }
  }

  #read(followed: Followed, landing: Landing): void {
    const known = followed.beingRead?.landing;
    if (known?.slot === landing.slot && (known.err === null) === (landing.err === null)) return;
    const one = this.#readLanded(followed, landing);
    this.#reads.add(one);
    void one.finally(() => this.#reads.delete(one));
  }

  async #readLanded(followed: Followed, landing: Landing): Promise<void> {
    const being = { landing, sinceMs: this.#clock.steadyMs() };
    followed.beingRead = being;
    const { signature, order } = followed;
    const stored = landing.err === null ? null : await this.#tryStore(() => this.#options.orders.byId(order.id));
    const { terms, signedBytes, kind } = order;
    const landed = { signature, ...landing, terms, signedBytes, quoteJson: stored?.quoteJson ?? null, isLightning: kind === 'lightning' };
    const reading = await this.#reader.read(landed, this.#closing.signal);
    if (reading === null || followed.beingRead !== being) return;
    followed.reading = reading;
    followed.beingRead = null;
    this.#check(followed);
  }

  #writeChange(followed: Followed): void {
    const { order, evidence } = followed;
    if (evidence !== null && judge(order, evidence).kind !== 'nothing') this.#changeWriter.add(followed);
  }

  #onStored(followed: Followed, outcome: Exclude<AdvanceOutcome, { kind: 'no_such_order' }> | null): void {
    const { onChange, onGone } = this.#options;
    if (outcome === null) {
      this.#remove(followed);
      onGone?.(followed.order.id);
      return;
    }
    followed.order = outcome.order;
    this.counters[outcome.kind]++;
    if (outcome.kind === 'advanced') onChange(outcome.order, landedSlotOf(followed, this.#clock.steadyMs()));
    const hasEnded = endStates.has(outcome.order.state);
    if (hasEnded && outcome.kind === 'stale') onGone?.(outcome.order.id);
    if (hasEnded) this.#remove(followed);
    else this.#writeChange(followed);
  }

  #remove(followed: Followed): void {
    if (this.#followed.remove(followed)) this.#options.broadcaster.stop(followed.signature);
  }

  async #checkLoop(): Promise<void> {
    const { signal } = this.#closing;
    const waker = createWaker(signal, this.#clock);
    for (let round = 1; ; round++) {
      await waker.wait(checkEveryMs);
      let checks = 0;
      for (const followed of this.#followed) {
        if (signal.aborted) return;
        if (followed.order.state === 'confirmed' && round % confirmedCheckRounds !== 0) continue;
        this.#check(followed);
        if (++checks % maxChecks === 0) await turn();
      }
      if (signal.aborted) return;
    }
  }
}
