import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { maxFollowedBytes } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { AccountsRead, ChainAccount } from '@sluice/gateway/reads/chain/account-reader.ts';
import { isSameAccount } from '@sluice/gateway/reads/chain/voted-accounts.ts';
import { AccountView, contradict, votedReaders, type ReportedState } from './account-view.ts';
import type { ChainView } from '../chain/chain-view.ts';
import { LinkTrust, ReadComparison, type Watched } from './read-comparison.ts';
import { Link, type AccountUpdates, type LinkOptions } from './link.ts';

/** Most accounts followed at a time on every endpoint. Further accounts are read whenever they are needed. */
const maxWatched = 4_096;
/** An endpoint's accounts are not used if it is more slots than this behind the chain. */
export const maxBehindSlots = 4;
/** An endpoint's accounts are not used if it is more slots than this ahead of the chain. */
const maxAheadSlots = 8;
/** Slots that a read may be behind the chain. The slot is returned with the read. */
export const maxReadBehindSlots = 8;

/** If endpoints differ about an account for this long, it is read to decide; earlier if they contradict each other about the same slot. */
const differAfterMs = 1_500;
const contradictAfterMs = 150;
/** If endpoints differ repeatedly for short times, the account is read this long after its last read. */
const againAfterMs = 3_000;
/** Shortest time between two such reads of an account. */
const verifyEveryMs = 500;
/** A read is not compared with endpoints if it is more slots than this behind the chain, because older reports are not remembered. */
const maxTruthBehindSlots = 4;
/** Most slots between the answers of a read. With more, one of them has a false slot. */
const maxTruthSlots = 8;

/** Accounts as one endpoint reports them. */
export interface Current {
  /** The slot of the states. If two endpoints report all of them, the last slot for which both do. */
  readonly slot: number;
  /** By the steady clock; the states are no older. */
  readonly asOfMs: number;
  /** In the order of the addresses. */
  readonly states: readonly ReportedState[];
  /** Bit mask of endpoints that alone report a part of it. 0 if two report all of it, or only one is configured. */
  readonly soleSources: number;
}

export interface WatchCounts {
  updates: number;
  /** Changes older than the newest one that the same endpoint reported. */
  late: number;
  /** Changes that an endpoint did not report. */
  lostUpdates: number;
  /** Changes that an endpoint reported and that never happened. */
  falseUpdates: number;
  /** Reads of accounts because two endpoints reported different states of one slot, or differed for too long. */
  disputed: number;
  /** Accounts not followed because too many are followed. */
  refused: number;
  /** Account states that belonged to a dead fork. */
  dead: number;
}

export type WatchedAccountsOptions = Omit<LinkOptions, 'url' | 'index' | 'handlers'> & {
  readonly urls: readonly string[];
  readonly chain: ChainView;
};

/**
 * Accounts that are followed on every endpoint. An endpoint's reports count while they are complete: they begin with a state that is no older
 * than the subscription, without a break and without a dead slot. A state that two endpoints report is preferred. A state that only one
 * reports is returned with its source. If two endpoints report different states of one slot, none is returned.
 */
export class WatchedAccounts {
  readonly counts: WatchCounts = { updates: 0, late: 0, lostUpdates: 0, falseUpdates: 0, disputed: 0, refused: 0, dead: 0 };
  readonly links: readonly Link[];
  readonly #trust: readonly LinkTrust[];
  readonly #chain: ChainView;
  readonly #watched = new Map<string, Watched>();
  readonly #differing = new Set<Watched>();
  readonly #comparison: ReadComparison;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #lastNumber = 0;
  #auditedUpTo = 0;

  constructor({ urls, chain, ...options }: WatchedAccountsOptions) {
    this.#chain = chain;
    this.#clock = options.clock ?? systemClock;
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
            onSlot: (slot) => chain.report(index, 'pubsub', slot),
            onLost: (address) => this.#markIncomplete(index, this.#watched.get(address)),
            onBreak: () => {
              for (const watched of this.#watched.values()) this.#markIncomplete(index, watched);
            },
          },
        }),
    );
    this.#comparison = new ReadComparison(this.links, this.#trust, this.counts, this.#clock);
  }

  get size(): number {
    return this.#watched.size;
  }

  /** Followed accounts that `current` cannot answer now, so that a request would have to read them. */
  get stale(): number {
    let count = 0;
    for (const address of this.#watched.keys()) if (this.current([address]) === null) count++;
    return count;
  }

  start(): void {
    for (const { socket } of this.links) socket.start();
  }

  /** Whether the reports of an endpoint are trusted now. */
  isTrusted(endpoint: number): boolean {
    return this.#trust[endpoint]?.isTrusted(this.#clock.steadyMs()) ?? true;
  }

  /** Follows an account until `release` was called as often as `follow`. Returns false if too many are followed. */
  follow(address: string): boolean {
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
    this.#watched.set(address, { address, users: 1, views, differsSinceMs: null, verifiedAtMs: Number.NEGATIVE_INFINITY, truth: null });
    for (const link of this.links) link.follow(address);
    return true;
  }

  release(address: string): void {
    const known = this.#watched.get(address);
    if (known === undefined || --known.users > 0) return;
    this.#watched.delete(address);
    this.#differing.delete(known);
    this.#comparison.drop(known);
    for (const link of this.links) link.unfollow(address);
  }

  /**
   * The states of all these accounts, as one endpoint reports them. An endpoint whose states are all confirmed by others is preferred, then the
   * newest states. Null if any account must be read.
   */
  current(addresses: readonly string[]): Current | null {
    const nowMs = this.#clock.steadyMs();
    const usable = this.links.filter((link) => this.#isUsable(link, nowMs));
    let best: Candidate | null = null;
    for (const link of usable) {
      const candidate = this.#candidateOf(link, addresses, usable);
      if (candidate !== null && (best === null || isBetter(candidate, best))) best = candidate;
    }
    if (best === null) return null;
    const { link, states, soleSources, agreedSlot } = best;
    const slot = soleSources === 0 ? Math.min(link.appliedSlot, agreedSlot) : link.appliedSlot;
    return { slot, asOfMs: Math.min(link.slotAtMs, this.#chain.passedAtMs(link.slot!)), states, soleSources };
  }

  /** Adds a read, from which the views of endpoints continue. If a majority agrees on it, the reports of endpoints are compared with it. */
  addRead(addresses: readonly string[], { slot, lastSlot, accounts, aloneBy }: AccountsRead): void {
    const isVoted = aloneBy === null || this.links.length === 1;
    for (const [i, address] of addresses.entries()) {
      const watched = this.#watched.get(address);
      const account = accounts[i] ?? null;
      if (watched === undefined) continue;
      // The account is too large: its next notification would exceed the longest frame.
      if (account !== null && account.data.length >= maxFollowedBytes) for (const link of this.links) link.unfollow(address);
      const state = this.#stateOf(watched, account);
      if (isVoted) state.isConfirmed = true;
      if (watched.views.every((view) => slot >= view.slot)) state.readers |= isVoted ? votedReaders : 1 << aloneBy;
      for (const [index, view] of watched.views.entries()) {
        const since = this.links[index]!.since(address);
        if (since === null || slot < view.oldestRead) continue;
        if (!view.isComplete) {
          if (slot >= since) view.startFrom(slot, state);
          continue;
        }
        // A notified state is not replaced but compared with the read. A state of an unconfirmed read is replaced.
        const isNewer = slot >= view.slot && !view.isNotified;
        if (isNewer && (view.state === state || (isVoted && view.state?.isConfirmed !== true))) view.startFrom(slot, state);
      }
      if (!isVoted || slot < this.#chain.slot - maxTruthBehindSlots || (watched.truth !== null && watched.truth.slot >= slot)) continue;
      const to = Math.min(lastSlot, slot + maxTruthSlots);
      this.#comparison.add(watched, { state, slot, lastSlot: to });
    }
  }

  /** Compares the endpoints with what was read, and with each other. Call it about twenty times a second. */
  check(): void {
    const nowMs = this.#clock.steadyMs();
    this.#comparison.check(nowMs);
    for (const watched of this.#differing) {
      if (!this.#isDiffering(watched, nowMs)) {
        watched.differsSinceMs = null;
        this.#differing.delete(watched);
      }
    }
  }

  /** At most `count` addresses to read: a view is incomplete, only one endpoint has confirmed a state, or endpoints differ. */
  toRead(count: number): readonly string[] {
    const nowMs = this.#clock.steadyMs();
    const usable = this.links.filter((link) => this.#isUsable(link, nowMs));
    const found: string[] = [];
    for (const watched of this.#watched.values()) {
      if (found.length >= count) break;
      if (this.#needsRead(watched, usable, nowMs)) found.push(watched.address);
    }
    return found;
  }

  /** The next `count` addresses of all accounts, in turn. Reading them shows whether the endpoints omit changes. */
  nextToAudit(count: number): readonly string[] {
    const all = [...this.#watched.keys()];
    if (this.#auditedUpTo >= all.length) this.#auditedUpTo = 0;
    const part = all.slice(this.#auditedUpTo, this.#auditedUpTo + count);
    this.#auditedUpTo += part.length;
    return part;
  }

  #needsRead(watched: Watched, usable: readonly Link[], nowMs: number): boolean {
    const { address, views } = watched;
    const isIncomplete = usable.some((link) => !views[link.index]!.isComplete && link.since(address) !== null);
    if (isIncomplete) return true;
    if (nowMs - watched.verifiedAtMs < verifyEveryMs) return false;
    const isUnconfirmed = usable.some(({ index }) => !views[index]!.isNotified && views[index]!.state?.isConfirmed === false);
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

  /** Null if the link does not report all of them completely, or if an unconfirmed state of one is contradicted. */
  #candidateOf(link: Link, addresses: readonly string[], usable: readonly Link[]): Candidate | null {
    const states: ReportedState[] = [];
    let [soleSources, newest, agreedSlot] = [0, 0, Infinity];
    for (const address of addresses) {
      const watched = this.#watched.get(address);
      const view = watched?.views[link.index];
      if (watched === undefined || view === undefined || !view.isComplete || view.state === null || view.slot > link.appliedSlot)
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
   * The endpoints that confirm the state of this view: they reported or returned it, or it was confirmed and they reported no change since.
   * `agreedUntil`: the last slot for which two of them confirm it by PubSub. An endpoint has no vote on slots that it has not reached.
   */
  #sourcesOf({ state, slot }: AccountView, { views }: Watched, by: number, usable: readonly Link[]): Sources {
    let sources = state!.readers;
    let [newest, agreedUntil] = [-1, -1];
    for (const { index, appliedSlot } of usable) {
      const view = views[index]!;
      const holds = view.isComplete && view.state === state && (view.isNotified || state!.isConfirmed);
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
      view.update(slot, state, this.links[index]!.since(address));
      if (before === state) continue;
      // An endpoint reports a change, so earlier reads do not confirm the old state any more.
      if (before !== null) before.readers = 0;
      if (watched.truth !== null && watched.truth.state !== state && slot >= watched.truth.slot) watched.truth.state.readers = 0;
      state.isConfirmed ||=
        this.links.length === 1 || watched.views.some((other, i) => i !== index && other.isNotified && other.state === state);
      if (watched.differsSinceMs !== null || this.links.length === 1) continue;
      watched.differsSinceMs = this.#clock.steadyMs();
      this.#differing.add(watched);
    }
  }

  /** Whether usable endpoints have different states of the account. */
  #isDiffering({ views }: Watched, nowMs: number): boolean {
    let known: ReportedState | null = null;
    for (const link of this.links) {
      const { state, isComplete } = views[link.index]!;
      if (!isComplete || state === null || !this.#isUsable(link, nowMs)) continue;
      if (known !== null && known !== state) return true;
      known = state;
    }
    return false;
  }

  /** The known state that equals this account: one that an endpoint reported or that was read. Otherwise a new state. */
  #stateOf({ views, truth }: Watched, account: ChainAccount | null): ReportedState {
    if (truth !== null && isSameAccount(truth.state.account, account)) return truth.state;
    for (const view of views) {
      const known = view.find(account);
      if (known !== null) return known;
    }
    return { account, number: ++this.#lastNumber, readers: 0, isConfirmed: false };
  }

  /** Drops the states of slots that are dead for an endpoint. They must be read or reported again. */
  #forgetDead(index: number, from: number, to: number, now: number): void {
    for (const watched of this.#watched.values()) {
      const view = watched.views[index]!;
      if (view.slot <= from || view.slot >= to) continue;
      this.counts.dead++;
      view.dropFork(now);
      this.#comparison.drop(watched);
    }
  }

  #markIncomplete(index: number, watched: Watched | undefined): void {
    if (watched !== undefined) watched.views[index]!.markIncomplete();
  }
}

interface Sources {
  /** Bit mask of endpoints. */
  readonly sources: number;
  /** Infinity if no two report it by PubSub. */
  readonly agreedUntil: number;
}

interface Candidate {
  readonly link: Link;
  readonly states: readonly ReportedState[];
  readonly soleSources: number;
  /** Slot of its newest state. */
  readonly newest: number;
  readonly agreedSlot: number;
}

function isBetter(a: Candidate, b: Candidate): boolean {
  if ((a.soleSources === 0) !== (b.soleSources === 0)) return a.soleSources === 0;
  return a.newest === b.newest ? a.link.appliedSlot > b.link.appliedSlot : a.newest > b.newest;
}
