import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { contextAndValue, isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { RpcSocket, type ReportedSlot } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { accountSubscription, slotSubscription, type Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import { readChainAccount } from '@sluice/gateway/reads/chain/rpc-account-reader.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';

/** A link that reported no slot for this long may have missed changes. Slots last about 200 ms; skipped slots make the pause longer. */
export const maxSilenceMs = 1_000;
/** The accounts of a slot arrive one by one. After this long without another one, all have arrived. */
const quietMs = 3;
/** After this long the changes are passed on even if more arrive. */
const maxHeldMs = 25;
/** Slots by which an account notification may be ahead of the slot that the link reported. */
const maxAheadSlots = 32;
/** Limits for the notifications of all followed accounts: ten times the traffic of a market with hundreds of traded coins. */
const allowance = { bytesPerSecond: 16 * 1024 * 1024, framesPerSecond: 10_000 };

export type AccountUpdates = ReadonlyMap<string, ChainAccount | null>;

export interface LinkHandlers {
  /** All changes of one slot together, so that a pool's vaults always fit together. Null if an account does not exist any more. */
  onAccounts(slot: number, updates: AccountUpdates): void;
  /** The slots after `from` and before `to` do not belong to the fork that this endpoint follows. `now` does. */
  onDeadSlots(from: number, to: number, now: number): void;
  onSlot(slot: number | null): void;
  /** A change of this account could not be read, so its state is unknown on this link. */
  onLost(address: string): void;
  /** The link may have missed changes of all accounts, or is down. */
  onBreak(): void;
}

export interface LinkOptions {
  readonly url: string;
  readonly index: number;
  readonly handlers: LinkHandlers;
  readonly clock?: Pick<Clock, 'steadyMs'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** One endpoint's PubSub connection: reports its slots, and the changes of followed accounts, slot by slot. */
export class Link {
  /** `malformed`: account notifications in an unknown form, or of an impossible slot. */
  readonly counts = { updates: 0, malformed: 0, forks: 0 };
  readonly index: number;
  readonly socket: RpcSocket;
  /** The newest slot of this connection; null before the first. */
  slot: number | null = null;
  /** Every change up to this slot was reported. */
  appliedSlot = 0;
  /** When the slot was reported, by the steady clock. */
  slotAtMs = 0;
  readonly #handlers: LinkHandlers;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** Address → slot from which changes are reported; null while that is unknown. */
  readonly #since = new Map<string, number | null>();
  #group: { readonly slot: number; readonly updates: Map<string, ChainAccount | null>; readonly beganAtMs: number } | null = null;
  #lastUpdateAtMs = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor({ url, index, handlers, clock = systemClock, log, signal }: LinkOptions) {
    this.index = index;
    this.#handlers = handlers;
    this.#clock = clock;
    this.socket = new RpcSocket({
      url,
      index,
      subscriptions: [slotSubscription(true)],
      laterMethods: ['accountSubscribe'],
      allowance,
      nowUs,
      log,
      signal,
      handlers: {
        onSlot: (reported) => this.#onSlot(reported),
        onNotification: (method, params, _receivedUs, subscription) => this.#onNotification(method, params, subscription),
        onSubscribed: (subscription) => this.#onSubscribed(subscription),
        onDown: () => this.#onDown(),
      },
    });
    signal.addEventListener('abort', () => this.#dropGroup(), { once: true });
  }

  follow(address: string): void {
    this.socket.subscribe(accountSubscription(address));
  }

  unfollow(address: string): void {
    this.#since.delete(address);
    this.#group?.updates.delete(address);
    this.socket.unsubscribe(accountSubscription(address));
  }

  /** The slot from which this link reports every change of an account; null if it does not, or that is unknown. */
  since(address: string): number | null {
    return this.#since.get(address) ?? null;
  }

  /** Whether it reports slots, and therefore account changes too. */
  isLive(nowMs: number): boolean {
    return this.slot !== null && nowMs - this.slotAtMs <= maxSilenceMs && nowMs >= this.slotAtMs;
  }

  #onSlot({ slot, parent }: ReportedSlot): void {
    if (slot === this.slot) return;
    this.#flush();
    const before = this.slot;
    const nowMs = this.#clock.steadyMs();
    if (before !== null && !this.isLive(nowMs)) this.#restartAt(slot);
    this.slot = slot;
    this.slotAtMs = nowMs;
    if (before === null) {
      this.appliedSlot = slot - 1;
      for (const [address, since] of this.#since) if (since === null) this.#since.set(address, slot);
    } else this.#compare(before, slot, parent ?? slot - 1);
    this.#handlers.onSlot(slot);
  }

  /** The link was silent for too long, so changes in between may be missing. */
  #restartAt(slot: number): void {
    for (const address of this.#since.keys()) this.#since.set(address, slot);
    this.#handlers.onBreak();
  }

  #compare(before: number, slot: number, parent: number): void {
    const isBack = slot < before;
    this.appliedSlot = isBack ? slot - 1 : Math.max(this.appliedSlot, slot - 1);
    if (!isBack && parent === slot - 1) return;
    this.counts.forks += isBack || parent < before ? 1 : 0;
    this.#handlers.onDeadSlots(parent, isBack ? Number.POSITIVE_INFINITY : slot, slot);
  }

  #onSubscribed({ method, params }: Subscription): void {
    if (method === 'accountSubscribe') this.#since.set(String(params[0]), this.slot);
  }

  #onNotification(method: string, params: unknown, subscription: Subscription | null): void {
    // The socket counts notifications without a subscription.
    if (subscription === null) return;
    if (method !== 'accountNotification' || subscription.method !== 'accountSubscribe') {
      this.socket.fault('content');
      return;
    }
    const reported = isRecord(params) ? contextAndValue(params['result']) : null;
    const account = reported === null ? null : readChainAccount(reported.value);
    if (reported === null || account === null || this.slot === null || reported.slot > this.slot + maxAheadSlots) {
      this.counts.malformed++;
      this.#markLost(String(subscription.params[0]));
      this.socket.fault('content');
      return;
    }
    this.counts.updates++;
    if (this.#group !== null && this.#group.slot !== reported.slot) this.#flush();
    this.#group ??= { slot: reported.slot, updates: new Map(), beganAtMs: performance.now() };
    this.#group.updates.set(String(subscription.params[0]), account.lamports === 0n ? null : account);
    this.#lastUpdateAtMs = performance.now();
    this.#timer ??= setTimeout(() => this.#flushIfQuiet(), quietMs);
  }

  /** Changes of this account are complete again from the next slot. */
  #markLost(address: string): void {
    if (this.#since.has(address)) this.#since.set(address, this.slot === null ? null : this.slot + 1);
    this.#handlers.onLost(address);
  }

  #flushIfQuiet(): void {
    this.#timer = null;
    const nowMs = performance.now();
    if (this.#group === null) return;
    if (nowMs - this.#lastUpdateAtMs >= quietMs || nowMs - this.#group.beganAtMs >= maxHeldMs) this.#flush();
    else this.#timer = setTimeout(() => this.#flushIfQuiet(), quietMs);
  }

  #flush(): void {
    const group = this.#group;
    this.#dropGroup();
    if (group === null) return;
    this.appliedSlot = Math.max(this.appliedSlot, group.slot);
    this.#handlers.onAccounts(group.slot, group.updates);
  }

  #dropGroup(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#group = null;
  }

  #onDown(): void {
    this.#dropGroup();
    this.#since.clear();
    this.slot = null;
    this.#handlers.onSlot(null);
    this.#handlers.onBreak();
  }
}
