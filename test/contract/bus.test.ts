import { afterEach, describe, expect, it } from 'vitest';
import type { Bus, BusEntry } from '@sluice/shared/bus/bus.ts';
import { busLimits } from '@sluice/shared/bus/bus.ts';
import { inProcessHarness, redisHarness, type BusHarness, type Limits } from './bus-harness.ts';
import { entries, entry, record, Recorder } from './bus-recorder.ts';

const implementations = [
  { name: 'in-process', start: inProcessHarness },
  { name: 'Redis', start: redisHarness },
] as const;

describe.each(implementations)('the $name bus', ({ start }) => {
  let harness: BusHarness | null = null;
  afterEach(async () => {
    await harness?.close();
    harness = null;
  });

  async function open(limits?: Limits): Promise<{ harness: BusHarness; bus: Bus }> {
    harness = await start(limits);
    return { harness, bus: await harness.connect() };
  }

  it('assigns consecutive offsets and seqs in call order, also in many concurrent calls', async () => {
    const { bus } = await open();
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const calls: Promise<void>[] = [];
    const expected: string[] = [];
    for (let call = 0; call < 200; call += 1) {
      const batch = entries(1 + (call % 7), `c${call}-`, (index) => ['trades', `trades:m${(call + index) % 11}`]);
      expected.push(...batch.map((one) => Buffer.from(one.record).toString()));
      calls.push(publisher.publish(batch));
      if (call % 50 === 0) await Promise.all(calls);
    }
    await Promise.all(calls);
    await recorder.untilOffset(expected.length);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts).toEqual(expected);
    expect(recorder.entries[0]?.offset).toBe(1);
    expect(recorder.subscriber.position('trades')).toBe(expected.length);
    const perMint = recorder.entries.filter(({ topics }) => topics.some(({ topic }) => topic === 'trades:m3')).length;
    expect(recorder.subscriber.position('trades:m3')).toBe(perMint);
  });

  it('stores a call that is larger than any batch completely and in order', async () => {
    const { bus } = await open();
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const batch = entries(1_500, 'e', (index) => ['trades', `trades:m${index}`]);
    await publisher.publish(batch);
    await recorder.untilOffset(1_500);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts).toEqual(batch.map((one) => Buffer.from(one.record).toString()));
  });

  it('keeps the seqs of several publishers consecutive', async () => {
    const { harness: log, bus } = await open();
    const publishers = await Promise.all([bus, await log.connect(), await log.connect()].map((each) => each.publisher()));
    const recorder = await record(await bus.subscriber());
    await Promise.all(
      publishers.flatMap((publisher, index) =>
        Array.from({ length: 40 }, (_, call) => publisher.publish(entries(3, `p${index}.${call}.`))),
      ),
    );
    await recorder.untilOffset(360);
    expect(recorder.faults).toEqual([]);
    for (const index of [0, 1, 2]) {
      const own = recorder.texts.filter((text) => text.startsWith(`p${index}.`));
      expect(own).toEqual(Array.from({ length: 40 }, (_, call) => [0, 1, 2].map((n) => `p${index}.${call}.${n}`)).flat());
    }
  });

  it('delivers the same to three subscribers, whenever they started', async () => {
    const { harness: log, bus } = await open();
    const publisher = await bus.publisher();
    const recorders: Recorder[] = [];
    const stored: Promise<void>[] = [];
    for (let round = 0; round < 3; round += 1) {
      recorders.push(await record(await (await log.connect()).subscriber()));
      for (let call = 0; call < 20; call += 1) stored.push(publisher.publish(entries(5, `r${round}.${call}.`)));
    }
    await Promise.all(stored);
    await Promise.all(recorders.map((recorder) => recorder.untilOffset(300)));
    const views = recorders.map((recorder) => recorder.entries.map(plain));
    expect(recorders.flatMap(({ faults }) => faults)).toEqual([]);
    expect(views[0]).toHaveLength(300);
    expect(views[1]).toEqual(views[0]);
    expect(views[2]).toEqual(views[0]);
    expect(new Set(recorders.map(({ subscriber }) => subscriber.epoch)).size).toBe(1);
  });

  it('joins history and live without a gap or a duplicate while events are published', async () => {
    const { harness: log, bus } = await open();
    const publisher = await bus.publisher();
    const late = await Promise.all(Array.from({ length: 8 }, async () => (await log.connect()).subscriber()));
    let published = 0;
    const recorders: Recorder[] = [];
    const starts: Promise<void>[] = [];
    for (const subscriber of late) {
      const recorder = new Recorder(subscriber);
      recorders.push(recorder);
      starts.push(subscriber.start(recorder));
      // Until it has caught up (its link then works), and a little longer.
      for (let call = 0, after = 0; after < 5; call += 1) {
        await publisher.publish(entries(1 + (call % 3), `x${published}-`, () => ['trades', `trades:m${call % 5}`]));
        published += 1 + (call % 3);
        if (recorder.seen.some((seen) => seen.kind === 'link')) after += 1;
      }
    }
    await Promise.all(starts);
    await Promise.all(recorders.map((recorder) => recorder.untilOffset(published)));
    expect(recorders.flatMap(({ faults }) => faults)).toEqual([]);
    for (const recorder of recorders) {
      expect(recorder.entries.map(({ offset }) => offset)).toEqual(Array.from({ length: published }, (_, index) => index + 1));
      expect(recorder.lost).toEqual([]);
    }
  });

  it('marks earlier entries as replayed, and has delivered them when the start resolves', async () => {
    const { bus } = await open();
    const publisher = await bus.publisher();
    await publisher.publish(entries(10, 'old', (index) => ['trades', `trades:m${index % 2}`]));
    const recorder = await record(await bus.subscriber());
    expect(recorder.seen.filter((seen) => seen.kind === 'entry' && seen.replayed)).toHaveLength(10);
    expect(recorder.subscriber.position('trades:m1')).toBe(5);
    expect(recorder.subscriber.position('never')).toBe(0);
    await publisher.publish(entries(1, 'new'));
    await recorder.untilOffset(11);
    const last = recorder.seen.findLast((seen) => seen.kind === 'entry');
    expect(last).toMatchObject({ replayed: false, entry: { offset: 11 } });
    expect(recorder.seen).toContainEqual({ kind: 'link', up: true });
  });

  it('preserves every byte of a record', async () => {
    const { bus } = await open();
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const batch: BusEntry[] = [
      { topics: ['trades:Ü🜁'], record: every },
      { topics: ['trades'], record: Buffer.alloc(0) },
      { topics: ['trades'], record: Buffer.alloc(400_000, '\xff\r\n', 'latin1') },
    ];
    await publisher.publish(batch);
    await recorder.untilOffset(batch.length);
    expect(recorder.faults).toEqual([]);
    for (const [index, seen] of recorder.entries.entries()) {
      expect(Buffer.compare(seen.record, batch[index]?.record as Uint8Array)).toBe(0);
      expect(seen.topics.map(({ topic }) => topic)).toEqual(batch[index]?.topics);
    }
  });

  it('gives both views of a record their own offset and seqs, live, replayed and in the tail', async () => {
    const { bus } = await open();
    const publisher = await bus.publisher();
    const live = await record(await bus.subscriber());
    const both = (text: string): BusEntry => ({ ...entry(text, ['trades', 'trades:a']), tickTopics: ['prices:a'] });
    await publisher.publish([both('one'), entry('two'), both('three')]);
    await live.untilOffset(5);
    const replayed = await record(await bus.subscriber());
    await replayed.untilOffset(5);
    const seqs = (...all: (readonly [string, number])[]) => all.map(([topic, seq]) => ({ topic, seq }));
    const expected = [
      ['one', 0, seqs(['trades', 1], ['trades:a', 1])],
      ['one', 1, seqs(['prices:a', 1])],
      ['two', 0, seqs(['trades', 2])],
      ['three', 0, seqs(['trades', 3], ['trades:a', 2])],
      ['three', 1, seqs(['prices:a', 2])],
    ].map((rest, index) => [index + 1, ...rest]);
    for (const all of [live.entries, replayed.entries, await bus.tail(9)]) {
      expect(all.map((one) => [one.offset, Buffer.from(one.record).toString(), one.view, one.topics])).toEqual(expected);
    }
    expect([live.faults, replayed.faults]).toEqual([[], []]);
  });

  it('accepts up to 16 topics, and refuses calls beyond the bounds as a whole', async () => {
    const { bus } = await open();
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const names = Array.from({ length: 17 }, (_, index) => `trades:m${index}`);
    const refused: BusEntry[] = [
      entry('many', names),
      entry('none', []),
      entry('twice', ['trades', 'trades']),
      entry('empty', ['']),
      entry('long', ['x'.repeat(busLimits.maxTopicBytes + 1)]),
      entry('wide', ['Ü'.repeat(128)]),
      { topics: ['trades'], record: Buffer.alloc(busLimits.maxEntryBytes + 1) },
      { topics: ['trades'], record: Buffer.alloc(1), tickTopics: [] },
    ];
    for (const bad of refused) {
      await expect(publisher.publish([entry('good'), bad])).rejects.toMatchObject({ name: 'BusError', code: 'INVALID' });
    }
    await publisher.publish([entry('sixteen', names.slice(0, 16)), entry('longest', ['x'.repeat(busLimits.maxTopicBytes)])]);
    await publisher.publish([]);
    await recorder.untilOffset(2);
    expect(recorder.texts).toEqual(['sixteen', 'longest']);
    expect(recorder.entries[0]?.topics).toEqual(names.slice(0, 16).map((topic) => ({ topic, seq: 1 })));
  });

  it('reports what was trimmed before it was read, with positions that match what follows', async () => {
    const { harness: log, bus } = await open({ maxEntries: 500 });
    const publisher = await bus.publisher();
    const topicsOf = (index: number): string[] => ['trades', `trades:m${index % 7}`, `trades:@${index % 1000}`];
    const recorders = [await record(await bus.subscriber()), await record(await (await log.connect()).subscriber())];
    await publisher.publish(entries(20, 'a', topicsOf));
    await Promise.all(recorders.map((recorder) => recorder.untilOffset(20)));
    await log.publishUnheard(bus, entries(3_000, 'b', topicsOf), recorders);
    await Promise.all(recorders.map((recorder) => recorder.untilOffset(3_020)));
    for (const recorder of recorders) {
      expect(recorder.faults).toEqual([]);
      expect(recorder.lost).toHaveLength(1);
      const [lost] = recorder.lost;
      expect(lost).toMatchObject({ from: 21, reason: 'trimmed' });
      const retained = 3_020 - (lost?.to as number);
      expect(retained).toBeGreaterThanOrEqual(500);
      expect(retained).toBeLessThan(1_300);
      expect(recorder.entries).toHaveLength(20 + retained);
      expect(recorder.subscriber.counters.lostEntries).toBe((lost?.to as number) - 20);
    }
    const late = await record(await (await log.connect()).subscriber());
    await late.untilOffset(3_020);
    expect(late.faults).toEqual([]);
    expect(late.lost).toEqual([]);
    expect(late.entries.length).toBeGreaterThanOrEqual(500);
    for (const topic of ['trades', 'trades:m3', 'trades:@1', 'trades:@999']) {
      expect(late.subscriber.position(topic)).toBe(recorders[0]?.subscriber.position(topic));
    }
  });

  it('knows the seq of every topic where a subscriber starts', async () => {
    const { harness: log, bus } = await open({ maxEntries: 50 });
    const publisher = await bus.publisher();
    const early = entries(300, 'a', (index) => [`trades:m${index}`, 'trades']);
    await publisher.publish(early);
    // Padded, so that trimming (in whole nodes of a stream) comes close to the bound.
    const padded = Array.from({ length: 1_000 }, (_, index) => entry(`b${index}`, ['trades'], 5_000));
    await publisher.publish(padded);
    const recorder = new Recorder(await (await log.connect()).subscriber());
    const positions: number[] = [];
    await recorder.subscriber.start({
      onEntry: (each, replayed) => {
        if (recorder.entries.length === 0)
          positions.push(recorder.subscriber.position('trades:m0'), recorder.subscriber.position('trades:m299'));
        recorder.onEntry(each, replayed);
      },
      onLost: (lost) => recorder.onLost(lost),
    });
    expect(recorder.faults).toEqual([]);
    expect(recorder.entries.length).toBeLessThan(1_000);
    expect(positions).toEqual([1, 1]);
    expect(recorder.subscriber.position('trades')).toBe(1_300);
  });

  it('starts after a given position without a loss, for any number of retained entries', async () => {
    const { bus } = await open({ maxEntries: 400 });
    const publisher = await bus.publisher();
    await publisher.publish(entries(150, 'a'));
    for (let i = 0; i < 100; i++) await publisher.publish(entries(1, `b${i}-`));
    const { epoch } = await record(await bus.subscriber()).then(({ subscriber }) => subscriber);
    for (const offset of [0, 1, 63, 64, 65, 149, 150, 200, 250]) {
      const recorder = await record(await bus.subscriber({ after: { epoch, offset } }));
      await publisher.publish(entries(1, 'live'));
      const end = (await bus.tail(1))[0]!.offset;
      await recorder.untilOffset(end);
      const offsets = recorder.entries.map((one) => one.offset);
      expect(offsets[0]).toBeLessThanOrEqual(offset + 1);
      expect(offsets[0]).toBeGreaterThan(Math.max(0, offset - 64));
      expect(offsets).toEqual(Array.from({ length: offsets.length }, (_, i) => offsets[0]! + i));
      expect(recorder.subscriber.position('trades')).toBe(end);
      expect([recorder.faults, recorder.lost]).toEqual([[], []]);
      await recorder.subscriber.close();
    }
    // Padded, so that trimming (in whole nodes of a stream) comes close to the bound.
    await publisher.publish(Array.from({ length: 1_000 }, (_, index) => entry(`c${index}`, ['trades'], 5_000)));
    const [oldest] = await bus.tail(32_768);
    for (const after of [
      { epoch, offset: 3 },
      { epoch: 'another', offset: 1_100 },
    ]) {
      const recorder = await record(await bus.subscriber({ after }));
      expect(recorder.entries[0]!.offset).toBe(oldest!.offset);
      expect(recorder.faults).toEqual([]);
    }
  });

  it('starts a new epoch if it has more topics than allowed', async () => {
    const { harness: log, bus } = await open({ maxTopics: 100 });
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const { epoch } = recorder.subscriber;
    await publisher.publish(entries(99, 'a', (index) => [`trades:m${index}`]));
    await recorder.untilOffset(99);
    expect(recorder.subscriber.epoch).toBe(epoch);
    await publisher.publish([entry('b', ['trades:x', 'trades:y'])]);
    await recorder.until(() => recorder.texts.includes('b'));
    expect(recorder.faults).toEqual([]);
    expect(recorder.lost).toEqual([{ kind: 'lost', from: 100, to: 99, reason: 'epoch' }]);
    expect(recorder.subscriber.epoch).not.toBe(epoch);
    expect(recorder.entries.at(-1)).toMatchObject({
      offset: 1,
      topics: [
        { topic: 'trades:x', seq: 1 },
        { topic: 'trades:y', seq: 1 },
      ],
    });
    expect(recorder.subscriber.position('trades:m1')).toBe(0);
    expect(recorder.subscriber.counters.epochChanges).toBe(1);
    const late = await record(await (await log.connect()).subscriber());
    expect(late.texts).toEqual(['b']);
    expect(late.subscriber.epoch).toBe(recorder.subscriber.epoch);
  });

  it('stores statuses until they expire, and only a limited number', async () => {
    const { harness: log, bus } = await open();
    const other = await log.connect();
    await bus.setStatus('ingest:1', { slot: 5, lag: { ms: 1.5 } }, 60_000);
    await bus.setStatus('ingest:1', { slot: 6, text: 'ü' }, 60_000);
    await bus.setStatus('brief', { here: true }, 1_500);
    expect(await other.statuses()).toEqual([
      { name: 'brief', value: { here: true } },
      { name: 'ingest:1', value: { slot: 6, text: 'ü' } },
    ]);
    await expect.poll(async () => (await other.statuses()).map(({ name }) => name), { timeout: 60_000 }).toEqual(['ingest:1']);
    for (let index = 1; index < busLimits.maxStatuses; index += 1) await bus.setStatus(`s${index}`, {}, 60_000);
    await expect(bus.setStatus('one-more', {}, 60_000)).rejects.toMatchObject({ code: 'INVALID' });
    await bus.setStatus('ingest:1', { slot: 7 }, 60_000);
    await expect(bus.setStatus('', {}, 60_000)).rejects.toMatchObject({ code: 'INVALID' });
    await expect(bus.setStatus('s1', { big: 'x'.repeat(busLimits.maxStatusBytes) }, 60_000)).rejects.toMatchObject({ code: 'INVALID' });
    await expect(bus.setStatus('s1', {}, 0)).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('closes cleanly: no delivery and no publishing afterwards', async () => {
    const { bus } = await open();
    const publisher = await bus.publisher();
    const recorder = await record(await bus.subscriber());
    const unstarted = await bus.subscriber();
    await publisher.publish(entries(5, 'a'));
    await recorder.untilOffset(5);
    await recorder.subscriber.close();
    await publisher.publish(entries(5, 'b'));
    await publisher.close();
    await expect(publisher.publish(entries(1, 'c'))).rejects.toMatchObject({ code: 'CLOSED' });
    await bus.close();
    await expect(bus.publisher()).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(bus.statuses()).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(unstarted.start(recorder)).rejects.toMatchObject({ code: 'CLOSED' });
    expect(recorder.texts).toEqual(['a0', 'a1', 'a2', 'a3', 'a4']);
    await bus.close();
  });

  it('lets a subscriber start once', async () => {
    const { bus } = await open();
    const recorder = await record(await bus.subscriber());
    await expect(recorder.subscriber.start(recorder)).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('delivers what a handler publishes after the current delivery', async () => {
    const { bus } = await open();
    const publisher = await bus.publisher();
    const subscriber = await bus.subscriber();
    const recorder = new Recorder(subscriber);
    const stored: Promise<void>[] = [];
    await subscriber.start({
      onEntry: (each, replayed) => {
        if (each.offset < 20) stored.push(publisher.publish([entry(`echo${each.offset}`)]));
        recorder.onEntry(each, replayed);
      },
      onLost: (lost) => recorder.onLost(lost),
    });
    await publisher.publish([entry('first')]);
    await recorder.untilOffset(20);
    await Promise.all(stored);
    expect(recorder.faults).toEqual([]);
    expect(recorder.texts.slice(0, 3)).toEqual(['first', 'echo1', 'echo2']);
  });
});

function plain(one: Recorder['entries'][number]): unknown {
  return { offset: one.offset, topics: one.topics, view: one.view, record: Buffer.from(one.record).toString('base64') };
}
