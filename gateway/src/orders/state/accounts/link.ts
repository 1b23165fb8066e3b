import type { Logger } from '@sluice/shared/log/log.ts';
import { contextAndValue, isRecord } from '@sluice/shared/solana/json-forms.ts';
import { RpcSocket, type ReportedSlot } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { accountSubscription, slotSubscription, type Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { ChainAccount } from '../../../chain/account-reader.ts';
import { readChainAccount } from '../../../chain/rpc-account-reader.ts';
import { nowUs } from '../../../clock.ts';

/** A link that told no slot for this long may have missed some: slots last 200 to 400 ms, and skipped ones make it longer. */
export const maxSilenceMs = 1_000;
/** The accounts of one slot are told one after the other; without another for this long they are all there. */
const quietMs = 3;
/** They are taken after this long in any case. */
const maxHeldMs = 25;
/** Slots that an account may be told ahead of the slot that the link told. */
const maxAheadSlots = 32;
/** Of all accounts that may be followed; ten times what a market with hundreds of traded coins brings about. */
const allowance = { bytesPerSecond: 16 * 1024 * 1024, framesPerSecond: 10_000 };

export type AccountUpdates = ReadonlyMap<string, ChainAccount | null>;

export interface LinkHandlers {
  /** What one slot changed, all at once: a pool's vaults are never seen one without the other. Null where an account is gone. */
  onAccounts(slot: number, updates: AccountUpdates): void;
  /** Slots after `from` and before `to` are not of the chain that this endpoint follows; `now` is. */
  onDeadSlots(from: number, to: number, now: number): void;
  onSlot(slot: number | null): void;
  /** A change of this account could not be read: what it is now is not known here. */
  onLost(address: string): void;
  /** It may have missed changes of all accounts, or follows none until it is connected again. */
  onBreak(): void;
}

export interface LinkCounts {
  /** Account notifications taken. */
  updates: number;
  /** Of another form, or of a slot that cannot be. */
  malformed: number;
  forks: number;
}

export interface LinkOptions {
  readonly url: string;
  readonly index: number;
  readonly handlers: LinkHandlers;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** One endpoint's PubSub: its slots, and the accounts that are followed on it, slot by slot. */
export class Link {
  readonly counts: LinkCounts = { updates: 0, malformed: 0, forks: 0 };
  readonly index: number;
  readonly socket: RpcSocket;
  /** The newest slot of this connection; null before the first. */
  slot: number | null = null;
  /** Every change up to this slot has been told. */
  appliedSlot = 0;
  /** When the slot was told, Unix milliseconds. */
  slotAtMs = 0;
  /** It left out a change: what it tells is not relied on before this, Unix milliseconds. */
  distrustedUntilMs = 0;
  readonly #handlers: LinkHandlers;
  /** Address -> slot from which on the changes are told; null while that is not known. */
  readonly #since = new Map<string, number | null>();
  #group: { readonly slot: number; readonly updates: Map<string, ChainAccount | null>; readonly beganAtMs: number } | null = null;
  #lastUpdateAtMs = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor({ url, index, handlers, log, signal }: LinkOptions) {
    this.index = index;
    this.#handlers = handlers;
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
        onSlot: (told) => this.#onSlot(told),
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

  /** Slot from which on every change of an account is told here; null where that is not so. */
  since(address: string): number | null {
    return this.#since.get(address) ?? null;
  }

  /** It tells slots, so it tells accounts too. */
  isLive(nowMs: number): boolean {
    return this.slot !== null && nowMs - this.slotAtMs <= maxSilenceMs && nowMs >= this.slotAtMs;
  }

  #onSlot({ slot, parent }: ReportedSlot): void {
    if (slot === this.slot) return;
    this.#flush();
    const before = this.slot;
    const nowMs = Date.now();
    if (before !== null && !this.isLive(nowMs)) this.#goOnFrom(slot);
    this.slot = slot;
    this.slotAtMs = nowMs;
    if (before === null) {
      this.appliedSlot = slot - 1;
      for (const [address, since] of this.#since) if (since === null) this.#since.set(address, slot);
    } else this.#compare(before, slot, parent ?? slot - 1);
    this.#handlers.onSlot(slot);
  }

  /** It was silent for long: what it told of the time between may be incomplete. */
  #goOnFrom(slot: number): void {
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
    // Without a subscription the socket has counted it.
    if (subscription === null) return;
    if (method !== 'accountNotification' || subscription.method !== 'accountSubscribe') {
      this.socket.fault('content');
      return;
    }
    const told = isRecord(params) ? contextAndValue(params['result']) : null;
    const account = told === null ? null : readChainAccount(told.value);
    if (told === null || account === null || this.slot === null || told.slot > this.slot + maxAheadSlots) {
      this.counts.malformed++;
      this.#lose(String(subscription.params[0]));
      this.socket.fault('content');
      return;
    }
    this.counts.updates++;
    if (this.#group !== null && this.#group.slot !== told.slot) this.#flush();
    this.#group ??= { slot: told.slot, updates: new Map(), beganAtMs: performance.now() };
    this.#group.updates.set(String(subscription.params[0]), account.lamports === 0n ? null : account);
    this.#lastUpdateAtMs = performance.now();
    this.#timer ??= setTimeout(() => this.#settle(), quietMs);
  }

  /** Its changes count from the next slot on. */
  #lose(address: string): void {
    if (this.#since.has(address)) this.#since.set(address, this.slot === null ? null : this.slot + 1);
    this.#handlers.onLost(address);
  }

  #settle(): void {
    this.#timer = null;
    const nowMs = performance.now();
    if (this.#group === null) return;
    if (nowMs - this.#lastUpdateAtMs >= quietMs || nowMs - this.#group.beganAtMs >= maxHeldMs) this.#flush();
    else this.#timer = setTimeout(() => this.#settle(), quietMs);
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
