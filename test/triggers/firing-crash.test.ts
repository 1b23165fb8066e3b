import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { triggerTerms } from '../support/triggers/triggers.ts';
import { until } from '../support/until.ts';
import { EngineWorld } from './engine-world.ts';

/** Where the process dies: before or after this happens in the store for the `nth` time. */
interface Death {
  readonly at: 'change' | 'order';
  readonly nth: number;
  readonly when: 'before' | 'after';
}

/**
 * A process that dies at one moment: from then on, none of its calls has an effect or returns. If it comes back, as a process that was suspended
 * does, the calls that it was in have their effect then.
 */
class Mortal {
  isDead = false;
  isBack = false;
  readonly #death: Death;
  readonly #left = { change: 0, order: 0 };
  #revive = (): void => undefined;
  readonly #revived = new Promise<void>((resolve) => (this.#revive = resolve));

  constructor(death: Death) {
    this.#death = death;
  }

  comesBack(): void {
    this.isBack = true;
    this.#revive();
  }

  async run<T>(kind: Death['at'] | 'read', work: () => Promise<T>): Promise<T> {
    const { at, nth, when } = this.#death;
    const isNow = kind === at && ++this.#left[kind] === nth;
    if (isNow && when === 'before') this.isDead = true;
    if (this.isDead) await this.#revived;
    const done = await work();
    if (isNow && when === 'after') this.isDead = true;
    if (this.isDead) await this.#revived;
    return done;
  }
}

/** The writes of one firing: it begins, its order is noted, it ends. */
const deaths: readonly Death[] = [
  ...[1, 2, 3].flatMap((nth) => (['before', 'after'] as const).map((when) => ({ at: 'change', nth, when }) as const)),
  { at: 'order', nth: 1, when: 'before' },
  { at: 'order', nth: 1, when: 'after' },
];

let world: EngineWorld;
beforeEach(async () => {
  world = await EngineWorld.open();
  await world.engine.close();
});
afterEach(() => world.close());

async function startMortal(mortal: Mortal): Promise<void> {
  const { triggers, orders } = world.store;
  await world.start({
    table: {
      ...triggers,
      advanceAll: (...all) => mortal.run('change', () => triggers.advanceAll(...all)),
      byId: (...all) => mortal.run('read', () => triggers.byId(...all)),
    },
    orders: {
      ...orders,
      byId: (...all) => mortal.run('read', () => orders.byId(...all)),
      lookUp: (...all) => mortal.run('read', () => orders.lookUp(...all)),
    },
    holdsRole: () => !mortal.isDead || mortal.isBack,
  });
  world.fateOfAll = (_, store) => mortal.run('order', store);
}

describe.each(deaths)('a process that dies $when the $at number $nth of a firing', (death) => {
  it.each([false, true])('leaves one order, one exit and its children to the next one (it comes back: %s)', async (comesBack) => {
    const mortal = new Mortal(death);
    await startMortal(mortal);
    const child = world.trigger({}, { state: 'waiting' });
    const first = world.trigger({
      order: { side: 'buy', publicKey: triggerTerms.order.publicKey, mint: triggerTerms.order.mint, amount: 0.5 },
      ocoGroup: 'g',
      childIds: [child.id],
    });
    const [id, childId, sibling] = await world.arm(first, Object.assign(child, { parentId: first.id }), world.trigger({ ocoGroup: 'g' }));
    const old = world.engine;
    const oldWatch = world.watch;
    oldWatch.meet([id!]);
    // What happens on the chain does not wait for the process.
    if (death.at === 'change' && death.nth > 1) await becomeFilled((await world.order(`trg:${id}:1:1`)).id);
    await until('its death', () => mortal.isDead);

    world.fateOfAll = 'store';
    await world.start();
    // The log is read again from its checkpoint, so the condition is met again if it is still watched.
    world.watch.meet([id!, sibling!]);
    if (comesBack) mortal.comesBack();
    // With the first change lost, any of the two may go first.
    const firings = await until('one of the group to fire', async () => {
      for (const one of [id!, sibling!]) {
        const { state, orderId } = await world.stored(one);
        if (state === 'firing' && orderId !== null) await becomeFilled(orderId);
      }
      const both = [await world.stored(id!), await world.stored(sibling!)];
      return both.every(({ state }) => state !== 'armed' && state !== 'firing') && both;
    });
    expect(firings.map(({ state }) => state).toSorted()).toEqual(['cancelled', 'fired']);
    expect(await world.ordersInStore()).toBe(1);
    const offspring = await world.stored(childId!);
    const hasFired = firings[0]!.state === 'fired';
    expect(offspring.state).toBe(hasFired ? 'armed' : 'cancelled');
    if (hasFired) expect(offspring.progress.parentAmount).toBe('77');
    // The old process still believes that it has the role.
    oldWatch.meet([id!, sibling!]);
    await pause(comesBack ? 100 : 0);
    expect(await world.ordersInStore()).toBe(1);
    mortal.comesBack();
    await old.close();
  });
});

async function becomeFilled(orderId: string): Promise<void> {
  const order = await world.store.orders.byId(orderId);
  if (order?.state === 'submitted') await world.becomes(order, 'confirmed', 77n);
}

it('takes up everything that a process left, in every state, and places each attempt once', async () => {
  const mortal = new Mortal({ at: 'order', nth: 20, when: 'before' });
  await startMortal(mortal);
  const armed = Array.from({ length: 40 }, () => world.trigger());
  await world.arm(...armed);
  const ids = armed.map(({ id }) => id);
  world.watch.meet(ids);
  await until('its death', () => mortal.isDead);
  const old = world.engine;
  world.fateOfAll = 'store';
  await world.start();
  world.watch.meet(ids);
  const settled = (): Promise<readonly StoredTrigger[]> => Promise.all(ids.map((id) => world.stored(id)));
  await until('an order of each', async () => (await settled()).every(({ orderId }) => orderId !== null));
  mortal.comesBack();
  await old.close();
  expect((await settled()).map(({ progress }) => progress.attempt)).toEqual(ids.map(() => 1));
  expect(await world.ordersInStore()).toBe(40);
});
