import { maxFollowedBytes } from '@sluice/shared/solana/pubsub/subscription.ts';
import { majorityOf } from '@sluice/shared/solana/quorum/votes.ts';
import type { AccountsRead, ChainAccount } from '../../../chain/account-reader.ts';
import { isSameAccount } from '../../../chain/voted-accounts.ts';
import { AccountView, contradict, votedReaders, type AccountState } from './account-view.ts';
import type { ChainView } from '../chain/chain-view.ts';
import { LinkTrust } from './link-trust.ts';
import { Link, type AccountUpdates, type LinkOptions } from './link.ts';

/** Accounts followed at a time, on every endpoint; one more is not followed, and so read whenever it is needed. */
const maxWatched = 4_096;
/** Slots that an endpoint may be behind the others, or behind what its own HTTP tells, before its accounts are read anew. */
export const maxBehindSlots = 4;
/** Slots that it may be ahead of what two endpoints of three have reached. */
const maxAheadSlots = 8;
/** Slots that a read may be behind; its slot is told with it. */
export const maxReadBehindSlots = 8;

/** Endpoints that differ about an account for so long are held against a read of it; sooner where they do so about one slot. */
const differAfterMs = 1_500;
const contradictAfterMs = 150;
/** Endpoints that differ again and again, each time for a moment: so long after the last read of the account it is read as well. */
const againAfterMs = 3_000;
/**
 * An account that goes on changing is read between two changes now and then, inside a slot: where most endpoints do not say how the slot ended, one
 * that told another end of it is found wrong the third time in a row. At once, where the read is of a slot in which it told no change.
 */
const maxDoubts = 3;
/** How often one account is read for that. */
const verifyEveryMs = 500;
/** What was read is held against the endpoints that come as far within so long. */
const truthForMs = 5_000;
/** Slots that the chain may be ahead of a read that is held against endpoints: what they told before is not remembered. */
const maxTruthBehindSlots = 4;
/** Slots between the answers of a read that is held against endpoints; of more, one is dated falsely. */
const maxTruthSlots = 8;

interface Watched {
  readonly address: string;
  users: number;
  /** One for each link. */
  readonly views: readonly AccountView[];
  /** Since when the endpoints differ, Unix milliseconds; null where they do not. */
  differsSinceMs: number | null;
  verifiedAtMs: number;
  /** What more than half of the endpoints answered when they were asked; null where all have been held against it. */
  truth: Truth | null;
}

interface Truth {
  readonly state: AccountState;
  /** It was so in one of these slots: who answered may date it too early, or too late. */
  readonly slot: number;
  readonly lastSlot: number;
  readonly atMs: number;
  /** Links that have not been held against it. */
  readonly waiting: Set<Link>;
}

/** Accounts as one endpoint tells them. */
export interface Current {
  /** If two endpoints report all of it: the last slot for which they do. */
  readonly slot: number;
  /** Unix milliseconds: it is no older. */
  readonly asOfMs: number;
  /** In the order of the addresses. */
  readonly states: readonly AccountState[];
  /** Endpoints, as bits by their number, that alone tell some of it; 0 where two tell all of it, or there is but one. */
  readonly soleSources: number;
}

export interface WatchCounts {
  updates: number;
  /** Older than what the same endpoint told. */
  late: number;
  /** Changes that an endpoint did not tell. */
  untold: number;
  /** Changes that an endpoint told and that never were. */
  untrue: number;
  /** Accounts that were read because two endpoints told different things of one slot, or differed for long. */
  disputed: number;
  /** Accounts not followed because there are too many. */
  refused: number;
  /** Accounts whose state was of a fork that died. */
  dead: number;
}

export type WatchedAccountsOptions = Omit<LinkOptions, 'url' | 'index' | 'handlers'> & {
  readonly urls: readonly string[];
  readonly chain: ChainView;
};

/**
 * Accounts that are followed on every endpoint. What one of them tells counts while it tells all changes: from a state that is no older than
 * the subscription, without a break, and without a slot that died. Of several the state counts that two tell; one that nobody else
 * tells is named with its source; and none where two tell different things of one slot.
 */
export class WatchedAccounts {
  readonly counts: WatchCounts = { updates: 0, late: 0, untold: 0, untrue: 0, disputed: 0, refused: 0, dead: 0 };
  readonly links: readonly Link[];
  readonly #trust: readonly LinkTrust[];
  readonly #chain: ChainView;
  readonly #watched = new Map<string, Watched>();
  readonly #differing = new Set<Watched>();
  readonly #judged = new Set<Watched>();
  #lastNumber = 0;
  #auditedUpTo = 0;

  constructor({ urls, chain, ...options }: WatchedAccountsOptions) {
    this.#chain = chain;
    this.#trust = urls.map((_, index) => new LinkTrust(index, options.log));
    this.links = urls.map(
      (url, index) =>
        new Link({
          ...options,
          url,
          index,
          handlers: {
            onAccounts: (slot, updates) => this.#update(index, slot, updates),
            onDeadSlots: (from, to, now) => this.#forgetDead(index, from, to, now),
            onSlot: (slot) => chain.tell(index, 'pubsub', slot),
            onLost: (address) => this.#uncover(index, this.#watched.get(address)),
            onBreak: () => {
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

  /** Whether what an endpoint tells is believed now. */
  isTrusted(endpoint: number): boolean {
    return this.#trust[endpoint]?.isTrusted(Date.now()) ?? true;
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
    const views = this.links.map(() => new AccountView());
    this.#watched.set(address, { address, users: 1, views, differsSinceMs: null, verifiedAtMs: 0, truth: null });
    for (const link of this.links) link.follow(address);
    return true;
  }

  release(address: string): void {
    const known = this.#watched.get(address);
    if (known === undefined || --known.users > 0) return;
    this.#watched.delete(address);
    this.#differing.delete(known);
    this.#judged.delete(known);
    for (const link of this.links) link.unfollow(address);
  }

  /**
   * All of these accounts as one endpoint tells them that follows them all: the one whose every word another one confirms, or the newest.
   * Null where any must be read.
   */
  current(addresses: readonly string[]): Current | null {
    const nowMs = Date.now();
    const usable = this.links.filter((link) => this.#isUsable(link, nowMs));
    let best: Told | null = null;
    for (const link of usable) {
      const told = this.#toldBy(link, addresses, usable);
      if (told !== null && (best === null || isBetter(told, best))) best = told;
    }
    if (best === null) return null;
    const { link, states, soleSources, agreedSlot } = best;
    const slot = soleSources === 0 ? Math.min(link.appliedSlot, agreedSlot) : link.appliedSlot;
    return { slot, asOfMs: Math.min(link.slotAtMs, this.#chain.passedAtMs(link.slot!)), states, soleSources };
  }

  /** A read of these addresses: what the endpoints' changes go on from, and, where a majority agrees on it, what they are held against. */
  take(addresses: readonly string[], { slot, lastSlot, accounts, aloneBy }: AccountsRead): void {
    const isVoted = aloneBy === null || this.links.length === 1;
    for (const [i, address] of addresses.entries()) {
      const watched = this.#watched.get(address);
      const account = accounts[i] ?? null;
      if (watched === undefined) continue;
      // Its next notification would be longer than any frame may be.
      if (account !== null && account.data.length >= maxFollowedBytes) for (const link of this.links) link.unfollow(address);
      const state = this.#stateOf(watched, account);
      if (isVoted) state.isConfirmed = true;
      if (watched.views.every((view) => slot >= view.slot)) state.readers |= isVoted ? votedReaders : 1 << aloneBy;
      for (const [index, view] of watched.views.entries()) {
        const since = this.links[index]!.since(address);
        if (since === null || slot < view.oldestRead) continue;
        if (!view.isCovered) {
          if (slot >= since) view.base(slot, state);
          continue;
        }
        // What was told is held against it; what one read alone said gives way to it.
        const isNewer = slot >= view.slot && !view.isTold;
        if (isNewer && (view.state === state || (isVoted && view.state?.isConfirmed !== true))) view.base(slot, state);
      }
      if (!isVoted || slot < this.#chain.slot - maxTruthBehindSlots || (watched.truth !== null && watched.truth.slot >= slot)) continue;
      const to = Math.min(lastSlot, slot + maxTruthSlots);
      watched.truth = { state, slot, lastSlot: to, atMs: Date.now(), waiting: new Set(this.links) };
      this.#judged.add(watched);
    }
  }

  /** Holds the endpoints against what was read, and against each other. Called some twenty times a second. */
  look(): void {
    const nowMs = Date.now();
    for (const watched of this.#judged) this.#judge(watched, nowMs);
    for (const watched of this.#differing) {
      if (!this.#isDiffering(watched, nowMs)) {
        watched.differsSinceMs = null;
        this.#differing.delete(watched);
      }
    }
  }

  /** Addresses of at most `count` accounts that have to be read: to go on from, to confirm what one said, or because endpoints differ. */
  toRead(count: number): readonly string[] {
    const nowMs = Date.now();
    const usable = this.links.filter((link) => this.#isUsable(link, nowMs));
    const found: string[] = [];
    for (const watched of this.#watched.values()) {
      if (found.length >= count) break;
      if (this.#needsRead(watched, usable, nowMs)) found.push(watched.address);
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

  #needsRead(watched: Watched, usable: readonly Link[], nowMs: number): boolean {
    const { address, views } = watched;
    const isUncovered = usable.some((link) => !views[link.index]!.isCovered && link.since(address) !== null);
    if (isUncovered) return true;
    if (nowMs - watched.verifiedAtMs < verifyEveryMs) return false;
    const isUnconfirmed = usable.some(({ index }) => !views[index]!.isTold && views[index]!.state?.isConfirmed === false);
    if (!isUnconfirmed && !this.#isDisputed(watched, usable, nowMs)) return false;
    watched.verifiedAtMs = nowMs;
    return true;
  }

  #isDisputed(watched: Watched, usable: readonly Link[], nowMs: number): boolean {
    if (watched.differsSinceMs === null) return false;
    const sinceMs = nowMs - watched.differsSinceMs;
    const { views } = watched;
    const isContradicted = usable.some((a) => usable.some((b) => contradict(views[a.index]!, views[b.index]!)));
    const isDue = isContradicted || nowMs - watched.verifiedAtMs > againAfterMs;
    if (sinceMs < (isDue ? contradictAfterMs : differAfterMs)) return false;
    this.counts.disputed++;
    return true;
  }

  #isUsable(link: Link, nowMs: number): boolean {
    if (!link.isLive(nowMs) || !this.#trust[link.index]!.isTrusted(nowMs)) return false;
    const behind = this.#chain.slot - link.slot!;
    return behind <= maxBehindSlots && behind >= -maxAheadSlots;
  }

  /** Null where it does not follow all of them, or what it tells of one is contradicted and nobody confirms it. */
  #toldBy(link: Link, addresses: readonly string[], usable: readonly Link[]): Told | null {
    const states: AccountState[] = [];
    let [soleSources, newest, agreedSlot] = [0, 0, Infinity];
    for (const address of addresses) {
      const watched = this.#watched.get(address);
      const view = watched?.views[link.index];
      if (watched === undefined || view === undefined || !view.isCovered || view.state === null || view.slot > link.appliedSlot)
        return null;
      const { sources, agreedUntil } = this.#sourcesOf(view, watched, link.index, usable);
      agreedSlot = Math.min(agreedSlot, agreedUntil);
      if (this.links.length > 1 && (sources & (sources - 1)) === 0) {
        if (usable.some(({ index }) => index !== link.index && contradict(view, watched.views[index]!))) return null;
        soleSources |= sources;
      }
      states.push(view.state);
      newest = Math.max(newest, view.slot);
    }
    return { link, states, soleSources, newest, agreedSlot };
  }

  /**
   * Endpoints that say that the account is as this view has it: told or read, or known from two and not changed since. `agreedUntil`: the last
   * slot for which two of them say so by PubSub. An endpoint that is late says nothing about slots that it has not reached.
   */
  #sourcesOf({ state, slot }: AccountView, { views }: Watched, by: number, usable: readonly Link[]): Sources {
    let sources = state!.readers;
    let [newest, agreedUntil] = [-1, -1];
    for (const { index, appliedSlot } of usable) {
      const view = views[index]!;
      const holds = view.isCovered && view.state === state && (view.isTold || state!.isConfirmed);
      const until = holds ? appliedSlot : view.confirmsUntil(slot, state!);
      if (until === null) continue;
      sources |= 1 << index;
      agreedUntil = Math.max(agreedUntil, Math.min(newest, until));
      newest = Math.max(newest, until);
    }
    return { sources: sources === 0 ? 1 << by : sources, agreedUntil: agreedUntil === -1 ? Infinity : agreedUntil };
  }

  #update(index: number, slot: number, updates: AccountUpdates): void {
    for (const [address, account] of updates) {
      const watched = this.#watched.get(address);
      if (watched === undefined) continue;
      const view = watched.views[index]!;
      if (slot < view.slot) {
        this.counts.late++;
        continue;
      }
      this.counts.updates++;
      const before = view.state;
      const state = this.#stateOf(watched, account);
      view.tell(slot, state, this.links[index]!.since(address));
      if (before === state) continue;
      // Somebody says that it has changed: who read it before does not say that it has not.
      if (before !== null) before.readers = 0;
      if (watched.truth !== null && watched.truth.state !== state && slot >= watched.truth.slot) watched.truth.state.readers = 0;
      state.isConfirmed ||=
        this.links.length === 1 || watched.views.some((other, i) => i !== index && other.isTold && other.state === state);
      if (watched.differsSinceMs !== null || this.links.length === 1) continue;
      watched.differsSinceMs = Date.now();
      this.#differing.add(watched);
    }
  }

  /** Whether endpoints that are believed hold different states of it. */
  #isDiffering({ views }: Watched, nowMs: number): boolean {
    let known: AccountState | null = null;
    for (const link of this.links) {
      const { state, isCovered } = views[link.index]!;
      if (!isCovered || state === null || !this.#isUsable(link, nowMs)) continue;
      if (known !== null && known !== state) return true;
      known = state;
    }
    return false;
  }

  /** Finds out who did not tell what the chain has, as far as the endpoints have come that far. */
  #judge(watched: Watched, nowMs: number): void {
    const { lastSlot, atMs, waiting } = watched.truth!;
    for (const link of waiting) {
      const { isCovered } = watched.views[link.index]!;
      if (isCovered && (!link.isLive(nowMs) || link.appliedSlot <= lastSlot)) continue;
      if (!isCovered || this.#hold(watched, watched.truth!, link, nowMs)) waiting.delete(link);
    }
    if (waiting.size > 0 && nowMs - atMs < truthForMs) return;
    watched.truth = null;
    this.#judged.delete(watched);
  }

  /** Holds one endpoint that has told all of the read's slots against what was read; false where the others have to come as far first. */
  #hold(watched: Watched, { state, slot, lastSlot }: Truth, { index }: Link, nowMs: number): boolean {
    const view = watched.views[index]!;
    const said = view.said(slot, lastSlot);
    if (said === null) return true;
    if (said.end === state) {
      view.doubts = 0;
      return true;
    }
    if (said.hasChanged || said.end === null) {
      // The read may be of a moment inside a slot: most endpoints know how it ended.
      const most = said.end === null ? null : this.#mostSay(watched, lastSlot, nowMs);
      if (most === 'unknown') return false;
      if (most !== state) {
        if (most !== null && most === said.end) view.doubts = 0;
        else if (!said.states.includes(state)) view.doubts++;
        if (view.doubts < maxDoubts) return true;
      }
    }
    // A state that two told was true once: the change from it was left out.
    const isLost = (said.end ?? view.state)?.isConfirmed === true;
    this.counts[isLost ? 'untold' : 'untrue']++;
    this.#trust[index]!.distrust(watched.address, isLost ? 'account_update_lost' : 'account_update_false', nowMs);
    // It is followed anew, from a read.
    view.doubts = 0;
    view.uncover();
    return true;
  }

  /** The account at the end of a slot as more than half of the endpoints tell it; null where no such number does, `unknown` while some may yet. */
  #mostSay({ views }: Watched, slot: number, nowMs: number): AccountState | null | 'unknown' {
    const ends: AccountState[] = [];
    let isOpen = false;
    for (const link of this.links) {
      const view = views[link.index]!;
      if (!view.isCovered || !link.isLive(nowMs)) continue;
      if (link.appliedSlot <= slot) isOpen = true;
      else {
        const end = view.said(slot, slot)?.end ?? null;
        if (end !== null) ends.push(end);
      }
    }
    const most = ends.find((end) => ends.filter((one) => one === end).length >= majorityOf(this.links.length));
    return most ?? (isOpen ? 'unknown' : null);
  }

  /** The state with these bytes that some endpoint told, or that was read, before the endpoints told it; or a new one. */
  #stateOf({ views, truth }: Watched, account: ChainAccount | null): AccountState {
    if (truth !== null && isSameAccount(truth.state.account, account)) return truth.state;
    for (const view of views) {
      const known = view.find(account);
      if (known !== null) return known;
    }
    return { account, number: ++this.#lastNumber, readers: 0, isConfirmed: false };
  }

  /** What an endpoint told of slots that are dead to it is read anew, or told anew. */
  #forgetDead(index: number, from: number, to: number, now: number): void {
    for (const watched of this.#watched.values()) {
      const view = watched.views[index]!;
      if (view.slot <= from || view.slot >= to) continue;
      this.counts.dead++;
      view.die(now);
      watched.truth = null;
      this.#judged.delete(watched);
    }
  }

  #uncover(index: number, watched: Watched | undefined): void {
    if (watched !== undefined) watched.views[index]!.uncover();
  }
}

interface Sources {
  /** Endpoints, as bits by their number. */
  readonly sources: number;
  /** Infinity if no two report it by PubSub. */
  readonly agreedUntil: number;
}

interface Told {
  readonly link: Link;
  readonly states: readonly AccountState[];
  readonly soleSources: number;
  /** Slot of its newest state. */
  readonly newest: number;
  readonly agreedSlot: number;
}

function isBetter(a: Told, b: Told): boolean {
  if ((a.soleSources === 0) !== (b.soleSources === 0)) return a.soleSources === 0;
  return a.newest === b.newest ? a.link.appliedSlot > b.link.appliedSlot : a.newest > b.newest;
}
