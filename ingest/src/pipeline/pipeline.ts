import { standardMemory, type MemoryBounds } from '@sluice/shared/config/memory-bounds.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { AccountConstants, TokenCreated, Venue, VenueTrade } from '@sluice/venues/seam/venue.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { Loss } from '../report.ts';
import type { AccountFetcher } from '../sources/rpc/account-fetcher.ts';
import type { TransactionFetcher } from '../sources/rpc/transaction-fetcher.ts';
import type { AccountState, Sighting, WholeSighting } from '../sources/sighting.ts';
import { AccountChanges } from './account-changes.ts';
import type { LocatedEvent } from '../sources/decode/transaction-decoder.ts';
import {
  contentsOf,
  Decoder,
  isOther,
  uncounted,
  type Contents,
  type DecodedTransaction,
  type DecodeFault,
  type Reading,
} from './decode.ts';
import { buysOfCreator, completesCurve, Emitter, type EmitterParts } from './emit.ts';
import { Lines } from './waiting-lines.ts';
import { MainPoolReader, tradeSeen, type MainNeed, type MainPoolReaderParts } from './main-pools.ts';
import { needsPrice, PoolBook, type Pool } from './pools.ts';
import { needOf, PoolResolver, type Need } from './resolve.ts';
import { noUnfinishedCounts, Unfinished, type UnfinishedParts } from './unfinished.ts';

/** The pool, its mints, the main pool, and once more if an event joined that needs a mint's program. */
const maxQuestionRounds = 5;
/** Transactions whose contents are remembered: a minute of the busiest programs. */
const maxReported = 20_000;
/** Transactions without an event so far that are remembered. Further sightings of a forgotten one are treated as repeats. */
const maxQuiet = 20_000;

export const noPipelineCounts = () => ({
  ...noUnfinishedCounts(),
  /** Transactions that showed no event in one sighting, and some in a later one. */
  contradictedSilences: 0,
  /** Events given up because their pool, or what completes them, could not be read. */
  lostEvents: 0,
});

export interface PipelineParts
  extends EmitterParts, Pick<MainPoolReaderParts, 'onPool'>, Pick<UnfinishedParts, 'expectsWhole' | 'clock' | 'signal'> {
  readonly venues: readonly Venue[];
  /** Bounds of the memory; `standardMemory` if not given. */
  readonly memory?: MemoryBounds;
  readonly accounts: AccountFetcher;
  readonly transactions: TransactionFetcher;
  readonly log: Logger;
  readonly onFault: (fault: DecodeFault) => void;
  readonly onLoss: (loss: Loss) => void;
  /** Endpoints agreed on a transaction that was reported with several contents. `published`: what was published of it. */
  readonly onAgreed?: (signature: string, slot: number, truth: Contents, published: Contents | undefined) => void;
}

/** What reports of a transaction are compared with. */
interface Reported extends Contents {
  /** The facts of the first whole report, if only logs were published. */
  whole: string | null;
  /** Those of its events. */
  readonly pools: Pool[];
}

/** One event of a transaction, with its pool. It waits in that pool's line if necessary. */
interface Placed {
  readonly transaction: DecodedTransaction;
  readonly located: LocatedEvent;
  readonly pool: Pool;
}

/**
 * From sightings to events of the contract: decoded, in order for each pool, normalized, priced. Synchronous unless something must be
 * requested. An event that cannot be published is counted and reported.
 */
export class Pipeline {
  readonly counts = noPipelineCounts();
  /** The lost events of each venue. */
  readonly lost = new Map<string, number>();
  /** The slot of the first sighting of every transaction, over all endpoints and subscriptions. A later repeat would be published again. */
  readonly seen: Recent<number>;
  readonly decoder: Decoder;
  readonly book: PoolBook;
  readonly emitter: Emitter;
  readonly ticks: AccountChanges;
  readonly #parts: PipelineParts;
  readonly #lines = new Lines<Placed>(({ transaction }) => transaction.signature);
  readonly #resolver: PoolResolver;
  readonly #venueByProgram: ReadonlyMap<string, Venue>;
  readonly #venueByName: ReadonlyMap<string, Venue>;
  readonly #unfinished: Unfinished;
  readonly #quiet = new Recent<true>(maxQuiet);
  readonly #reported = new Recent<Reported>(maxReported);
  readonly #mainPools: MainPoolReader;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    const { signatures, pools } = parts.memory ?? standardMemory;
    this.seen = new Recent(signatures);
    this.book = new PoolBook(pools);
    this.decoder = new Decoder(parts.venues, parts.onFault);
    this.#venueByProgram = new Map(parts.venues.map((venue) => [venue.programId, venue]));
    this.#venueByName = new Map(parts.venues.map((venue) => [venue.name, venue]));
    this.#resolver = new PoolResolver({ ...parts, book: this.book, venues: this.#venueByProgram, decoder: this.decoder });
    this.emitter = new Emitter(parts);
    const { counts, decoder } = this;
    const pass = (transaction: DecodedTransaction, events: readonly LocatedEvent[]): void => this.#take(transaction, events);
    this.#unfinished = new Unfinished({ ...parts, counts, decoder, pass });
    this.ticks = new AccountChanges({ book: this.book, emitter: this.emitter, accounts: parts.accounts });
    this.#mainPools = new MainPoolReader(parts);
  }

  get waiting(): number {
    return this.#lines.waiting;
  }

  /**
   * Whether another sighting of a known transaction may add something: no sighting has shown it completely, or none has shown an event. All
   * other sightings of known transactions are repeats.
   */
  isOpen(signature: string): boolean {
    return this.#unfinished.has(signature) || this.#quiet.has(signature);
  }

  /** Whether a known transaction still waits for something, or has shown no event. */
  isHeld(signature: string): boolean {
    return this.isOpen(signature) || this.#lines.hasKey(signature);
  }

  /** The oldest slot of events that wait; infinite if none does. */
  oldestWaitingSlot(): number {
    let oldest = this.#unfinished.oldestSlot();
    if (this.#lines.waiting > 0) for (const { transaction } of this.#lines.items()) oldest = Math.min(oldest, transaction.slot);
    return oldest;
  }

  /** A transaction read from the history of the chain. */
  takeLate(transaction: DecodedTransaction): void {
    this.seen.set(transaction.signature, transaction.slot);
    this.take(transaction);
  }

  /** An endpoint has confirmed a slot, so its transactions can be read. */
  confirmed(slot: number): void {
    this.#parts.transactions.confirmed(slot);
  }

  /** The chain has confirmed a slot, although no endpoint may have notified of it. */
  reached(slot: number): void {
    this.#parts.transactions.reached(slot);
  }

  /**
   * A transaction was reported with two contents for one slot. Publishes what the confirmed chain has of it, in place of what was published and
   * retracted. If it cannot be read now, the comparison with the records of nodes finds it.
   */
  async reread(signature: string, slot: number): Promise<void> {
    const { transactions, signal, onAgreed } = this.#parts;
    const published = this.#reported.peek(signature);
    const read = (answer: WholeSighting): Reading => this.decoder.read({ ...answer, late: true }, uncounted);
    const found = await transactions.fetch(signature, slot, signal, read);
    const truth = found.kind === 'lost' ? null : contentsOf(found);
    if (truth !== null) onAgreed?.(signature, slot, truth, published);
    if (found.kind === 'read' && !this.seen.has(signature)) this.takeLate(found.transaction);
  }

  /** The last price of a pool was from a fork that died. The next price is published even if its slot is earlier. */
  unsettle(poolAddress: string): void {
    const pool = this.book.pool(poolAddress);
    if (pool === undefined) return;
    pool.tickSlot = -1;
    pool.tickBase = pool.tickQuote = pool.tradedReserve = -1n;
    if (pool.token?.main?.poolAddress === poolAddress) pool.token.settled?.forget();
  }

  /** A slot died, or only the transactions `lives` are in its block: the others no longer wait for anything. */
  abandon(slot: number, lives: (signature: string) => boolean = () => false): void {
    this.#unfinished.abandon(slot, lives);
    if (this.#lines.waiting > 0) this.#lines.drop(({ transaction }) => transaction.slot === slot && !lives(transaction.signature));
  }

  /** Notes a sighting. Returns null for the first one of a transaction; later, as long as it is remembered, the slot of the first one. */
  see(signature: string, slot: number): number | null {
    const first = this.seen.peek(signature);
    if (first === undefined) this.seen.set(signature, slot);
    return first ?? null;
  }

  /** The first sighting of a transaction. */
  takeNew(sighting: Sighting): void {
    const reading = this.decoder.read(sighting);
    if (reading.kind === 'failed') return;
    if (reading.kind === 'unusable') this.#unfinished.begin(reading.transaction, reading.reason);
    else if (reading.fault !== null) this.#unfinished.begin(reading.transaction, reading.fault);
    else if (reading.quiet) this.#quiet.set(sighting.signature, true);
    else this.take(reading.transaction);
  }

  /** Another sighting of a transaction that is open. */
  takeAgain(sighting: Sighting): void {
    if (this.#unfinished.has(sighting.signature)) {
      this.#unfinished.again(sighting);
      return;
    }
    this.#quiet.delete(sighting.signature);
    this.takeNew(sighting);
    if (!this.#quiet.has(sighting.signature)) this.counts.contradictedSilences++;
  }

  /** The state of an account that a venue owns. */
  takeAccount(state: AccountState): void {
    const venue = this.#venueByProgram.get(state.owner);
    if (venue === undefined) return;
    const account = this.decoder.fromAccount(venue, state);
    if (account === null) return;
    const pool = this.book.learnAccount(venue, state.address, account);
    if (account.type === 'pool' || !account.complete) this.ticks.hold({ pool, state, account });
  }

  /** The events of a whole transaction, from any source. */
  take(transaction: DecodedTransaction): void {
    this.#take(transaction, transaction.events);
  }

  /** Forgets what reports of a transaction taught about pools. Returns which pools used it; null if there is nothing of the kind. */
  unlearn(signature: string): ((poolAddress: string) => boolean) | null {
    return this.book.unlearn(signature, this.#reported.peek(signature)?.pools ?? []);
  }

  /** What another sighting of a known transaction shows; null if it shows nothing that was not reported before. */
  compare(sighting: Sighting): (Contents & { readonly isOther: boolean }) | null {
    const known = this.#reported.peek(sighting.signature);
    const found = known === undefined ? null : contentsOf(this.decoder.read(sighting, uncounted));
    if (known === undefined || found === null) return null;
    const { digest, facts } = found;
    if (isOther(found, { digest: known.digest, facts: known.whole })) return { digest, facts, isOther: true };
    if (known.whole !== null || facts === null) return null;
    known.whole = facts;
    return { digest, facts, isOther: false };
  }

  /** Some events of a transaction. */
  #take(transaction: DecodedTransaction, events: readonly LocatedEvent[]): void {
    const { signature, digest, facts } = transaction;
    const pools = this.#reported.peek(signature)?.pools ?? [];
    this.#reported.set(signature, { digest, facts, whole: facts, pools });
    for (const located of events) {
      this.book.taughtBy = signature;
      const pool = this.#poolOf(located);
      const opened = located.event.type === 'migrated' ? this.book.pool(located.event.toPool) : undefined;
      pools.push(pool, opened ?? pool);
      this.#admit({ transaction, located, pool });
    }
  }

  /** The pool of an event. Also notes what the event shows about pools. */
  #poolOf({ venue: name, event }: LocatedEvent): Pool {
    const venue = this.#venueByName.get(name)!;
    switch (event.type) {
      case 'trade':
      case 'liquidityAdded':
      case 'liquidityRemoved':
        return this.book.learnTrade(venue, event);
      case 'created':
        if (event.needs === undefined) return this.book.learnCreated(venue, event);
        return this.book.learnTrade(venue, { pool: event.pool, pair: { baseMint: event.mint, quoteMint: event.quoteMint } });
      case 'poolCreated':
        return this.book.learnPoolCreated(venue, event);
      case 'migrated':
        return this.book.learnMigrated(venue, this.#venueByName.get(event.toVenue), event);
      case 'reserves':
      case 'completed':
        return this.book.learnCoin(venue, event.pool, event.mint);
      case 'liquidityLocked':
        return this.book.poolAt(venue, event.pool);
    }
  }

  /** Publishes an event, or lets it wait until its pool is resolved. */
  #admit(placed: Placed): void {
    const { pool } = placed;
    if (this.#lines.waiting > 0 && this.#lines.has(pool.address)) {
      if (!this.#lines.join(pool.address, placed)) this.#lose([placed], 'the waiting lines are full');
      return;
    }
    const need = this.#needOf(placed);
    if (need === null) this.#publish(placed);
    else if (this.#resolver.isHopeless(pool)) this.#lose([placed], 'its pool could not be resolved before');
    else if (!this.#lines.join(pool.address, placed)) this.#lose([placed], 'the waiting lines are full');
    else void this.#resolve(pool.address, need);
  }

  /** What must be read before an event can be published; null if nothing. */
  #needOf(placed: Placed): Need | MainNeed | null {
    const { located, transaction, pool } = placed;
    const { signature, tokenBalances } = transaction;
    this.book.taughtBy = signature;
    if (located.event.type === 'created') {
      for (const part of [located.event, ...buysOfCreator(transaction, located.event)]) {
        const constants = this.#constantsNeed(part, pool);
        if (constants !== null) return constants;
      }
      const venue = this.#venueByName.get(located.venue)!;
      const completed = located.event.needs === undefined ? null : this.#creation(venue, located.event);
      if (completed !== null) this.book.learnCreated(venue, completed);
    }
    let need = needOfEvent(placed);
    if (need !== null && tokenBalances !== null) {
      this.book.learnDecimals(pool, tokenBalances);
      need = needOfEvent(placed);
    }
    if (need === null && needsPrice(pool, located.event)) {
      pool.priceAsked = true;
      return { pool, addresses: [pool.address], isPrice: true };
    }
    if (need !== null || located.event.type !== 'trade') return need;
    const constants = this.#constantsNeed(located.event, pool);
    if (constants !== null || !this.#mainPools.isNeeded(pool)) return constants;
    const seen = tradeSeen(transaction, located.event);
    if (tokenBalances === null) return { mainOf: pool.token!, seen };
    // The transaction shows all of the trade. What the chain says of the other pools follows.
    void this.#mainPools.read(pool.token!, seen);
    return null;
  }

  /** Numbers that change are read again after a while, but hold no event back. */
  #constantsNeed({ needs }: VenueTrade | TokenCreated, pool: Pool): Need | null {
    if (needs === undefined) return null;
    const need = { pool, addresses: [needs.account], isConstants: true };
    if (this.book.constants(needs.account) === undefined) return need;
    if (this.book.isDueAgain(needs.account)) void this.#resolver.learn(need);
    return null;
  }

  /** Returns null, or why it failed. A main pool that cannot be read holds no event back. */
  async #learn(need: Need | MainNeed): Promise<string | null> {
    if (!('mainOf' in need)) {
      const fault = await this.#resolver.learn(need);
      return need.isPrice === true ? null : fault;
    }
    await this.#mainPools.read(need.mainOf, need.seen);
    return null;
  }

  async #resolve(line: string, first: Need | MainNeed): Promise<void> {
    let need: Need | MainNeed | null = first;
    for (let round = 0; need !== null; round++) {
      const fault = round < maxQuestionRounds ? await this.#learn(need) : 'its accounts do not show the pair';
      if (fault !== null) {
        this.#lose(this.#lines.dissolve(line), fault);
        return;
      }
      need = null;
      for (let head = this.#lines.head(line); head !== undefined; head = this.#lines.head(line)) {
        need = this.#needOf(head);
        if (need !== null) break;
        this.#lines.shift(line);
        this.#publish(head);
      }
    }
    // The line may still be open if everything in it was of a slot that died.
    this.#lines.dissolve(line);
  }

  /** The event, completed by the numbers of an account that was read before. Null if the event cannot be completed. */
  #completed<E extends VenueTrade | TokenCreated>(event: E, complete: (constants: AccountConstants) => E): E | null {
    if (event.needs === undefined) return event;
    const constants = this.book.constants(event.needs.account);
    return constants === undefined ? null : complete(constants);
  }

  #trade(venue: Venue, trade: VenueTrade): VenueTrade | null {
    return this.#completed(trade, (constants) => venue.completeTrade!(trade, constants));
  }

  #creation(venue: Venue, created: TokenCreated): TokenCreated | null {
    return this.#completed(created, (constants) => venue.completeCreated!(created, constants));
  }

  #publish(placed: Placed): void {
    const { transaction, located, pool } = placed;
    const { venue: name, path, event, lpBurned } = located;
    const venue = this.#venueByName.get(name)!;
    const base = { transaction, path, venue, pool };
    if (event.type === 'trade') {
      const completed = this.#trade(venue, event);
      if (completed === null) return this.#lose([placed], notCompleted);
      this.emitter.trade({ event: completed, ...base }, completesCurve(transaction, event));
      this.#resolver.requestSupplyIfDue(pool, transaction.receivedUs / 1000);
      this.#mainPools.readIfInDoubt(pool, tradeSeen(transaction, event));
    } else if (event.type === 'created') {
      const completed = this.#creation(venue, event);
      const buys = buysOfCreator(transaction, event).map((buy) => this.#trade(venue, buy));
      if (completed === null || !buys.every((buy) => buy !== null)) return this.#lose([placed], notCompleted);
      this.emitter.creation({ event: completed, ...base }, buys);
    } else if (event.type === 'migrated') this.emitter.migration({ event, ...base });
    else if (event.type === 'reserves') this.emitter.reserves({ event, ...base });
    else if (event.type === 'poolCreated') this.emitter.poolCreated({ event, ...base }, lpBurned);
    else if (event.type === 'liquidityAdded' || event.type === 'liquidityRemoved') this.emitter.liquidity({ event, ...base }, lpBurned);
  }

  #lose(placed: readonly Placed[], reason: string): void {
    const [first] = placed;
    if (first === undefined) return;
    this.counts.lostEvents += placed.length;
    for (const { located } of placed) this.lost.set(located.venue, (this.lost.get(located.venue) ?? 0) + 1);
    const { transaction, pool } = first;
    const { signature, slot } = transaction;
    this.#parts.onLoss({ kind: 'events', reason, events: placed.length, signature, slot, pool: pool.address });
  }
}

const notCompleted = 'the numbers that complete it are not known';

function needOfEvent({ located: { event }, pool }: Placed): Need | null {
  if (event.type === 'liquidityLocked' || event.type === 'completed') return null;
  return needOf(pool, event.type === 'created' && event.tokenProgram === null);
}
