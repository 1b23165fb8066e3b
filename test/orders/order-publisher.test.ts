import { unsealedEvents } from '@sluice/gateway/stream/delivery/private-events.ts';
import { OrderPublisher, maxQueuedOrders } from '../../trading/src/model/order-publisher.ts';
import type { StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import type { Bus, BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { TriggerEvent } from '@sluice/shared/wire/orders/triggers.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import type { TriggerCondition } from '@sluice/shared/market/trigger-condition.ts';
import type { StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import { addressOf } from '../support/events/stream-events.ts';
import { newTrigger, triggerTerms } from '../support/triggers/triggers.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import type { OrderEvent } from '@sluice/shared/wire/orders/orders.ts';
import { describe, expect, it } from 'vitest';
import { until } from '../support/gateway.ts';
import { newOrder } from '../support/orders.ts';

const log = createLog({ level: 'silent', name: 'test' });
const nowMs = 1_800_000_000_000;

function changeOf(version: number, more: Partial<StoredOrder> = {}): StoredOrder {
  return { ...newOrder(nowMs, { id: 'ord_1' }), updatedAtMs: nowMs, version, ...more };
}

/** A bus that stores everything, a part, or nothing, like a bus with a bad connection. */
class MoodyBus implements Pick<Bus, 'publisher'> {
  /** How many entries of a call it stores before it fails; null: all. */
  takes: number | null = null;
  calls = 0;
  readonly events: OrderEvent[] = [];
  readonly topics = new Set<string>();

  async publisher(): Promise<BusPublisher> {
    const nothing = async (): Promise<void> => undefined;
    return { publish: (entries) => this.#publish(entries), setStatus: nothing, close: nothing };
  }

  async #publish(entries: readonly BusEntry[]): Promise<void> {
    this.calls++;
    const stored = Math.min(this.takes ?? entries.length, entries.length);
    for (const { record, topics } of entries.slice(0, stored)) {
      this.events.push(JSON.parse(Buffer.from(record).toString()) as OrderEvent);
      for (const topic of topics) this.topics.add(topic);
    }
    if (stored < entries.length) throw new BusError('UNAVAILABLE', 'It is unavailable.', undefined, stored);
  }
}

const versions = (bus: MoodyBus): readonly number[] => bus.events.map(({ version }) => version);
const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, i) => i + 1);

describe('the publisher of orders', () => {
  it('publishes every change once, in order, also after an outage of which a part was stored', async () => {
    const bus = new MoodyBus();
    const publisher = new OrderPublisher({ bus, events: unsealedEvents, simulated: () => false, log });
    bus.takes = 3;
    for (const version of upTo(1_000)) publisher.publish(changeOf(version));
    await until('the bus to refuse twice', () => publisher.counts.failures >= 2);
    bus.takes = null;
    await publisher.flushed();
    expect(versions(bus)).toEqual(upTo(1_000));
    expect(bus.topics).toEqual(new Set(['orders:key']));
    expect(publisher.counts).toMatchObject({ published: 1_000, dropped: 0, refused: 0 });
    expect(publisher.counts.failures).toBeGreaterThanOrEqual(2);
    await publisher.close();
  });

  it('publishes a trigger in the form of its schema, with what it can still cost, to the topic of its key', async () => {
    const bus = new MoodyBus();
    const publisher = new OrderPublisher({ bus, events: unsealedEvents, simulated: () => true, log });
    const follow = { kind: 'account', account: addressOf(9), side: 'buy', minSol: 1.5, times: 5 } as const;
    const conditions: readonly (readonly [TriggerCondition, TriggerEvent['when']])[] = [
      [
        { kind: 'level', metric: 'priceUsd', op: '>=', value: 2 },
        { metric: 'priceUsd', op: '>=', value: 2 },
      ],
      [
        { kind: 'profit', op: '<=', percent: -45 },
        { position: 'profitPct', op: '<=', value: -45 },
      ],
      [{ kind: 'trailing', metric: 'priceSol', percent: 5 }, { trailing: { metric: 'priceSol', percent: 5 } }],
      [{ kind: 'at', atMs: nowMs }, { at: nowMs }],
      [
        { kind: 'every', everyMs: 90_000, times: 3 },
        { every: '90s', times: 3 },
      ],
      [{ kind: 'migration' }, { event: 'migration' }],
      [{ kind: 'filled', orderId: 'ord_01JD2Q6M7N8P9RSTVWXYZ01234' }, { filled: 'ord_01JD2Q6M7N8P9RSTVWXYZ01234' }],
      [follow, { account: addressOf(9), side: 'buy', minSol: 1.5, times: 5 }],
    ];
    const error = { code: 'SLIPPAGE_EXCEEDED', message: 'Too much.', detailsJson: '{"quoted":"1"}' };
    const more: Partial<StoredTrigger> = { error, waitingFor: 'shallow_pool', updatedAtMs: nowMs + 1, version: 2, cancelAsked: false };
    for (const [when] of conditions)
      publisher.publishTrigger({ ...newTrigger(nowMs), terms: { ...triggerTerms, when }, ...more } as StoredTrigger);
    const order = { side: 'buy', publicKey: addressOf(3), mint: null, amount: '25% of trade', maxAmount: 0.5, priorityFee: 0.001 } as const;
    const progress = { ...newTrigger(nowMs).progress, firing: 2 };
    const buying = {
      ...newTrigger(nowMs),
      terms: { ...triggerTerms, order, when: follow, retries: 1 },
      progress,
      ...more,
    } as StoredTrigger;
    for (const state of ['armed', 'firing', 'cancelled'] as const) publisher.publishTrigger({ ...buying, state });
    await publisher.flushed();
    const events = bus.events as unknown as readonly TriggerEvent[];
    for (const event of events) expect(validator(TriggerEvent)(event)).toEqual({ ok: true, value: event });
    expect(events.slice(0, conditions.length).map(({ when }) => when)).toEqual(conditions.map(([, when]) => when));
    expect(events[0]).toMatchObject({
      id: `${events[0]!.triggerId}:2`,
      status: 'armed',
      error: { code: 'SLIPPAGE_EXCEEDED', details: { quoted: '1' } },
      waitingFor: 'shallow_pool',
      ts: { received: (nowMs + 1) * 1_000 },
      simulated: true,
      // A sell: the fees of one order and of three more attempts.
      maxCostSol: 0.04,
    });
    // Three firings are left, or four with the one that has begun: each 0.5 SOL and two fees.
    expect(events.slice(-3).map(({ maxCostSol }) => maxCostSol)).toEqual([1.506, 2.008, 0]);
    expect(bus.topics).toEqual(new Set(['orders:key']));
    await publisher.close();
  });

  it('drops the oldest waiting changes beyond its bound, and counts them', async () => {
    const bus = new MoodyBus();
    bus.takes = 0;
    const publisher = new OrderPublisher({ bus, events: unsealedEvents, simulated: () => false, log });
    publisher.publish(changeOf(1));
    await until('the bus to refuse', () => bus.calls > 0);
    for (let version = 2; version <= maxQueuedOrders + 11; version++) publisher.publish(changeOf(version));
    bus.takes = null;
    await publisher.flushed();
    expect(publisher.counts).toMatchObject({ published: maxQueuedOrders + 1, dropped: 10 });
    expect(versions(bus)).toEqual([1, ...upTo(maxQueuedOrders + 11).slice(11)]);
    await publisher.close();
  });

  it('publishes the others although one change cannot be published', async () => {
    const bus = new MoodyBus();
    const publisher = new OrderPublisher({ bus, events: unsealedEvents, simulated: () => false, log });
    const error = { message: '', detailsJson: '{}' };
    publisher.publish(changeOf(1));
    publisher.publish(changeOf(2, { state: 'failed', error: { ...error, code: 'NO_SUCH_CODE' } }));
    publisher.publish(changeOf(3, { state: 'failed', error: { ...error, code: 'INTERNAL', message: 'x'.repeat(600 * 1024) } }));
    publisher.publish(changeOf(4));
    await publisher.flushed();
    expect(versions(bus)).toEqual([1, 4]);
    expect(publisher.counts).toMatchObject({ published: 2, refused: 2, dropped: 0 });
    await publisher.close();
  });

  it('ends also while the bus is unavailable, and accepts nothing afterwards', async () => {
    const bus = new MoodyBus();
    bus.takes = 0;
    const publisher = new OrderPublisher({ bus, events: unsealedEvents, simulated: () => false, log });
    publisher.publish(changeOf(1));
    await until('the bus to refuse', () => bus.calls > 0);
    await publisher.close();
    publisher.publish(changeOf(2));
    await publisher.flushed();
    expect(publisher.counts).toMatchObject({ published: 0, dropped: 1 });
    expect(bus.events).toEqual([]);
  });
});
