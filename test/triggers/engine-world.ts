import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { IdempotencyUse, OrderState, Owner, StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { isEnded, type NewTrigger, type StoredTrigger, type TriggerTerms } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Outcome, Refusal } from '../../trading/src/place/outcome.ts';
import type { PlaceOrder } from '../../trading/src/place/place-order.ts';
import type { TradeRequest } from '../../trading/src/prepare/request.ts';
import { TriggerEngine, type EngineParts, type TermWatch } from '../../trading/src/triggers/engine/engine.ts';
import { initialProgress } from '../../trading/src/triggers/life/life.ts';
import { TriggerStats } from '../../trading/src/triggers/firing/trigger-stats.ts';
import type { Met, Watch } from '../../trading/src/triggers/life/watch.ts';
import { makeKey, openEmbeddedStore } from '../support/keys.ts';
import { newOrder, orderFill, orderGenesisHash, orderTerms } from '../support/orders.ts';
import { newTrigger, triggerTerms } from '../support/triggers/triggers.ts';
import { until } from '../support/until.ts';

/** Conditions that hold when a test says so. */
export class HandWatch implements TermWatch {
  readonly watched = new Map<string, Watch>();
  most = Infinity;
  /** By wallet and mint. */
  readonly costs = new Map<string, number | null>();
  readonly stored = (): void => undefined;
  readonly #met = new Map<string, Met>();
  readonly #onMet: () => void;

  constructor(onMet: () => void) {
    this.#onMet = onMet;
  }

  /** All at the same tick. */
  meet(ids: readonly string[], met: Partial<Met> = {}): void {
    for (const id of ids)
      if (this.watched.has(id))
        this.#met.set(id, { id, mint: 'mint', slot: 7, late: false, cause: null, price: null, publishedUs: null, ...met });
    this.#onMet();
  }

  add(watch: Watch): 'added' | 'full' {
    if (this.watched.size >= this.most) return 'full';
    this.watched.set(watch.id, watch);
    return 'added';
  }

  remove(id: string): void {
    this.watched.delete(id);
    this.#met.delete(id);
  }

  tick(): void {
    // Nothing depends on the time.
  }

  takeMet(limit: number, mayTake: (id: string) => boolean): readonly Met[] {
    const taken: Met[] = [];
    for (const [id, met] of this.#met) {
      if (taken.length === limit) break;
      if (!mayTake(id)) continue;
      taken.push(met);
      this.#met.delete(id);
      if (this.watched.get(id)?.when.kind !== 'account') this.watched.delete(id);
    }
    return taken;
  }

  setPosition(publicKey: string, mint: string, costSol: number | null): void {
    this.costs.set(`${publicKey} ${mint}`, costSol);
  }

  reasons(): ReadonlyMap<string, string | null> {
    return new Map();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export interface PlacedOrder {
  readonly owner: Owner;
  readonly request: TradeRequest;
  readonly use: IdempotencyUse;
}

/** What happens to the next order: it is stored, refused, or something of the test's own. */
export type Fate = 'store' | Refusal | ((placed: PlacedOrder, store: () => Promise<Outcome>) => Promise<Outcome>);

/** An engine over a real store. Orders are stored, and land when the test says so. */
export class EngineWorld {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'sluice-engine-'));
  /** Every call, in order. */
  readonly placed: PlacedOrder[] = [];
  readonly published: StoredTrigger[] = [];
  readonly stats = new TriggerStats();
  holdsRole = true;
  /** The average cost of every position, and how the engine learns that it has changed. */
  cost: number | null | 'unknown' = 'unknown';
  onCost: (publicKey: string, mint: string) => void = () => undefined;
  readonly positions: EngineParts['positions'] = {
    of: () => (typeof this.cost === 'number' ? { averageCostSol: this.cost } : this.cost),
    onChange: (listener) => {
      this.onCost = listener;
      return () => (this.onCost = () => undefined);
    },
  };
  keyId = '';
  /** What happens to the next orders; afterwards, they are stored. */
  fates: Fate[] = [];
  fateOfAll: Fate = 'store';
  store!: Store;
  engine!: TriggerEngine;
  watch!: HandWatch;

  static async open(more: Partial<EngineParts> = {}): Promise<EngineWorld> {
    const world = new EngineWorld();
    world.store = await openEmbeddedStore(world.dataDir);
    world.keyId = (await makeKey(world.store)).id;
    await world.start(more);
    return world;
  }

  /** Runs an engine, as a process that starts does. */
  async start(more: Partial<EngineParts> = {}): Promise<void> {
    const { store } = this;
    this.engine = new TriggerEngine({
      placeOrder: this.#placeOrder,
      venues,
      orders: store.orders,
      keys: store.keys,
      table: store.triggers,
      paper: false,
      nowMs: () => store.time.nowMs(),
      holdsRole: () => this.holdsRole,
      openWatch: (_term, onMet) => (this.watch = new HandWatch(onMet)),
      solUsd: () => 150,
      positions: this.positions,
      prices: null,
      chain: async () => orderGenesisHash,
      publish: (trigger) => this.published.push(trigger),
      stats: this.stats,
      clock: systemClock,
      log: createLog({ level: 'silent', name: 'test' }),
      ...more,
    });
    await until('the engine to run', () => this.engine.term !== null);
  }

  async close(): Promise<void> {
    await this.engine.close();
    await this.store.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Arms triggers of one owner, children (with a parent) as `waiting`. */
  async arm(...all: readonly NewTrigger[]): Promise<readonly string[]> {
    const outcome = await this.store.triggers.insert(this.engine.term!, all, { idempotency: null, maxArmed: 10_000 });
    if (outcome.kind !== 'stored') throw new Error(`not armed: ${outcome.kind}`);
    this.engine.take(outcome.triggers);
    return all.map(({ id }) => id);
  }

  /** A trigger of the key of this world. */
  trigger(terms: Partial<TriggerTerms> = {}, more: Partial<NewTrigger> = {}): NewTrigger {
    const all = { ...triggerTerms, ...terms };
    const nowMs = this.store.time.nowMs();
    return newTrigger(nowMs, { keyId: this.keyId, terms: all, progress: initialProgress(all, nowMs), ...more });
  }

  async armOne(terms: Partial<TriggerTerms> = {}, more: Partial<NewTrigger> = {}): Promise<string> {
    return (await this.arm(this.trigger(terms, more)))[0]!;
  }

  async stored(id: string): Promise<StoredTrigger> {
    const trigger = await this.store.triggers.byId(id);
    if (trigger === null) throw new Error(`no trigger ${id}`);
    return trigger;
  }

  /** Waits until the store has the trigger in this state. */
  in(id: string, state: StoredTrigger['state']): Promise<StoredTrigger> {
    return until(`${id} to be ${state}`, async () => {
      const trigger = await this.stored(id);
      if (isEnded(trigger.state) && trigger.state !== state) throw new Error(`is ${trigger.state}: ${JSON.stringify(trigger.error)}`);
      return trigger.state === state && trigger;
    });
  }

  /** Waits for the order of this attempt. */
  order(key: string, keyId = this.keyId): Promise<StoredOrder> {
    return until(`an order of ${key}`, async () => {
      const placed = this.placed.find(({ use }) => use.key === key);
      if (placed === undefined) return undefined;
      const known = await this.store.orders.lookUp(`key:${keyId}`, placed.use);
      return known.kind === 'replay' && known.order;
    });
  }

  /** The follower finds this out about an order. */
  async becomes(order: StoredOrder, state: OrderState, baseAmount = 1_001n): Promise<void> {
    const change =
      state === 'failed'
        ? { state, error: { code: 'SLIPPAGE_EXCEEDED', message: 'moved', detailsJson: '{}' } }
        : { state, ...(state === 'confirmed' && { fill: { ...orderFill, baseAmount } }) };
    const current = await this.store.orders.byId(order.id);
    const [outcome] = await this.store.orders.advanceAll([{ order: current!, change, atMs: this.store.time.nowMs() }]);
    if (outcome?.kind !== 'advanced') throw new Error('not advanced');
    this.engine.noteOrder(outcome.order);
  }

  /** Orders in the store, of all attempts that were tried. */
  async ordersInStore(): Promise<number> {
    let found = 0;
    for (const key of new Set(this.placed.map(({ use }) => use.key))) {
      const { owner, use } = this.placed.find((placed) => placed.use.key === key)!;
      const known = await this.store.orders.lookUp(owner.accountId === null ? `key:${owner.keyId}` : `account:${owner.accountId}`, use);
      if (known.kind === 'replay') found++;
    }
    return found;
  }

  readonly #placeOrder: PlaceOrder = async (owner, request, use) => {
    if (use === null || request.publicKey === null) throw new Error('a trigger places orders of a wallet, with a key');
    const placed = { owner, request, use };
    this.placed.push(placed);
    const fate = this.fates.shift() ?? this.fateOfAll;
    const store = (): Promise<Outcome> => this.#insert(placed);
    if (fate === 'store') return store();
    return typeof fate === 'function' ? fate(placed, store) : fate;
  };

  async #insert({ owner, request, use }: PlacedOrder): Promise<Outcome> {
    const { side, mint } = request.order;
    const order = newOrder(this.store.time.nowMs(), { ...owner, terms: { ...orderTerms, side, mint, publicKey: request.publicKey } });
    const inserted = await this.store.orders.insert(order, { idempotency: use, spend: null, followedBy: 'gateway' });
    if (inserted.kind !== 'stored' && inserted.kind !== 'replay') return { error: 'UPSTREAM_UNAVAILABLE', message: inserted.kind };
    const answer = { orderId: inserted.order.id } as Extract<Outcome, { answer: unknown }>['answer'];
    return { answer, isReplay: inserted.kind === 'replay' };
  }
}
