import { logged } from '../support/events/stream-events.ts';
import { EventView } from '@sluice/shared/codec/event-view.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { BusError } from '@sluice/shared/bus/bus-error.ts';
import type { Bus, BusEntry, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { readVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { topicsOf, type PublishableEvent } from '../../ingest/src/publisher/outgoing.ts';
import { Publisher } from '../../ingest/src/publisher/publisher.ts';
import { createHarness, recordingLog, type LogLine } from './harness.ts';
import { entryOf } from '../support/events/stream-events.ts';
import { until } from '../support/until.ts';
import { buyFrames } from './log-frames.ts';
import { readLogsHead, readLogsLines } from '../../ingest/src/sources/pubsub/logs.ts';
import { logsSighting } from './sightings.ts';

/** Trades and prices of distinct coins. */
function someEvents(count: number): PublishableEvent[] {
  const { pipeline, events } = createHarness();
  for (const frame of buyFrames(Math.ceil(count / 2))) {
    const head = readLogsHead(frame)!;
    pipeline.takeNew(logsSighting({ signature: head.signature, slot: head.slot, logs: readLogsLines(frame, head)!, receivedUs: 1 }));
  }
  return events.slice(0, count) as PublishableEvent[];
}

/** What readers of the log get of an entry. */
const viewsOf = (entry: BusEntry): EventView[] =>
  [0, 1].slice(0, entry.tickTopics === undefined ? 1 : 2).map((view) => new EventView(entry.record, view));
const idOf = ({ event }: EventView): string => (event as { id: string }).id;

const lossesOf = ({ batches }: ScriptedPublisher): unknown[] => batches.flat().flatMap((entry) => readVerdict(logged(entry))?.lost ?? []);

/** The test decides what the bus accepts. */
class ScriptedPublisher implements BusPublisher {
  readonly batches: (readonly BusEntry[])[] = [];
  readonly taken: string[] = [];
  closed = false;
  answer: (entries: readonly BusEntry[]) => Promise<void> = async () => undefined;

  async publish(entries: readonly BusEntry[]): Promise<void> {
    this.batches.push(entries);
    await this.answer(entries);
    this.taken.push(...entries.flatMap(viewsOf).map(idOf));
  }

  async setStatus(): Promise<void> {
    throw new Error('No test asks for it.');
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

const open: Publisher[] = [];

/** A publisher on a bus, which may be shared. It leads unless another one does. */
function startOn(bus: Pick<Bus, 'publisher' | 'lease' | 'readTail'>): { publisher: Publisher; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const publisher = new Publisher(bus, recordingLog(lines));
  open.push(publisher);
  publisher.requestLead();
  return { publisher, lines };
}

async function start(): Promise<{ bus: ScriptedPublisher; publisher: Publisher; lines: LogLine[] }> {
  const bus = new ScriptedPublisher();
  const real = createInProcessBus();
  const { publisher, lines } = startOn({
    publisher: async () => bus,
    lease: (name) => real.lease(name),
    readTail: (count, read) => real.readTail(count, read),
  });
  await until('leading', () => publisher.leads);
  lines.length = 0;
  return { bus, publisher, lines };
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((publisher) => publisher.close(0)));
});

describe('Publisher', () => {
  it('passes the events of one turn to the bus as one batch, in order, with topics and time', async () => {
    const { bus, publisher } = await start();
    const events = someEvents(6);
    for (const event of events) publisher.push(event);
    await until('published', () => publisher.counts.published === 6);
    expect(bus.batches).toHaveLength(1);
    expect(bus.taken).toEqual(events.map((event) => event.id));
    expect(bus.batches[0]!.flatMap(({ topics, tickTopics }) => [topics, tickTopics])).toEqual(events.map(topicsOf));
    const { ts } = viewsOf(bus.batches[0]![0]!)[1]!.event as PublishableEvent;
    expect(Math.abs(ts.published / 1000 - Date.now())).toBeLessThan(60_000);
    expect(Number.isInteger(ts.published)).toBe(true);
  });

  it('names the topics of every kind of event', () => {
    const [trade, price] = someEvents(2) as [PublishableEvent, PublishableEvent];
    expect(topicsOf(trade)).toEqual(['trades', `trades:${trade.mint}`, `trades:@${(trade as { trader: string }).trader}`]);
    expect(topicsOf(price)).toEqual([`prices:${price.mint}`]);
    expect(topicsOf({ type: 'newToken' } as PublishableEvent)).toEqual(['newTokens']);
    expect(topicsOf({ type: 'tokenMetadata' } as PublishableEvent)).toEqual(['newTokens']);
    expect(topicsOf({ type: 'migration' } as PublishableEvent)).toEqual(['migrations']);
  });

  it('sends a batch again if the bus did not accept it, before all later ones', async () => {
    const { bus, publisher, lines } = await start();
    let failures = 2;
    bus.answer = async () => {
      if (failures-- > 0) throw new BusError('UNAVAILABLE', 'unavailable');
    };
    const events = someEvents(8);
    for (const event of events.slice(0, 4)) publisher.push(event);
    await until('a first failure', () => publisher.counts.failures > 0);
    for (const event of events.slice(4)) publisher.push(event);
    await until('published', () => publisher.counts.published === 8);
    expect(bus.taken).toEqual(events.map((event) => event.id));
    expect(lines.map(({ name, level }) => [name, level])).toEqual([['bus_publish_failed', 'error']]);
  });

  it('drops the oldest events beyond its bound, counts each, and reports them in their place', async () => {
    const { bus, publisher } = await start();
    let release: () => void = () => undefined;
    bus.answer = () => new Promise<void>((resolve) => (release = resolve));
    const [event] = someEvents(1) as [PublishableEvent];
    publisher.push({ ...event, id: 'in flight' });
    await until('in flight', () => bus.batches.length === 1);
    for (let index = 0; index < 50_010; index++) publisher.push({ ...event, ts: { received: 1, published: 0 }, id: `${index}` });
    expect(publisher.buffered).toBe(50_001);
    expect(publisher.counts.dropped).toBe(10);
    bus.answer = async () => undefined;
    release();
    await until('published', () => publisher.counts.published === 50_002);
    expect(bus.taken.slice(0, 4)).toEqual(['in flight', undefined, '10', '11']);
    const { slot, signature } = event;
    expect(lossesOf(bus)).toEqual([{ from: slot, to: slot, signatures: [signature] }]);
    expect(bus.taken.at(-1)).toBe('50009');
  });

  it('drops only the entry that no bus accepts', async () => {
    const real = createInProcessBus();
    const { publisher, lines } = startOn(real);
    const [first, second] = someEvents(2) as [PublishableEvent, PublishableEvent];
    publisher.push(first);
    publisher.push({
      ...first,
      id: 'large',
      type: 'newToken',
      uri: 'x'.repeat(2_000_000),
      name: '',
      symbol: '',
    } as unknown as PublishableEvent);
    publisher.push(second);
    await until('published', () => publisher.counts.published === 3);
    expect(publisher.counts.refused).toBe(1);
    const losses = (await real.tail(10)).flatMap((entry) => readVerdict(entry)?.lost ?? []);
    expect(losses).toEqual([{ from: first.slot, to: first.slot, signatures: [first.signature] }]);
    expect(lines.map(({ name }) => name)).toEqual(['ingest_leads', 'event_refused', 'events_refused_by_bus']);
    await publisher.close(100);
    await real.close();
  });

  it('sends what is left when it closes, and counts what the bus does not accept', async () => {
    const { bus, publisher } = await start();
    const events = someEvents(4);
    for (const event of events) publisher.push(event);
    await publisher.close(1_000);
    expect(bus.taken).toEqual(events.map((event) => event.id));
    expect(bus.closed).toBe(true);

    const stuck = await start();
    stuck.bus.answer = async () => {
      throw new BusError('UNAVAILABLE', 'unavailable');
    };
    for (const event of events) stuck.publisher.push(event);
    await stuck.publisher.close(30);
    await until('counted', () => stuck.publisher.counts.dropped === 4);
  });
});

describe('a fenced publisher', () => {
  it('ends its term, retains what was refused, and sends it when it leads again', async () => {
    const { bus, publisher, lines } = await start();
    const events = someEvents(6);
    const { fence } = publisher;
    bus.answer = async () => {
      bus.answer = async () => undefined;
      for (const event of events.slice(4)) publisher.push(event);
      throw new BusError('FENCED', 'lost');
    };
    for (const event of events.slice(0, 4)) publisher.push(event);
    await until('published', () => publisher.counts.published === 6);
    expect(bus.taken).toEqual(events.map(({ id }) => id));
    expect(publisher.counts).toMatchObject({ dropped: 0, failures: 0 });
    expect(lines.map(({ name }) => name)).toEqual(['ingest_lost_lead', 'ingest_leads']);
    expect(publisher.fence).toBeGreaterThan(fence!);
  });
});

describe('two publishers', () => {
  const idsOn = async (bus: Bus): Promise<string[]> => (await bus.tail(1_000)).map(idOf);

  /** Two on one bus, of which the first leads. Each gets its own copy of every event, like two processes. */
  async function startTwo() {
    const bus = createInProcessBus();
    const leader = startOn(bus);
    await until('leading', () => leader.publisher.leads);
    const standby = startOn(bus);
    const push = (events: readonly PublishableEvent[], ...to: readonly Publisher[]): void => {
      for (const publisher of to) for (const event of events) publisher.push({ ...event, ts: { ...event.ts } });
    };
    const settled = (): Promise<boolean> => until('published', () => leader.publisher.buffered === 0);
    return { bus, leader, standby, push, settled };
  }

  it('publish each event once: the second continues where the first stopped, in its own order, also with late events', async () => {
    const { bus, leader, standby, push, settled } = await startTwo();
    const events = someEvents(40);
    push(events.slice(0, 20), leader.publisher);
    await settled();
    // The second has seen some events that were published, and some that the first will never publish.
    push(events.slice(10, 30), standby.publisher);
    await expect(idsOn(bus)).resolves.toEqual(events.slice(0, 20).map(({ id }) => id));
    await leader.publisher.withdraw();
    await until('led', () => standby.publisher.leads && standby.publisher.buffered === 0);
    push(events.slice(0, 10), standby.publisher);
    push(events.slice(30), standby.publisher);
    await until('published', () => standby.publisher.counts.published === 20);
    await expect(idsOn(bus)).resolves.toEqual(events.map(({ id }) => id));
    expect(standby.publisher.counts).toMatchObject({ repeats: 20, dropped: 0, failures: 0 });
    expect(leader.lines.map(({ name }) => name)).toEqual(['ingest_leads', 'ingest_lost_lead']);
    expect(standby.lines.map(({ name }) => name)).toEqual(['ingest_standby', 'ingest_leads']);
    await bus.close();
  });

  it('retain the events of the last twelve seconds while another leads, and all while nobody does', async () => {
    const { bus, leader, standby, push } = await startTwo();
    const [event] = someEvents(1) as [PublishableEvent];
    const secondly = (from: number, count: number): PublishableEvent[] =>
      Array.from({ length: count }, (_, second) => ({
        ...event,
        id: `${from + second}`,
        ts: { received: (from + second) * 1e6, published: 0 },
      }));
    push(secondly(0, 60), standby.publisher);
    expect(standby.publisher.buffered).toBe(13);
    expect(standby.publisher.counts.dropped).toBe(0);
    await standby.publisher.withdraw();
    push(secondly(60, 60), standby.publisher);
    expect(standby.publisher.buffered).toBe(73);
    await leader.publisher.withdraw();
    standby.publisher.requestLead();
    await until('published', () => standby.publisher.counts.published === 73);
    await expect(idsOn(bus)).resolves.toEqual([...secondly(47, 73)].map(({ id }) => id));
    await bus.close();
  });

  it('retain events from a time without a leader until another has led for twelve seconds', async () => {
    const { bus, standby, push } = await startTwo();
    const [event] = someEvents(1) as [PublishableEvent];
    const at = (second: number): PublishableEvent => ({ ...event, id: `${second}`, ts: { received: second * 1e6, published: 0 } });
    await standby.publisher.withdraw();
    for (let second = 0; second < 60; second++) push([at(second)], standby.publisher);
    standby.publisher.requestLead();
    for (let second = 60; second < 72; second++) push([at(second)], standby.publisher);
    expect(standby.publisher.buffered).toBe(72);
    push([at(72)], standby.publisher);
    expect(standby.publisher.buffered).toBe(13);
    await bus.close();
  });

  it('leave refused events to the new leader', async () => {
    const { bus, leader, standby, push, settled } = await startTwo();
    const events = someEvents(30);
    push(events.slice(0, 10), leader.publisher, standby.publisher);
    await settled();
    push(events.slice(10), leader.publisher, standby.publisher);
    // The events are sent only after this: the lead is lost first.
    void leader.publisher.withdraw();
    await until('published', () => standby.publisher.counts.published === 20);
    expect(leader.publisher.counts.dropped).toBe(0);
    await expect(idsOn(bus)).resolves.toEqual(events.map(({ id }) => id));
    // And back again: the retained events are known.
    leader.publisher.requestLead();
    await standby.publisher.close(1_000);
    await until('leading', () => leader.publisher.leads && leader.publisher.buffered === 0);
    await expect(idsOn(bus)).resolves.toEqual(events.map(({ id }) => id));
    await bus.close();
  });

  it('read the log as far back as it may be incomplete', async () => {
    const [event] = someEvents(1) as [PublishableEvent];
    const events = Array.from({ length: 3_000 }, (_, index) => ({ ...event, id: `${index}`, slot: 100 + index, ts: { ...event.ts } }));
    const bus = createInProcessBus();
    const leader = startOn(bus);
    for (const one of events) leader.publisher.push(one);
    await until('published', () => leader.publisher.counts.published === events.length);
    await leader.publisher.close(0);
    const asked: number[] = [];
    const asking = { publisher: bus.publisher.bind(bus), lease: bus.lease.bind(bus) };
    const readTail: Bus['readTail'] = (count, read) => (asked.push(count), bus.readTail(count, read));
    const takeOver = async (complete: number | null): Promise<number> => {
      const publisher = new Publisher({ ...asking, readTail }, recordingLog([]));
      open.push(publisher);
      publisher.push({ ...event, id: '0', slot: 100, ts: { ...event.ts } });
      publisher.requestLead(async () => complete);
      await until('led', () => publisher.leads && publisher.buffered === 0);
      await publisher.close(0);
      return publisher.counts.repeats;
    };
    expect(await takeOver(null)).toBe(1);
    expect(await takeOver(100)).toBe(1);
    expect(asked).toEqual([2_002, 8_008, 2_002, 8_008]);
    asked.length = 0;
    // Everything that is complete was published and decided, so a repeated event is a duplicate.
    expect(await takeOver(100 + 3_000 - 1_500)).toBe(1);
    expect(asked).toEqual([2_002]);
    await bus.close();
  });

  it('know what the log has from the watermark on, however much was published since', async () => {
    const [event] = someEvents(1) as [PublishableEvent];
    const at = (index: number): PublishableEvent => ({ ...event, id: `${index}`, slot: 100 + index, ts: { ...event.ts } });
    const bus = createInProcessBus();
    const publishing = await bus.publisher();
    const count = 34_000;
    for (let first = 0; first < count; first += 1_000) {
      await publishing.publish(Array.from({ length: 1_000 }, (_, index) => entryOf(at(first + index))));
    }
    const { publisher } = startOn(bus);
    publisher.requestLead(async () => 100);
    // A gap filler that begins at the watermark reads them again.
    for (const index of [1, 2, count]) publisher.push({ ...at(index), commitment: 'confirmed', late: true });
    await until('the new one', () => publisher.counts.published > 0);
    expect([publisher.counts.repeats, publisher.counts.published]).toEqual([2, 1]);
    await bus.close();
  });

  it('publish nothing again that is in the log before the part that a new leader reads', async () => {
    const { bus, leader, standby, push, settled } = await startTwo();
    const [event] = someEvents(1) as [PublishableEvent];
    const text = { name: '', symbol: '', uri: '', description: null, image: null, twitter: null, telegram: null, website: null };
    const at = (id: string, slot: number, type: string = event.type): PublishableEvent =>
      ({ ...event, ...text, type, id, slot, ts: { received: 1, published: 0 } }) as PublishableEvent;
    // A document may arrive seconds after its token, among events of later slots.
    const [old, recent] = [at('old.metadata', 100, 'tokenMetadata'), at('recent.metadata', 2_500, 'tokenMetadata')];
    const creations = [at('old', 100, 'newToken'), at('recent', 2_500, 'newToken')] as const;
    const trades = Array.from({ length: 3_000 }, (_, index) => at(`t${index}`, 100 + index));
    push([creations[0], old, ...trades.slice(0, 2_400), creations[1], ...trades.slice(2_400)], leader.publisher);
    await settled();
    standby.publisher.requestLead(async () => 2_000);
    await leader.publisher.withdraw();
    await until('leading', () => standby.publisher.leads);
    // Like a process that saw nothing for a while: it retains what it saw before. An event that is read late was missing.
    const late = { ...at('late', 300), commitment: 'confirmed', late: true } as PublishableEvent;
    push([trades[0]!, old, recent, late], standby.publisher);
    await until('published', () => standby.publisher.buffered === 0);
    const times = new Map<string, number>();
    for (const id of (await bus.tail(10_000)).map(idOf)) times.set(id, (times.get(id) ?? 0) + 1);
    expect([...times].filter(([, count]) => count > 1)).toEqual([]);
    expect([times.has('recent.metadata'), times.has('late'), standby.publisher.counts.repeats]).toEqual([true, true, 2]);
    await bus.close();
  });

  it('skip entries of other publishers in the log', async () => {
    const { bus, leader, standby } = await startTwo();
    const others = ['not JSON', 'null', '7', '{}', '{"id":7}'].map((text) => Buffer.from(text));
    await (await bus.publisher()).publish(others.map((record) => ({ topics: ['orders:1'], record })));
    await leader.publisher.withdraw();
    await until('leading', () => standby.publisher.leads);
    await bus.close();
  });
});
