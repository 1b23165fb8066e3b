import { systemClock, type Clock } from '@sluice/shared/clock/clock.ts';
import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '@sluice/shared/log/log.ts';
import { reachedBy } from '@sluice/shared/solana/quorum/votes.ts';
import type { AdvanceOutcome, OrderTable } from '../../store/order-table.ts';
import { isUnderWay, judge, type OrderError } from '../model/life.ts';
import { endStates, type OpenOrder } from '../model/order.ts';
import type { Broadcaster } from '../send/broadcaster.ts';
import type { SendNode } from '../nodes/nodes.ts';
import { FollowedOrders, type Followed, type OpenByState } from './followed-orders.ts';
import { noFollowerCounts, type FollowerCounters } from './follower-counters.ts';
import { createLandedReader, type LandedReader } from '../evidence/landed-reader.ts';
import { createMessageCare, type MessageCare } from './message-care.ts';
import { createOrderHold } from './order-hold.ts';
import { createSettler, type Settler } from './settler.ts';
import type { FinalizedPoint } from '../evidence/signature-status.ts';
import { pollStatuses, type PolledOrders } from '../evidence/status-poller.ts';
import { createStoredOrNull, type StoredOrNull } from './stored-or-null.ts';
import { findEvidence, landedSlotOf, tellsMore } from '../evidence/tracked-order.ts';
import { createWaker, type Waker } from './waker.ts';

/** How often every order is looked at, whatever was told of it: some things follow from silence; of one that is confirmed, few. */
const lookEveryMs = 1_000;
const looksAConfirmed = 5;
/** Orders looked at in one go. */
const maxLooks = 64;
/** What an order did is told with its being confirmed, where it is read so soon. */
const readFirstMs = 500;
/**
 * Blocks that a message may live for beyond the finalized height, where it was not told with the order: its own 150, and as
 * many as the chain may be ahead of its finalized part.
 */
const longestLifeBlocks = 150 + 512;

/** That bound is reckoned once so many nodes have told their heights. */
const leastHeights = 2;

export interface FollowerOptions {
  readonly nodes: readonly SendNode[];
  readonly broadcaster: Pick<Broadcaster, 'keepSending' | 'stop'>;
  readonly orders: Pick<OrderTable, 'advanceAll' | 'byId' | 'claim' | 'openIdsOf' | 'openOf' | 'release'>;
  readonly gatewayId: string;
  /** Takes up the orders of other gateways at its start, even if those still hold them. */
  readonly succeeds?: boolean;
  /** After every change that was stored, with the slot that it is known to have landed in. Must not throw. */
  readonly onChange: (order: OpenOrder, landedSlot: number | null) => void;
  /** An order was taken up from the store. Must not throw. */
  readonly onTaken?: (order: OpenOrder) => void;
  /** An order that was followed is not in the store any more, or somebody else has ended it. Must not throw. */
  readonly onGone?: (id: string) => void;
  /** Newest slot that the chain can have reached. */
  readonly newestSlot: () => number;
  readonly clock?: Clock;
  readonly log: Logger;
}

const notSent: OrderError = {
  code: 'UPSTREAM_UNAVAILABLE',
  message: 'The gateway that took the order ended before it was sent.',
  detailsJson: '{}',
};

/**
 * Follows all open orders together to their ends: by the statuses that every node reports, and by the store over restarts. Our own stream
 * tells when to ask the nodes.
 */
export class Follower {
  readonly counters: FollowerCounters = { ...noFollowerCounts };
  readonly #options: FollowerOptions;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #followed: FollowedOrders;
  /** For the loops that ask nodes. */
  readonly #pollWaker: Waker;
  readonly #heights: (number | null)[];
  readonly #reader: LandedReader;
  readonly #care: MessageCare;
  readonly #settler: Settler;
  readonly #storedOrNull: StoredOrNull;
  #loops: readonly Promise<void>[] = [];

  constructor(options: FollowerOptions) {
    const { nodes, broadcaster, orders, clock = systemClock, log } = options;
    const { signal } = this.#closing;
    this.#options = options;
    this.#clock = clock;
    this.#followed = new FollowedOrders(nodes.length, clock);
    this.#pollWaker = createWaker(signal, this.#clock);
    this.#heights = nodes.map(() => null);
    this.#reader = createLandedReader(nodes, clock);
    this.#storedOrNull = createStoredOrNull(this.counters, log);
    this.#care = createMessageCare({
      broadcaster,
      reader: this.#reader,
      quoteOf: async (id) => (await this.#storedOrNull(() => orders.byId(id)))?.quoteJson ?? null,
      onRead: (followed) => this.#look(followed),
      clock,
      signal,
    });
    this.#settler = createSettler({
      orders,
      counters: this.counters,
      storedOrNull: this.#storedOrNull,
      holds: (followed) => this.#followed.holds(followed),
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

  /**
   * Takes up what this gateway held before, then what others left, of the chain that its nodes are of, and keeps following. Rejects
   * where the store cannot be read, and may then be called again.
   */
  async start(genesisHash: string): Promise<void> {
    const { orders, gatewayId, succeeds = false, nodes, log } = this.#options;
    const hold = createOrderHold({
      orders,
      gateway: { gatewayId, genesisHash },
      succeeds,
      followed: this.#followed,
      takeUp: (order) => this.#takeUp(order),
      counters: this.counters,
      storedOrNull: this.#storedOrNull,
      clock: this.#clock,
      log,
      signal: this.#closing.signal,
    });
    await hold.takeUpAll();
    this.#loops = [this.#settler.run(), hold.run(), this.#lookLoop(), ...nodes.map((node, index) => this.#poll(node, index))];
  }

  /**
   * Follows an order to its end. One that is submitted is sent again and again until it is in a block. One that was not sent yet, and is
   * no longer worked on, will not be. False where there is no room.
   */
  follow(order: OpenOrder, isTakenUp = false): boolean {
    if (this.#followed.has(order.id) || endStates.has(order.state)) return true;
    if (!this.hasRoom) {
      this.counters.refused++;
      return false;
    }
    this.counters.followed++;
    this.#look(this.#followed.add(order, isTakenUp));
    this.#pollWaker.wake();
    return true;
  }

  #takeUp(order: OpenOrder): boolean {
    if (!this.follow(order, true)) return false;
    this.#options.onTaken?.(order);
    return true;
  }

  /** Our own stream shows the transaction in a block, so the nodes are asked at once. One endpoint may have made that up. */
  seen(signature: string): void {
    for (const followed of this.#followed.ofSignature(signature)) followed.hintedAtMs = this.#clock.steadyMs();
  }

  /** Ends following; other gateways may take over at once, or, where the store is away, when the hold has run out. Never rejects for the store. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await Promise.all([...this.#loops, this.#care.ended()]);
    for (const { signature } of this.#followed.withMessage.values()) this.#care.drop(signature);
    await this.#storedOrNull(() => this.#options.orders.release(this.#options.gatewayId));
  }

  #poll(node: SendNode, index: number): Promise<void> {
    const orders: PolledOrders<Followed> = {
      tracked: () => this.#followed.withMessage,
      wait: (ms) => this.#pollWaker.wait(ms),
      onView: (from, followed, view) => {
        if (!this.#followed.holds(followed)) return;
        const before = followed.views[from] ?? null;
        followed.views[from] = view;
        if (tellsMore(before, view)) this.#look(followed);
      },
      onFinalized: (from, point) => this.#onFinalized(from, point),
    };
    const { newestSlot } = this.#options;
    return pollStatuses({ node, index, orders, newestSlot, counters: this.counters, clock: this.#clock, signal: this.#closing.signal });
  }

  /** Where a message's last block is not known, it is bounded from a height that enough nodes have reached: one alone puts it off for nobody. */
  #onFinalized(node: number, { blockHeight }: FinalizedPoint): void {
    this.#heights[node] = blockHeight;
    const told = this.#heights.filter((height) => height !== null);
    if (told.length < Math.min(leastHeights, this.#heights.length)) return;
    for (const followed of this.#followed.withMessage.values()) followed.lastValidBlockHeight ??= reachedBy(told) + longestLifeBlocks;
  }

  /** Finds out what is known of an order now, sees to its message, and has stored what follows. */
  #look(followed: Followed): void {
    const { order } = followed;
    const underWay = isUnderWay(order.state);
    if (underWay && (order.kind !== 'sent' || order.signature === null)) {
      // An earlier version stored it before it was sent: nothing was, and nobody but us has the bytes of a custodial wallet's message.
      followed.evidence = { kind: 'refused', error: notSent };
    } else {
      const nowMs = this.#clock.steadyMs();
      const finding = findEvidence(followed, nowMs);
      this.#care.attend(followed, finding, !underWay);
      followed.evidence = finding.evidence;
      if (finding.read?.err === null && followed.beingRead !== null && nowMs - followed.beingRead.sinceMs < readFirstMs) return;
    }
    this.#consider(followed);
  }

  #consider(followed: Followed): void {
    const { order, evidence } = followed;
    if (evidence !== null && judge(order, evidence).kind !== 'nothing') this.#settler.add(followed);
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
    else this.#consider(followed);
  }

  #remove(followed: Followed): void {
    if (this.#followed.remove(followed)) this.#care.drop(followed.signature);
  }

  async #lookLoop(): Promise<void> {
    const { signal } = this.#closing;
    const waker = createWaker(signal, this.#clock);
    for (let round = 1; ; round++) {
      await waker.wait(lookEveryMs);
      let looks = 0;
      for (const followed of this.#followed) {
        if (signal.aborted) return;
        if (followed.order.state === 'confirmed' && round % looksAConfirmed !== 0) continue;
        this.#look(followed);
        if (++looks % maxLooks === 0) await turn();
      }
      if (signal.aborted) return;
    }
  }
}
