import type { LogFollower, OpenState, Section } from '@sluice/followers/kit/follower.ts';
import { PositionLedger } from '@sluice/followers/positions/ledger.ts';
import { decodePosition, decodeWalletState, encodePosition, encodeWalletState } from '@sluice/followers/positions/stored.ts';
import { newWallet } from '@sluice/followers/positions/wallet-state.ts';
import { readPositionEvent, type PositionEvent } from '@sluice/followers/positions/wallet-trade.ts';
import type { WalletRows } from '@sluice/gateway/store/sql/tables/wallet-states.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { LogEntry, LogPosition } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { SendNode } from '../nodes/nodes.ts';
import { readBalances } from './balances.ts';
import { countOrders } from './counted-orders.ts';
import type { FollowedWallets } from './followed-wallets.ts';
import { readHistory } from './history.ts';
import { Upkeep } from './upkeep.ts';

/** The place in the log is stored at least this often. After a crash, the log is read again from there. */
const checkpointEveryMs = 1_000;
/** How often reads of the chain are started, and how often orders are looked for if none has ended here. */
const startEveryMs = 250;
const ordersEveryMs = 5_000;
/** The row of a wallet's own state. */
export const ownRow = '';

export interface PositionFollowerParts {
  /** Unique among the stores that share a bus. */
  readonly name: string;
  readonly store: Store;
  readonly mode: Config['trading'];
  /** Resolves with the genesis hash of the chain once it is known, or with null if `until` fires before. */
  readonly chain: (until: AbortSignal) => Promise<string | null>;
  readonly nodes: readonly SendNode[];
  readonly followed: FollowedWallets;
  /** The newest slot of the chain (0 while it is unknown), and the newest that an answer may have. */
  readonly slots: { readonly slot: number; readonly newestSlot: number };
  readonly solUsd: () => number | null;
  /** Shown positions of a wallet changed. `isStored` is false at the moment of the change, and true once it is stored. */
  readonly onShown: (wallet: string, mints: ReadonlySet<string>, isStored: boolean) => void;
  readonly clock: Pick<Clock, 'steadyMs'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** One period in which this process keeps the positions. */
interface Term {
  readonly place: string;
  readonly genesisHash: string;
  readonly term: number;
  readonly ledger: PositionLedger;
  readonly upkeep: Upkeep;
  checkpoint: LogPosition | null;
  savedAtMs: number;
  shown: Map<string, Set<string>>;
  nextStartMs: number;
  nextOrdersMs: number;
}

/** The place of the states of a chain. */
export function placeOf(mode: Config['trading'], genesisHash: string): string {
  return `${mode}:${genesisHash}`;
}

/** Keeps the positions of followed wallets in the store, from the log, the history of the chain and ended orders. */
export class PositionFollower implements LogFollower<PositionEvent> {
  readonly name: string;
  readonly #parts: PositionFollowerParts;
  #term: Term | null = null;
  #ordersEnded = false;

  constructor(parts: PositionFollowerParts) {
    this.name = parts.name;
    this.#parts = parts;
  }

  /** Null while this process does not keep the positions. */
  get ledger(): PositionLedger | null {
    return this.#term?.ledger ?? null;
  }

  get counts(): Upkeep['counts'] | null {
    return this.#term?.upkeep.counts ?? null;
  }

  /** An order has ended: it is counted at the next round. */
  orderEnded(): void {
    this.#ordersEnded = true;
  }

  read(entry: LogEntry): PositionEvent | null {
    const { ledger } = this;
    return readPositionEvent(entry, (wallet) => ledger?.has(wallet) === true);
  }

  async open(): Promise<OpenState<PositionEvent>> {
    const { store, mode, chain, followed, signal } = this.#parts;
    const genesisHash = await chain(signal);
    if (genesisHash === null) throw new Error('The chain of the positions is not known.');
    const place = placeOf(mode, genesisHash);
    const number = await store.walletStates.openTerm(place, store.time.nowMs());
    const { checkpoint, wallets } = await store.walletStates.load(place);
    const ledger = new PositionLedger();
    for (const [wallet, rows] of wallets) addStored(ledger, wallet, rows);
    const steady = { savedAtMs: Number.NEGATIVE_INFINITY, nextStartMs: 0, nextOrdersMs: 0 };
    const upkeep = new Upkeep(ledger, this.#reads());
    const term: Term = { place, genesisHash, term: number, ledger, upkeep, checkpoint, shown: new Map(), ...steady };
    followed.hurry();
    await this.#follow(term);
    this.#term = term;
    return {
      checkpoint,
      apply: (section) => this.#apply(term, section),
      round: () => this.#round(term),
      close: async () => {
        if (this.#term === term) this.#term = null;
      },
    };
  }

  #reads(): ConstructorParameters<typeof Upkeep>[1] {
    const { nodes, slots, store, signal, log } = this.#parts;
    const parts = { nodes, newestSlot: () => slots.newestSlot, signal };
    return {
      history: (wallet, from, to) => readHistory(parts, wallet, from, to),
      balances: (wallet, oldest) => readBalances(parts, wallet, oldest, store.time.nowMs()),
      slot: () => slots.slot,
      onFault: (error, wallet) => log.error({ err: error, wallet }, 'wallet_read_failed'),
    };
  }

  async #apply(term: Term, { events, from, to, afterLoss }: Section<PositionEvent>): Promise<'applied' | 'fenced'> {
    const isWhole = afterLoss === null && (from === null ? term.ledger.size === 0 : from.epoch === to.epoch);
    if (!isWhole) term.ledger.markBehind();
    term.ledger.take(events);
    term.checkpoint = to;
    this.#noteShown(term);
    return (await this.#save(term, [])) ? 'applied' : 'fenced';
  }

  async #round(term: Term): Promise<boolean> {
    const nowMs = this.#parts.clock.steadyMs();
    await this.#follow(term);
    term.upkeep.apply(nowMs);
    if (nowMs >= term.nextStartMs) {
      term.nextStartMs = nowMs + startEveryMs;
      term.upkeep.start(nowMs);
    }
    const counted = await this.#count(term, nowMs);
    this.#noteShown(term);
    return this.#save(term, counted);
  }

  /** Adds wallets that are followed now, and drops the others. */
  async #follow(term: Term): Promise<void> {
    const { followed, mode, clock } = this.#parts;
    const asked = await followed.read();
    if (asked === null) return;
    for (const wallet of followed.all()) {
      if (term.ledger.has(wallet)) continue;
      const isPaper = mode === 'paper' && followed.custodial.has(wallet);
      const state = term.ledger.add(wallet, isPaper ? { ...newWallet, isBehind: false, paperSinceMs: 0 } : null);
      if (isPaper) term.ledger.clear(state, 0);
    }
    for (const { wallet } of term.ledger.wallets()) if (!followed.has(wallet)) this.#drop(term, wallet);
    for (const wallet of asked) term.upkeep.asked(wallet, clock.steadyMs());
  }

  #drop({ ledger, upkeep, shown }: Term, wallet: string): void {
    ledger.drop(wallet);
    upkeep.forget(wallet);
    shown.delete(wallet);
  }

  async #count(term: Term, nowMs: number): Promise<readonly string[]> {
    const { store, mode, solUsd, followed } = this.#parts;
    if (mode === 'off' || (!this.#ordersEnded && nowMs < term.nextOrdersMs)) return [];
    this.#ordersEnded = false;
    const { genesisHash, ledger } = term;
    const followAll = async (): Promise<void> => {
      followed.hurry();
      await this.#follow(term);
    };
    const counted = await countOrders({ store, genesisHash, isPaper: mode === 'paper', ledger, solUsd, followAll });
    // There may be more than one call reads.
    term.nextOrdersMs = counted.length > 0 ? nowMs : nowMs + ordersEveryMs;
    return counted;
  }

  #noteShown(term: Term): void {
    const { clock, onShown } = this.#parts;
    for (const [wallet, mints] of term.ledger.takeShown()) {
      term.upkeep.changed(wallet, clock.steadyMs());
      const known = term.shown.get(wallet) ?? new Set<string>();
      for (const mint of mints) known.add(mint);
      term.shown.set(wallet, known);
      onShown(wallet, mints, false);
    }
  }

  /** False: another term has begun. */
  async #save(term: Term, counted: readonly string[]): Promise<boolean> {
    const { store, clock, onShown } = this.#parts;
    const { place, ledger, checkpoint } = term;
    const wallets = ledger.takeChanges().map(({ wallet, state, positions }): WalletRows => ({
      wallet,
      rows: new Map([
        [ownRow, encodeWalletState(state)],
        ...[...positions].map(([mint, position]) => [mint, position === null ? null : encodePosition(position)] as const),
      ]),
    }));
    const dropped = ledger.takeDropped();
    const nowMs = clock.steadyMs();
    const isDue = wallets.length + dropped.length + counted.length > 0 || nowMs - term.savedAtMs >= checkpointEveryMs;
    if (!isDue) return true;
    const atMs = store.time.nowMs();
    const outcome = await store.walletStates.save({ place, term: term.term, checkpoint, wallets, dropped, counted, atMs });
    if (outcome === 'fenced') return false;
    term.savedAtMs = nowMs;
    const { shown } = term;
    term.shown = new Map();
    for (const [wallet, mints] of shown) onShown(wallet, mints, true);
    return true;
  }
}

function addStored(ledger: PositionLedger, wallet: string, rows: ReadonlyMap<string, string>): void {
  const own = rows.get(ownRow);
  if (own === undefined) return;
  const positions = [...rows].filter(([mint]) => mint !== ownRow).map(([mint, text]) => [mint, decodePosition(text)] as const);
  ledger.add(wallet, decodeWalletState(own), new Map(positions));
}
