import type { Logger } from '@sluice/shared/log/log.ts';
import { maxFollowedBytes } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { AccountsRead, ChainAccount } from '../../chain/account-reader.ts';
import type { ChainView } from './chain-view.ts';
import { Link, type AccountUpdates, type LinkOptions } from './link.ts';

/** Accounts followed at a time, on every endpoint; one more is not followed, and so read whenever it is needed. */
const maxWatched = 4_096;
/** Slots that an endpoint may be behind the others, or behind what its own HTTP tells, before its accounts are read anew. */
export const maxBehindSlots = 4;
/** Slots that a read may be behind; its slot is told with it. */
export const maxReadBehindSlots = 8;

/** How long the accounts of an endpoint are read anew that did not tell a change. */
const distrustMs = 10_000;

interface Watched {
  readonly address: string;
  users: number;
  account: ChainAccount | null;
  /** Slot of the newest state; -1 where none is known. */
  slot: number;
  /** It came by a read, which may be of a moment inside the slot that a notification then tells whole. */
  isRead: boolean;
  /** Reads of older slots are not believed: they may be of a fork that died. */
  oldestRead: number;
  /** A read showed a change after slot `from` that is to be told by the time that an endpoint is past slot `to`. */
  awaited: { readonly from: number; readonly to: number } | null;
  /** By endpoint: a read was followed by every change since. */
  readonly covered: boolean[];
  /** Number of the last change of any account. */
  change: number;
}

/** Accounts as one endpoint tells them. */
export interface Current {
  readonly slot: number;
  /** Unix milliseconds: it is no older. */
  readonly asOfMs: number;
  /** Grows when any of them changes. */
  readonly change: number;
}

export interface WatchCounts {
  updates: number;
  /** Older than what was held. */
  late: number;
  /** Changes that a read showed and the endpoints did not tell. */
  untold: number;
  /** Accounts not followed because there are too many. */
  refused: number;
  /** Accounts whose state was of a fork that died. */
  dead: number;
}

/**
 * Accounts that are followed on every endpoint. What is held of one counts while an endpoint tells all its changes: from a read
 * that is no older than the subscription, without a break, and without a slot that died.
 */
export class WatchedAccounts {
  readonly counts: WatchCounts = { updates: 0, late: 0, untold: 0, refused: 0, dead: 0 };
  readonly links: readonly Link[];
  readonly #chain: ChainView;
  readonly #log: Logger;
  readonly #watched = new Map<string, Watched>();
  #changes = 0;
  #auditedUpTo = 0;

  constructor({
    urls,
    chain,
    ...options
  }: Omit<LinkOptions, 'url' | 'index' | 'handlers'> & { readonly urls: readonly string[]; readonly chain: ChainView }) {
    this.#chain = chain;
    this.#log = options.log;
    this.links = urls.map(
      (url, index) =>
        new Link({
          ...options,
          url,
          index,
          handlers: {
            onAccounts: (slot, updates) => this.#update(slot, updates),
            onDeadSlots: (from, to, now) => this.#forgetDead(from, to, now),
            onSlot: (slot) => chain.tell(index, 'pubsub', slot),
            onLost: (address) => this.#uncover(index, this.#watched.get(address)),
            onDown: () => {
              for (const watched of this.#watched.values()) this.#uncover(index, watched);
            },
          },
        }),
    );
  }

  get size(): number {
    return this.#watched.size;
  }

  /** Accounts that would have to be read if somebody asked for them now. */
  get stale(): number {
    let count = 0;
    for (const address of this.#watched.keys()) if (this.current([address]) === null) count++;
    return count;
  }

  start(): void {
    for (const { socket } of this.links) socket.start();
  }

  /** Follows an account until it is released as often; false where there are too many. */
  hold(address: string): boolean {
    const known = this.#watched.get(address);
    if (known !== undefined) {
      known.users++;
      return true;
    }
    if (this.#watched.size >= maxWatched) {
      this.counts.refused++;
      return false;
    }
    const covered = this.links.map(() => false);
    this.#watched.set(address, {
      address,
      users: 1,
      account: null,
      slot: -1,
      isRead: true,
      oldestRead: 0,
      awaited: null,
      covered,
      change: 0,
    });
    for (const link of this.links) link.follow(address);
    return true;
  }

  release(address: string): void {
    const known = this.#watched.get(address);
    if (known === undefined || --known.users > 0) return;
    this.#watched.delete(address);
    for (const link of this.links) link.unfollow(address);
  }

  /** What is held; of use only while `current` says so. */
  get(address: string): ChainAccount | null {
    return this.#watched.get(address)?.account ?? null;
  }

  /** Whether what is held of all of them is what the chain has, by the endpoint that is furthest; null where any must be read. */
  current(addresses: readonly string[]): Current | null {
    const nowMs = Date.now();
    let best: Link | null = null;
    for (const link of this.links) {
      if (!this.#isUsable(link, nowMs) || (best !== null && best.appliedSlot >= link.appliedSlot)) continue;
      if (this.#covers(link, addresses)) best = link;
    }
    if (best === null) return null;
    let change = 0;
    for (const address of addresses) change = Math.max(change, this.#watched.get(address)!.change);
    return { slot: best.appliedSlot, asOfMs: Math.min(best.slotAtMs, this.#chain.passedAtMs(best.slot!)), change };
  }

  /** A read of these addresses: older than what is held it changes nothing, otherwise it is held from now on. */
  take(addresses: readonly string[], { slot, accounts }: AccountsRead): void {
    for (const [i, address] of addresses.entries()) {
      const watched = this.#watched.get(address);
      if (watched === undefined || slot < watched.oldestRead) continue;
      const account = accounts[i] ?? null;
      // Its next notification would be longer than any frame may be.
      if (account !== null && account.data.length > maxFollowedBytes) for (const link of this.links) link.unfollow(address);
      const isNewer = slot > watched.slot || (slot === watched.slot && watched.isRead);
      const isOther = !isSame(account, watched.account);
      // What shows nothing new needs no endpoint to be that far.
      if (isNewer && (isOther || !watched.covered.includes(true))) this.#hold(watched, slot, account, isOther);
      for (const link of this.links) {
        const since = link.since(address);
        if (since !== null && slot >= since) watched.covered[link.index] = true;
      }
    }
  }

  #hold(watched: Watched, slot: number, account: ChainAccount | null, isOther: boolean): void {
    if (isOther) {
      if (watched.slot >= 0 && watched.covered.includes(true)) watched.awaited ??= { from: watched.slot, to: slot };
      watched.account = account;
      watched.change = ++this.#changes;
    }
    [watched.slot, watched.isRead] = [slot, true];
  }

  /** Endpoints that are past a change without having told it are not believed for a while. */
  checkTold(): void {
    for (const watched of this.#watched.values()) {
      const { awaited } = watched;
      if (awaited === null) continue;
      const silent = this.links.filter((link) => watched.covered[link.index] === true && link.appliedSlot > awaited.to);
      if (silent.length === 0) continue;
      watched.awaited = null;
      this.counts.untold++;
      for (const link of silent) {
        if (link.distrustedUntilMs < Date.now()) this.#log.warn({ endpoint: link.index, address: watched.address }, 'account_update_lost');
        link.distrustedUntilMs = Date.now() + distrustMs;
      }
    }
  }

  /** Addresses that an endpoint follows without a read that it could go on from, at most `count`. */
  uncovered(count: number): readonly string[] {
    const nowMs = Date.now();
    const live = this.links.filter((link) => this.#isUsable(link, nowMs));
    const found: string[] = [];
    for (const { address, covered } of this.#watched.values()) {
      if (found.length >= count) break;
      if (live.some((link) => covered[link.index] === false && link.since(address) !== null)) found.push(address);
    }
    return found;
  }

  /** The next `count` of all, in turn: read once in a while, they show whether changes were told. */
  nextToAudit(count: number): readonly string[] {
    const all = [...this.#watched.keys()];
    if (this.#auditedUpTo >= all.length) this.#auditedUpTo = 0;
    const part = all.slice(this.#auditedUpTo, this.#auditedUpTo + count);
    this.#auditedUpTo += part.length;
    return part;
  }

  #isUsable(link: Link, nowMs: number): boolean {
    return link.isLive(nowMs) && nowMs >= link.distrustedUntilMs && this.#chain.slot - link.slot! <= maxBehindSlots;
  }

  #covers(link: Link, addresses: readonly string[]): boolean {
    for (const address of addresses) {
      const watched = this.#watched.get(address);
      if (watched === undefined || watched.covered[link.index] !== true || watched.slot > link.appliedSlot) return false;
    }
    return true;
  }

  #update(slot: number, updates: AccountUpdates): void {
    for (const [address, account] of updates) {
      const watched = this.#watched.get(address);
      if (watched === undefined) continue;
      if (watched.awaited !== null && slot > watched.awaited.from) watched.awaited = null;
      if (slot < watched.slot) {
        this.counts.late++;
        continue;
      }
      this.counts.updates++;
      [watched.slot, watched.isRead] = [slot, false];
      if (isSame(account, watched.account)) continue;
      watched.account = account;
      watched.change = ++this.#changes;
    }
  }

  /** State of dead slots is read anew, or told anew by whoever follows the living fork. */
  #forgetDead(from: number, to: number, now: number): void {
    for (const watched of this.#watched.values()) {
      if (watched.slot <= from || watched.slot >= to) continue;
      this.counts.dead++;
      [watched.slot, watched.isRead] = [-1, true];
      watched.oldestRead = now;
      watched.awaited = null;
      watched.covered.fill(false);
    }
  }

  #uncover(index: number, watched: Watched | undefined): void {
    if (watched === undefined) return;
    watched.covered[index] = false;
    // It may have been told while nobody listened.
    watched.awaited = null;
  }
}

function isSame(a: ChainAccount | null, b: ChainAccount | null): boolean {
  if (a === null || b === null) return a === b;
  return a.lamports === b.lamports && a.owner === b.owner && Buffer.compare(a.data, b.data) === 0;
}
