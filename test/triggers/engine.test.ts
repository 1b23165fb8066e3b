import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { isSameRequest } from '@sluice/gateway/store/order-model/order.ts';
import type { Refusal } from '../../trading/src/place/outcome.ts';
import { makeKey } from '../support/keys.ts';
import { triggerTerms } from '../support/triggers/triggers.ts';
import { until } from '../support/until.ts';
import { EngineWorld } from './engine-world.ts';

const halted: Refusal = { error: 'TRADING_HALTED', retryAfterSeconds: 0.02 };
const slipped: Refusal = { error: 'SLIPPAGE_EXCEEDED', message: 'The price moved.' };

let world: EngineWorld;
beforeEach(async () => {
  world = await EngineWorld.open();
});
afterEach(() => world.close());

const keysOf = (): readonly string[] => world.placed.map(({ use }) => use.key);

describe('the engine of triggers', () => {
  it('stores that a trigger fires before its order is placed, and follows the order to its end', async () => {
    const states: string[] = [];
    world.fateOfAll = async ({ use }, store) => {
      states.push((await world.stored(use.key.split(':')[1]!)).state);
      return store();
    };
    const id = await world.armOne();
    world.watch.meet([id]);
    const order = await world.order(`trg:${id}:1:1`);
    expect(states).toEqual(['firing']);
    await world.becomes(order, 'processed');
    await world.becomes(order, 'confirmed');
    const fired = await world.in(id, 'fired');
    expect(fired).toMatchObject({ orderId: order.id, error: null, waitingFor: null, late: false });
    expect(world.published.map(({ state, orderId }) => `${state} ${orderId ?? '-'}`)).toEqual([
      'armed -',
      'firing -',
      `firing ${order.id}`,
      `fired ${order.id}`,
    ]);
    expect(world.published.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    expect(world.stats.ended.fired).toBe(1);
    expect(world.stats.sentUs.count).toBe(1);
    expect(world.engine.size).toBe(0);
    // Nobody else has this key, not even the same text from a client.
    expect(isSameRequest(world.placed[0]!.use, { endpoint: 'tradeSell', fingerprint: world.placed[0]!.use.fingerprint })).toBe(false);
  });

  it('places no order for a price on which the nodes do not agree, and says so; it fires when they do', async () => {
    const price = { op: '>=', priceSol: 2, boundSol: 1 } as const;
    const answers: ((isTrue: boolean) => void)[] = [];
    await world.engine.close();
    await world.start({ prices: { isTrue: () => new Promise<boolean>((resolve) => answers.push(resolve)) } });
    const [id, cancelled] = [await world.armOne({ holdMs: 100 }), await world.armOne()];
    world.watch.meet([id, cancelled], { price });
    await until('both questions', () => answers.length === 2);
    await world.store.triggers
      .cancel(world.engine.term!, { ids: [cancelled] }, Date.now())
      .then((all) => all !== 'fenced' && world.engine.take(all));
    answers[1]!(true);
    answers[0]!(false);
    await until('the reason', async () => (await world.stored(id)).waitingFor === 'price_unconfirmed');
    expect(world.watch.watched.get(id)).toMatchObject({ holdMs: 250 });
    expect(world.placed).toEqual([]);
    world.watch.meet([id], { price });
    await until('another question', () => answers.length === 3);
    answers[2]!(true);
    await world.becomes(await world.order(`trg:${id}:1:1`), 'confirmed');
    await world.in(id, 'fired');
    expect(keysOf()).toEqual([`trg:${id}:1:1`]);
    expect((await world.stored(cancelled)).state).toBe('cancelled');
  });

  it('does not take the end of an earlier order for that of the one that it places now', async () => {
    const id = await world.armOne({ when: { kind: 'every', everyMs: 60_000, times: 2 } });
    world.watch.meet([id]);
    const first = await world.order(`trg:${id}:1:1`);
    await world.becomes(first, 'confirmed');
    await world.in(id, 'armed');
    let place = (): void => undefined;
    const held = new Promise<void>((resolve) => (place = resolve));
    world.fates = [(_placed, store) => held.then(store)];
    world.watch.meet([id]);
    await until('the second order to be placed', () => world.placed.length === 2);
    await world.becomes(first, 'finalized');
    await pause(50);
    expect((await world.stored(id)).state).toBe('firing');
    place();
    const second = await world.order(`trg:${id}:2:1`);
    await world.becomes(second, 'confirmed');
    expect(await world.in(id, 'fired')).toMatchObject({ orderId: second.id });
  });

  it('begins a new attempt only after an order that cannot land any more, and fails with the last error', async () => {
    const id = await world.armOne({ retries: 1 });
    world.watch.meet([id]);
    await world.becomes(await world.order(`trg:${id}:1:1`), 'failed');
    await world.becomes(await world.order(`trg:${id}:1:2`), 'expired');
    const failed = await world.in(id, 'failed');
    expect(failed.error?.code).toBe('TRANSACTION_EXPIRED');
    expect(keysOf()).toEqual([`trg:${id}:1:1`, `trg:${id}:1:2`]);
    expect(failed.progress).toMatchObject({ firing: 1, attempt: 2 });
  });

  it('counts a refused quote as an attempt, and a halt not', async () => {
    const id = await world.armOne({ retries: 1 });
    world.fates = [halted, halted, slipped, halted];
    world.watch.meet([id]);
    await world.becomes(await world.order(`trg:${id}:1:2`), 'confirmed');
    await world.in(id, 'fired');
    expect(keysOf().map((key) => key.slice(-3))).toEqual(['1:1', '1:1', '1:1', '1:2', '1:2']);

    const patient = await world.armOne({ retryForMs: 300 });
    world.fateOfAll = halted;
    world.watch.meet([patient]);
    expect((await world.in(patient, 'failed')).error?.code).toBe('TRADING_HALTED');
    expect(new Set(keysOf().filter((key) => key.includes(patient)))).toEqual(new Set([`trg:${patient}:1:1`]));
  });

  it('ends with an internal error if the program itself fails, and says if too many conditions are watched', async () => {
    const id = await world.armOne({ retryForMs: 1_500 });
    world.fateOfAll = () => Promise.reject(new TypeError('a bug'));
    world.watch.meet([id]);
    expect((await world.in(id, 'failed')).error?.code).toBe('INTERNAL');
    expect(new Set(keysOf()).size).toBe(1);
    world.watch.most = 0;
    const unwatched = await world.armOne();
    await until('its reason', async () => (await world.stored(unwatched)).waitingFor === 'too_many_watched');
  });

  it('places nothing for a key that was revoked or lost its scope, and shows why', async () => {
    const [revoked, between] = await world.arm(world.trigger(), world.trigger());
    const weak = await makeKey(world.store, { scopes: ['read'] });
    const without = await world.armOne({}, { keyId: weak.id });
    world.watch.meet([without]);
    expect((await world.in(without, 'failed')).error?.code).toBe('FORBIDDEN');

    world.watch.meet([between!]);
    const first = await world.order(`trg:${between}:1:1`);
    await world.store.keys.revoke(world.keyId, world.store.time.nowMs());
    await pause(120);
    await world.becomes(first, 'failed');
    expect((await world.in(between!, 'failed')).error?.code).toBe('UNAUTHENTICATED');
    world.watch.meet([revoked!]);
    expect((await world.in(revoked!, 'failed')).error?.code).toBe('UNAUTHENTICATED');
    expect(keysOf()).toEqual([`trg:${between}:1:1`]);
  });

  it('lets one key with a thousand met triggers delay no other key', async () => {
    let [atOnce, most] = [0, 0];
    const ofKey = new Map<string, number>();
    world.fateOfAll = async ({ owner }, store) => {
      ofKey.set(owner.keyId, (ofKey.get(owner.keyId) ?? 0) + 1);
      expect(ofKey.get(owner.keyId)).toBeLessThanOrEqual(4);
      most = Math.max(most, ++atOnce);
      await pause(3);
      const outcome = await store();
      atOnce--;
      ofKey.set(owner.keyId, ofKey.get(owner.keyId)! - 1);
      return outcome;
    };
    const many = Array.from({ length: 1_000 }, () => world.trigger());
    await world.arm(...many);
    const other = await makeKey(world.store);
    const [one] = await world.arm(world.trigger({}, { keyId: other.id }));
    world.watch.meet([...many.map(({ id }) => id), one!]);
    await world.order(`trg:${one}:1:1`, other.id);
    expect(world.placed.findIndex(({ owner }) => owner.keyId === other.id)).toBeLessThan(9);
    await until('all to be placed', () => world.placed.length === 1_001);
    expect(most).toBeLessThanOrEqual(8);
    expect(new Set(keysOf()).size).toBe(1_001);
    await until('all to be in the store', async () => (await world.ordersInStore()) === 1_001);
  });

  it('gives a group one order at a time, lets another one take over after a failure, and ends the others in the same transaction', async () => {
    const [stop, take, third] = await world.arm(...['a', 'b', 'c'].map(() => world.trigger({ ocoGroup: 'g', retryForMs: 60_000 })));
    const stranger = await makeKey(world.store);
    const [foreign] = await world.arm(world.trigger({ ocoGroup: 'g' }, { keyId: stranger.id }));
    world.watch.meet([stop!, take!]);
    const first = await world.order(`trg:${stop}:1:1`);
    expect(
      (
        await until('a reason', async () => {
          const t = await world.stored(take!);
          return t.waitingFor !== null && t;
        })
      ).waitingFor,
    ).toBe('oco_sibling_firing');
    expect(keysOf()).toEqual([`trg:${stop}:1:1`]);
    await world.becomes(first, 'failed');
    // The sibling goes before the second attempt of the first one.
    const second = await world.order(`trg:${take}:1:1`);
    await pause(400);
    expect(keysOf()).toEqual([`trg:${stop}:1:1`, `trg:${take}:1:1`]);
    await world.becomes(second, 'confirmed');
    await world.in(take!, 'fired');
    expect((await world.stored(stop!)).state).toBe('cancelled');
    expect((await world.stored(third!)).state).toBe('cancelled');
    expect((await world.stored(foreign!)).state).toBe('armed');
    await pause(400);
    expect(keysOf()).toHaveLength(2);
  });

  it('arms children with their part of what was bought, and cancels them if nothing was', async () => {
    const family = (): ReturnType<EngineWorld['trigger']>[] => {
      const half = { ...triggerTerms.order, amount: '50%' };
      const children = [{ order: half }, { order: half }, {}].map((terms) => world.trigger(terms, { state: 'waiting' }));
      const order = { side: 'buy', publicKey: half.publicKey, mint: half.mint, amount: 0.5 } as const;
      const parent = world.trigger({ order, retries: 0, childIds: children.map(({ id }) => id) });
      return [parent, ...children.map((child) => Object.assign(child, { parentId: parent.id }))];
    };
    const [parent, ...children] = await world.arm(...family());
    world.watch.meet([parent!, ...children]);
    const order = await world.order(`trg:${parent}:1:1`);
    await world.becomes(order, 'confirmed', 1_001n);
    await world.in(parent!, 'fired');
    const armed = await Promise.all(children.map((id) => world.stored(id)));
    expect(armed.map(({ state }) => state)).toEqual(['armed', 'armed', 'armed']);
    expect(armed.map(({ progress }) => progress.parentAmount)).toEqual(['500', '501', '1001']);
    world.watch.meet([children[1]!]);
    await world.order(`trg:${children[1]}:1:1`);
    expect(world.placed.at(-1)!.request.order.amount).toEqual({
      kind: 'part',
      ppm: 1_000_000n,
      publicKey: triggerTerms.order.publicKey,
      most: 501n,
    });

    const [barren, ...never] = await world.arm(...family());
    world.watch.meet([barren!]);
    await world.becomes(await world.order(`trg:${barren}:1:1`), 'expired');
    await world.in(barren!, 'failed');
    for (const id of never) expect((await world.stored(id)).state).toBe('cancelled');
  });

  it('fires on the fill of an order, also of one that has filled before, and fails with an order that does not fill', async () => {
    const buy = await world.armOne();
    world.watch.meet([buy]);
    const order = await world.order(`trg:${buy}:1:1`);
    const onFill = { when: { kind: 'filled', orderId: order.id } } as const;
    const before = await world.armOne(onFill);
    await pause(50);
    expect((await world.stored(before)).state).toBe('armed');
    await world.becomes(order, 'confirmed');
    await world.order(`trg:${before}:1:1`);
    const after = await world.armOne(onFill);
    const late = await world.order(`trg:${after}:1:1`);
    const vain = await world.armOne({ when: { kind: 'filled', orderId: late.id } });
    await world.becomes(late, 'failed');
    expect((await world.in(vain, 'failed')).error?.code).toBe('SLIPPAGE_EXCEEDED');
  });

  it('repeats a recurring one until its last time, and places every trade of a followed account once', async () => {
    const order = { side: 'buy', publicKey: triggerTerms.order.publicKey, mint: null, amount: '25% of trade', maxAmount: 1 } as const;
    const when = { kind: 'account', account: triggerTerms.order.publicKey, side: 'buy', minSol: 0, times: 3 } as const;
    const id = await world.armOne({ order, when });
    const cause = (eventId: string, quoteAmount: string) => ({ mint: triggerTerms.order.mint!, eventId, baseAmount: '8', quoteAmount });
    world.watch.meet([id], { cause: cause('a', '2000000000') });
    await world.order(`trg:${id}:1:1`);
    world.watch.meet([id], { cause: cause('b', '9000000000') });
    world.watch.meet([id], { cause: cause('c', '400000000') });
    world.watch.meet([id], { cause: cause('d', '400000000') });
    for (const firing of [1, 2, 3]) await world.becomes(await world.order(`trg:${id}:${firing}:1`), 'confirmed');
    const fired = await world.in(id, 'fired');
    expect(fired.progress.cause?.eventId).toBe('c');
    expect(world.placed.map(({ request }) => request.order.amount)).toEqual(
      ['0.500000000', '1.000000000', '0.100000000'].map((text) => ({ kind: 'coins', of: 'sol', text })),
    );
  });

  it('passes the average cost to conditions on profit: what is known, what changes, and what becomes known later', async () => {
    await world.armOne({ when: { kind: 'profit', op: '<=', percent: -20 } });
    const { publicKey, mint } = triggerTerms.order;
    const cost = (): unknown => world.watch.costs.get(`${publicKey} ${mint}`);
    expect(cost()).toBeNull();
    world.cost = 2e-8;
    await until('the cost to be known', () => cost() === 2e-8);
    world.cost = 3e-8;
    world.onCost(publicKey, mint!);
    expect(cost()).toBe(3e-8);
    world.cost = null;
    world.onCost(publicKey, mint!);
    expect(cost()).toBeNull();
  });

  it('places nothing without the role, and everything when it has the role again', async () => {
    const id = await world.armOne();
    world.holdsRole = false;
    world.watch.meet([id]);
    await pause(100);
    expect((await world.stored(id)).state).toBe('armed');
    world.holdsRole = true;
    await world.order(`trg:${id}:1:1`);
  });

  it('places nothing after another process has opened a term, not even an order that is on its way', async () => {
    const [slow, later] = await world.arm(world.trigger(), world.trigger());
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    world.fates = [(_, store) => held.then(store)];
    world.watch.meet([slow!]);
    await until('the order to be placed', () => world.placed.length === 1);
    const successor = await world.store.triggers.openTerm(false);
    goOn();
    await until('the engine to stop', async () => {
      world.watch.meet([later!]);
      return world.engine.term === null;
    });
    await pause(100);
    expect(keysOf()).toEqual([`trg:${slow}:1:1`]);
    expect(await world.ordersInStore()).toBe(0);
    expect((await world.stored(later!)).state).toBe('armed');
    expect(successor).toBeGreaterThan(0);
  });

  it('makes one order of a firing whose writes the store does not answer', async () => {
    await world.engine.close();
    const { triggers, orders } = world.store;
    let lost = 0;
    /** Every second write takes effect without an answer, or has none and no effect. */
    const unsure = async <T>(work: () => Promise<T>): Promise<T> => {
      const turn = ++lost % 4;
      if (turn === 1) throw new StoreUnavailableError(new Error('lost'));
      const done = await work();
      if (turn === 3) throw new StoreUnavailableError(new Error('answer lost'));
      return done;
    };
    await world.start({
      table: { ...triggers, advanceAll: (...all) => unsure(() => triggers.advanceAll(...all)) },
      orders: { ...orders, byId: (id) => unsure(() => orders.byId(id)), lookUp: (...all) => unsure(() => orders.lookUp(...all)) },
    });
    const [id, sibling] = await world.arm(world.trigger({ ocoGroup: 'g' }), world.trigger({ ocoGroup: 'g' }));
    world.fates = [(_, store) => store().then(() => ({ error: 'UPSTREAM_UNAVAILABLE', message: 'The store did not answer.' }))];
    world.watch.meet([id!, sibling!]);
    const order = await world.order(`trg:${id}:1:1`);
    await world.becomes(order, 'confirmed');
    await world.in(id!, 'fired');
    await until('the sibling to end', async () => (await world.stored(sibling!)).state === 'cancelled');
    expect(new Set(keysOf())).toEqual(new Set([`trg:${id}:1:1`]));
    expect(await world.ordersInStore()).toBe(1);
  });

  it('ends what its owner cancels: at once, or after the order that is on its way', async () => {
    const [armed, firing, trying] = await world.arm(world.trigger(), world.trigger(), world.trigger());
    world.fates = ['store', slipped];
    world.watch.meet([firing!, trying!]);
    const order = await world.order(`trg:${firing}:1:1`);
    await until('a second attempt to be planned', async () => (await world.stored(trying!)).progress.attempt === 2);
    const cancelled = await world.store.triggers.cancel(world.engine.term!, { ids: [armed!, firing!, trying!] }, world.store.time.nowMs());
    world.engine.take(cancelled === 'fenced' ? [] : cancelled);
    await world.in(armed!, 'cancelled');
    await world.in(trying!, 'cancelled');
    expect((await world.stored(firing!)).state).toBe('firing');
    await world.becomes(order, 'failed');
    expect((await world.in(firing!, 'cancelled')).error?.code).toBe('SLIPPAGE_EXCEEDED');
    expect(keysOf()).toEqual([`trg:${firing}:1:1`, `trg:${trying}:1:1`]);
  });

  it('expires on time, and between attempts', async () => {
    const nowMs = world.store.time.nowMs();
    const child = world.trigger({}, { state: 'waiting' });
    const parent = world.trigger({ expiresAtMs: nowMs + 200, childIds: [child.id] });
    const [rested, waiting] = await world.arm(parent, Object.assign(child, { parentId: parent.id }));
    const trying = await world.armOne({ expiresAtMs: nowMs + 300, retries: 9 });
    world.fateOfAll = slipped;
    world.watch.meet([trying]);
    await world.in(rested!, 'expired');
    await world.in(waiting!, 'cancelled');
    expect((await world.in(trying, 'expired')).error?.code).toBe('SLIPPAGE_EXCEEDED');
    expect(world.store.time.nowMs()).toBeGreaterThanOrEqual(nowMs + 300);
    world.watch.meet([rested!]);
    await pause(50);
    expect(keysOf().filter((key) => key.includes(rested!))).toEqual([]);
  });
});
