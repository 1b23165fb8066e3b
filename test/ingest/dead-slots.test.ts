import { describe, expect, it } from 'vitest';
import { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { readRecord } from '../../ingest/src/publisher/log-tail.ts';
import type { Outgoing, PublishableEvent, LogItem } from '../../ingest/src/publisher/outgoing.ts';
import { PublishedSlots } from '../../ingest/src/publisher/published-slots.ts';
import { addressOf as someAddress, candleEvent, entryOf, tradeEvent } from '../support/events/stream-events.ts';
import { createHarness, type Harness } from './harness.ts';
import { until } from '../support/until.ts';
import { addressOf, ammProgram, keyOf, mintAccountBytes, poolAccountBytes, pumpProgram, signatureOf } from './pump-frames.ts';
import { dataLine, invoked } from './log-frames.ts';
import { curveBuy, poolBuy } from './some-trades.ts';
import { accountAnswers, accountJson } from './scripted-node.ts';
import { wholeTransaction } from './whole-transaction.ts';
import { logsSighting } from './sightings.ts';

const [dead, alive] = [100, 101];
const receivedUs = 1_791_485_924_000_000;
const curveTrade = (solAmount: bigint): Buffer => curveBuy({ solAmount });
const poolTrade = (baseAmount: bigint): Buffer => poolBuy({ baseAmount });

/** Answers nothing until it is opened. */
function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

function report({ pipeline }: Harness, name: string, slot: number, logs: readonly string[]): void {
  const signature = signatureOf(name);
  pipeline.see(signature, slot);
  pipeline.takeNew(logsSighting({ signature, slot, logs, receivedUs }));
}

const tradesOf = ({ events }: Harness): string[] => events.filter(({ type }) => type === 'trade').map(({ id }) => id);

describe('events that wait for a slot that dies', () => {
  it('are dropped if a transaction was incomplete; nothing of it is published or lost when it is answered later', async () => {
    const { opened, open } = gate();
    const events = [curveTrade(1n), curveTrade(2n)];
    const slots = new Map([
      [signatureOf('dies'), dead],
      [signatureOf('lives'), alive],
    ]);
    const harness = createHarness({
      answer: async (method, params) => {
        if (method !== 'getTransaction') return undefined;
        await opened;
        const signature = String(params[0]);
        return wholeTransaction(signature, events, slots.get(signature));
      },
    });
    const cut = [...invoked(pumpProgram, 1, [dataLine(events[0]!)]), 'Log truncated'];
    for (const [name, slot] of [['dies', dead] as const, ['lives', alive] as const]) report(harness, name, slot, cut);
    const before = ['dies', 'lives'].map((name) => `${signatureOf(name)}:0`);
    expect(tradesOf(harness)).toEqual(before);
    expect(harness.pipeline.oldestWaitingSlot()).toBe(dead);

    harness.pipeline.abandon(dead);
    expect(harness.pipeline.counts).toMatchObject({ incomplete: 2, abandoned: 1 });
    expect(harness.pipeline.isOpen(signatureOf('dies'))).toBe(false);
    expect(harness.pipeline.oldestWaitingSlot()).toBe(alive);
    open();
    await until('the other to be complete', () => harness.pipeline.counts.completed === 1);
    expect(tradesOf(harness)).toEqual([...before, `${signatureOf('lives')}:1`]);
    expect(harness.losses).toEqual([]);
    expect(harness.pipeline.counts).toMatchObject({ abandoned: 1, lostTransactions: 0 });
    expect(harness.pipeline.oldestWaitingSlot()).toBe(Number.POSITIVE_INFINITY);
  });

  it.each([
    ['among others', [alive, alive]],
    ['alone', []],
  ])('are dropped if their pool was not known yet, %s', async (_, others) => {
    const { opened, open } = gate();
    const accounts = accountAnswers(
      new Map<string, unknown>([
        [addressOf('pool'), accountJson(ammProgram, poolAccountBytes(keyOf('token'), addressBytes(wrappedSolMint)))],
        [addressOf('token'), accountJson(tokenProgram, mintAccountBytes(6, 10n ** 15n))],
      ]),
    );
    const harness = createHarness({
      answer: async (method, params) => {
        await opened;
        const answer = accounts(method, params);
        return answer === 'silence' || 'error' in answer ? undefined : answer.result;
      },
    });
    const trade = (name: string, slot: number): void => report(harness, name, slot, invoked(ammProgram, 1, [dataLine(poolTrade(7n))]));
    trade('first of the dead', dead);
    for (const [index, slot] of others.entries()) trade(`other ${index}`, slot);
    trade('second of the dead', dead);
    expect(harness.events).toEqual([]);
    harness.pipeline.abandon(dead);
    expect(harness.pipeline.oldestWaitingSlot()).toBe(others.length > 0 ? alive : Number.POSITIVE_INFINITY);
    open();
    const expected = others.map((_slot, index) => `${signatureOf(`other ${index}`)}:0`);
    await until('the others to be published', () => tradesOf(harness).length === expected.length);
    // Its line is closed: new events are published at once, after those that waited.
    await until('the pool to be known', () => {
      const items = tradesOf(harness).length;
      trade(`later ${performance.now()}`, alive);
      return tradesOf(harness).length === items + 1;
    });
    expect(tradesOf(harness).slice(0, expected.length)).toEqual(expected);
    expect(tradesOf(harness).some((id) => id.includes(signatureOf('first of the dead')))).toBe(false);
    expect(harness.losses).toEqual([]);
    expect(harness.pipeline.counts.lostEvents).toBe(0);
  });

  it('are dropped if the transaction was also reported for another slot, which lives', () => {
    const contents = new PublishedSlots([], true);
    const event = (slot: number): PublishableEvent => tradeEvent(someAddress(1), { id: 'x:0', slot });
    const verdict = (livingSlots: readonly number[], deadSlots: readonly number[]): Outgoing => ({
      type: 'slots',
      alive: livingSlots,
      dead: deadSlots,
      contents: new Map(livingSlots.map((slot) => [slot, 'unread'])),
      ts: { received: 1, published: 0 },
    });
    const typesOf = (items: readonly LogItem[]): string[] => items.map(({ type }) => type);
    expect(typesOf(contents.admit([event(alive)]))).toEqual(['trade']);
    // The same transaction in the other slot waits for the verdict, and is neither published nor retracted with it.
    expect(contents.admit([event(dead)])).toEqual([]);
    expect(typesOf(contents.admit([verdict([], [dead])]))).toEqual(['slots']);
    expect(typesOf(contents.admit([verdict([alive], [])]))).toEqual(['slots']);
    expect(contents.open).toBe(0);

    // In the opposite case the published event is retracted, and the one that waited is published after the verdict.
    const other = new PublishedSlots([], true);
    other.admit([event(dead), event(alive)]);
    const items = other.admit([verdict([alive], [dead])]);
    expect(typesOf(items)).toEqual(['retract', 'slots', 'trade']);
    expect(items.at(-1)).toMatchObject({ slot: alive });
  });
});

it('published events are remembered as long as their slot is undecided, however many others are published meanwhile', () => {
  const contents = new PublishedSlots([], true);
  const published = (items: readonly LogItem[]): number => items.filter(({ type }) => type === 'trade').length;
  const undecided = Array.from({ length: 3 }, (_, at) => tradeEvent(someAddress(1), { id: `undecided:${at}`, slot: dead }));
  expect(published(contents.admit(undecided))).toBe(3);
  const count = 200_000;
  const eventsPerSlot = 1_000;
  const event = (at: number): PublishableEvent =>
    tradeEvent(someAddress(1), { id: `x:${at}`, slot: alive + Math.floor(at / eventsPerSlot) });
  const verdict = (news: { readonly alive: number[]; readonly dead: number[] }): Outgoing => ({
    type: 'slots',
    ...news,
    ts: { received: 1, published: 0 },
  });
  for (let at = 0; at < count; at += eventsPerSlot) {
    const items = contents.admit(Array.from({ length: eventsPerSlot }, (_, i) => event(at + i)));
    expect(published(items)).toBe(eventsPerSlot);
    contents.admit([verdict({ alive: [event(at).slot], dead: [] })]);
    expect(contents.open).toBe(3);
  }
  // None is published again. The oldest of the others are forgotten, because memory is bounded: they wait until their block is read again.
  expect(published(contents.admit([...undecided, event(count - 1), event(count - 30_000), event(0)]))).toBe(0);
  expect(contents.undecided).toEqual([dead, alive]);
  expect(contents.admit([verdict({ alive: [], dead: [dead] })]).map(({ type }) => type)).toEqual([
    'retract',
    'retract',
    'retract',
    'slots',
  ]);
  expect(contents.open).toBe(0);
});

it('a part of the log that begins with candles is complete from its first event on, or from its start if it has no events', () => {
  const logged = (event: StreamEvent, offset: number): LogEntry =>
    new LogEntry(offset, [{ topic: 'x', seq: offset }], entryOf(event).record);
  const candles = Array.from({ length: 100 }, (_, at) => logged(candleEvent(someAddress(1)), at));
  expect(new PublishedSlots(candles.map(readRecord), false).since).toBe(Number.POSITIVE_INFINITY);
  expect(new PublishedSlots(candles.map(readRecord), true).since).toBe(0);
  const trade = logged(tradeEvent(someAddress(1), { id: 'x:0', slot: 500 }), 100);
  expect(new PublishedSlots([...candles, trade].map(readRecord), false).since).toBe(501);
});
