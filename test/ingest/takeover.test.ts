import { setMaxListeners } from 'node:events';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Bus, BusEntry } from '@sluice/shared/bus/bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { Continuity } from '../../ingest/src/continuity/continuity.ts';
import type { Pipeline } from '../../ingest/src/pipeline/pipeline.ts';
import { readRecord } from '../../ingest/src/publisher/log-tail.ts';
import { Publisher } from '../../ingest/src/publisher/publisher.ts';
import { readLogsHead, readLogsLines } from '../../ingest/src/sources/pubsub/logs.ts';
import { BlockFetcher } from '../../ingest/src/sources/blocks/block-fetcher.ts';
import { TransactionFetcher } from '../../ingest/src/sources/rpc/transaction-fetcher.ts';
import { createHarness, recordingLog } from './harness.ts';
import { until } from '../support/until.ts';
import { buyFrames } from './log-frames.ts';
import { logsSighting } from './sightings.ts';

/** Transactions of different coins, each with a trade and its price. */
const transactions = buyFrames(8).map((frame) => {
  const head = readLogsHead(frame)!;
  return { signature: head.signature, logs: readLogsLines(frame, head)! };
});

const ended = new AbortController();
setMaxListeners(0, ended.signal);
const heads: Head[] = [];
const buses: Bus[] = [];
afterEach(async () => {
  await Promise.all(heads.splice(0).map(({ publisher }) => publisher.close(0)));
  await Promise.all(buses.splice(0).map((bus) => bus.close()));
});

/** No node serves anything: these processes know only what the test reports. */
const silent: Rpc = { call: () => Promise.reject(new RpcError('answer', -32_601, 'Method not found')) };

/** An ingest process without its sockets. */
class Head {
  readonly publisher: Publisher;
  readonly #pipeline: Pipeline;
  readonly #continuity: Continuity;

  constructor(bus: Bus) {
    const log = recordingLog([]);
    this.publisher = new Publisher(bus, log);
    this.#pipeline = createHarness({ publish: (event) => this.#continuity.publish(event) }).pipeline;
    this.#continuity = new Continuity({
      rpcs: [silent],
      programs: [],
      genesis: '',
      bus,
      publisher: this.publisher,
      pipeline: this.#pipeline,
      blocks: new BlockFetcher(silent),
      transactions: new TransactionFetcher(silent),
      slot: () => 0,
      watermarkOfOthers: async () => null,
      onLoss: () => undefined,
      onUnseen: () => undefined,
      publish: (outgoing) => this.publisher.push(outgoing),
      log,
      signal: ended.signal,
    });
    heads.push(this);
  }

  /** As an endpoint reports it. */
  take(message: Message): void {
    const { slot } = message;
    if (message.kind === 'slot') this.#continuity.slot(slot, message.parent);
    else if (message.kind === 'confirmed') this.#continuity.confirmed(0, slot);
    else if (!this.#continuity.isDead(slot, transactions[message.transaction]!.signature)) {
      const { signature, logs } = transactions[message.transaction]!;
      const seen = logsSighting({ signature, logs, slot, receivedUs: nowUs() });
      const firstSlot = this.#pipeline.see(signature, slot);
      if (firstSlot === null) this.#pipeline.takeNew(seen);
      else if (firstSlot !== slot) this.#continuity.seenElsewhere(seen);
    }
  }

  async lead(): Promise<void> {
    this.publisher.requestLead();
    await until('leading, and all published', () => this.publisher.leads && this.publisher.buffered === 0);
    await this.settled();
  }

  /** Everything is in the log, with the verdicts on confirmed slots. */
  async settled(): Promise<void> {
    do {
      await new Promise(setImmediate);
      await this.publisher.flushed(ended.signal);
      this.#continuity.recheck();
    } while (this.#continuity.stats.settlement.pending > 0);
    await this.publisher.flushed(ended.signal);
  }
}

type Message =
  | { readonly kind: 'slot'; readonly slot: number; readonly parent: number }
  | { readonly kind: 'published'; readonly slot: number; readonly transaction: number }
  | { readonly kind: 'confirmed'; readonly slot: number };

const slot = (at: number, parent: number): Message => ({ kind: 'slot', slot: at, parent });
const reported = (transaction: number, at: number): Message => ({ kind: 'published', slot: at, transaction });
const confirmed = (at: number): Message => ({ kind: 'confirmed', slot: at });

async function busWith(entries: readonly BusEntry[]): Promise<Bus> {
  const bus = createInProcessBus();
  buses.push(bus);
  await (await bus.publisher()).publish(entries);
  return bus;
}

const entriesOf = async (bus: Bus): Promise<BusEntry[]> =>
  (await bus.tail(32_768)).map(({ topics, json }) => ({ topics: topics.map(({ topic }) => topic), record: json }));

/** The log's entries about the trade of each transaction, in order: the slot for which it is published, or its retraction. */
async function sayings(bus: Bus): Promise<Map<string, (number | 'retract')[]>> {
  const found = new Map<string, (number | 'retract')[]>();
  for (const entry of await bus.tail(32_768)) {
    const said = readRecord(entry);
    if (said === null || said.kind === 'slots') continue;
    found.set(said.id, [...(found.get(said.id) ?? []), said.kind === 'published' ? said.slot : 'retract']);
  }
  return found;
}

const trades = ((): string[] => {
  const { pipeline, events } = createHarness();
  for (const { signature, logs } of transactions) pipeline.takeNew(logsSighting({ signature, logs, slot: 1, receivedUs: nowUs() }));
  return events.flatMap((event) => (event.type === 'trade' ? [event.id] : []));
})();
const tradeOf = (transaction: number): string => trades[transaction]!;

/** What one process alone wrote into the log. */
async function logOf(messages: readonly Message[]): Promise<BusEntry[]> {
  const bus = await busWith([]);
  const head = new Head(bus);
  await head.lead();
  for (const message of messages) {
    head.take(message);
    await head.settled();
  }
  const entries = await entriesOf(bus);
  await head.publisher.close(1_000);
  return entries;
}

/** The log after a takeover: the new process saw `before`, the old one left `log`, and then the new one saw `after`. */
async function afterTakeover(log: readonly BusEntry[], before: readonly Message[], after: readonly Message[]): Promise<Bus> {
  const bus = await busWith(log);
  const head = new Head(bus);
  for (const message of before) head.take(message);
  await head.lead();
  for (const message of after) head.take(message);
  await head.lead();
  return bus;
}

/** Slots 2 and 3 both follow slot 1; one of them dies. */
const fork = [slot(1, 0), confirmed(1), slot(2, 1), slot(3, 1)] as const;
const lives = (at: number): Message[] => [slot(4, at), confirmed(4)];

describe('a transaction that the old leader published for one slot and the new leader saw in another', () => {
  it.each([
    { at: 2, living: 2, says: [2] },
    { at: 2, living: 3, says: [2, 'retract', 3] },
    { at: 3, living: 2, says: [3, 'retract', 2] },
    { at: 3, living: 3, says: [3] },
  ])('published for $at, alive in $living', async ({ at, living, says }) => {
    const log = await logOf([...fork, reported(0, at)]);
    const bus = await afterTakeover(log, [...fork, reported(0, 5 - at)], lives(living));
    expect((await sayings(bus)).get(tradeOf(0))).toEqual(says);
  });

  it('is published for the other slot if it is already known which one lives', async () => {
    const log = await logOf([...fork, reported(0, 2)]);
    const bus = await afterTakeover(log, [...fork, reported(0, 3), ...lives(3)], []);
    expect((await sayings(bus)).get(tradeOf(0))).toEqual([2, 'retract', 3]);
  });
});

describe('a transaction on three forks', () => {
  it('is published for the one that lives', async () => {
    const says = async (living: number): Promise<unknown> => {
      const heard = [...fork, slot(4, 1), reported(0, 2), reported(0, 3), reported(0, 4), slot(5, living), confirmed(5)];
      return (await sayings(await busWith(await logOf(heard)))).get(tradeOf(0));
    };
    await expect(says(2)).resolves.toEqual([2]);
    await expect(says(3)).resolves.toEqual([2, 'retract', 3]);
    await expect(says(4)).resolves.toEqual([2, 'retract', 4]);
  });
});

describe('an event that the old leader retracted', () => {
  it('is not published again by the new leader, which did not know it', async () => {
    const log = await logOf([...fork, reported(0, 2), reported(1, 2), ...lives(3)]);
    const bus = await afterTakeover(log, [...fork, reported(0, 2), reported(1, 2)], [reported(2, 4), ...lives(3)]);
    expect([...(await sayings(bus)).values()]).toEqual([[2, 'retract'], [2, 'retract'], [2, 'retract'], [2, 'retract'], [4], [4]]);
  });

  it('and published for another slot remains, although the new leader knows only the first slot', async () => {
    const log = await logOf([...fork, reported(0, 2), reported(0, 3), ...lives(3)]);
    const bus = await afterTakeover(log, [...fork, reported(0, 2)], [...lives(3), reported(0, 3)]);
    expect((await sayings(bus)).get(tradeOf(0))).toEqual([2, 'retract', 3]);
  });
});

describe('an event that the old leader left on a dead fork', () => {
  it('is retracted if the new leader knew that the slot died, and never saw the transaction', async () => {
    const log = await logOf([...fork, reported(0, 2), reported(1, 3)]);
    const bus = await afterTakeover(log, [...fork, ...lives(3)], []);
    expect((await sayings(bus)).get(tradeOf(0))).toEqual([2, 'retract']);
    expect((await sayings(bus)).get(tradeOf(1))).toEqual([3]);
  });

  it('is retracted wherever the log ends', async () => {
    const all = await logOf([...fork, reported(0, 2), reported(1, 2), reported(0, 3), ...lives(3)]);
    for (let length = 0; length <= all.length; length++) {
      const bus = await afterTakeover(all.slice(0, length), [...fork, reported(0, 2), reported(0, 3)], lives(3));
      const says = await sayings(bus);
      expectAlternating(says);
      expect(says.get(tradeOf(0))!.at(-1)).toBe(3);
      expect(says.get(tradeOf(1))?.at(-1) ?? 'retract').toBe('retract');
    }
  });
});

function expectAlternating(says: ReadonlyMap<string, readonly (number | 'retract')[]>): void {
  for (const [id, said] of says) {
    const turns = said.map((one, index) => (one === 'retract') === (index % 2 === 1));
    expect({ id, said, turns: turns.every(Boolean) }).toEqual({ id, said, turns: true });
  }
}

describe('over any chain with forks, any order of the reports to two processes, and any end of the first', () => {
  const slots = 8;
  const share = fc.integer({ min: 0, max: 99 });
  /** A slot follows the previous one, or an earlier one. */
  const parents = fc.array(fc.integer({ min: 1, max: 2 }), { minLength: slots, maxLength: slots });
  const hearing = fc.array(fc.record({ delay: fc.integer({ min: 0, max: 6 }), lost: share }), { minLength: 64, maxLength: 64 });
  const landings = fc.array(fc.array(fc.integer({ min: 2, max: slots }), { minLength: 1, maxLength: 3 }), { minLength: 4, maxLength: 8 });

  it('publications and retractions of each event alternate, and the living events remain in the end', async () => {
    await fc.assert(
      fc.asyncProperty(parents, landings, hearing, hearing, share, share, async (steps, landed, first, second, killedAt, takenAt) => {
        const chain = chainOf(steps);
        const expected = landed.map((at) => landedOnce(at, chain.living));
        const log = await logOf(heard(chain, expected, first).messages);
        const successor = heard(chain, expected, second);
        const cut = log.slice(0, Math.round((log.length * killedAt) / 99));
        const inTime = Math.round((successor.messages.length * takenAt) / 99);
        const bus = await afterTakeover(cut, successor.messages.slice(0, inTime), successor.messages.slice(inTime));
        const says = await sayings(bus);
        expectAlternating(says);
        for (const said of says.values()) {
          const last = said.at(-1)!;
          expect(last === 'retract' || chain.living.has(last)).toBe(true);
        }
        for (const [transaction, at] of successor.saw)
          expect([transaction, says.get(tradeOf(transaction))?.at(-1)]).toEqual([transaction, at]);
        await Promise.all(heads.splice(0).map(({ publisher }) => publisher.close(0)));
        await Promise.all(buses.splice(0).map((one) => one.close()));
      }),
      { numRuns: 300 },
    );
  });

  interface Chain {
    readonly parentOf: ReadonlyMap<number, number>;
    readonly living: ReadonlySet<number>;
  }

  function chainOf(steps: readonly number[]): Chain {
    const parentOf = new Map<number, number>([[1, 0]]);
    for (let at = 2; at <= slots; at++) parentOf.set(at, Math.max(1, at - steps[at - 1]!));
    const living = new Set<number>();
    for (let at = slots; at > 0; at = parentOf.get(at)!) living.add(at);
    return { parentOf, living };
  }

  /** A transaction lands once on the living chain, and any number of times elsewhere. */
  function landedOnce(at: readonly number[], living: ReadonlySet<number>): number[] {
    const [first, ...others] = at.filter((one) => living.has(one));
    return [...new Set(at)].filter((one) => one === first || !others.includes(one));
  }

  /** The reports that a process receives, and the transactions that it saw in the slots in which they live. */
  function heard({ parentOf, living }: Chain, landed: readonly (readonly number[])[], hears: readonly { delay: number; lost: number }[]) {
    const timed: { at: number; message: Message }[] = [];
    const saw = new Map<number, number>();
    let draws = 0;
    for (const [at, parent] of parentOf) timed.push({ at, message: slot(at, parent) });
    for (const at of living) timed.push({ at: at + 2.5, message: confirmed(at) });
    for (const [transaction, ats] of landed.entries()) {
      for (const at of ats) {
        const { delay, lost } = hears[draws++ % hears.length]!;
        if (lost < 20) continue;
        timed.push({ at: at + 0.1 + delay, message: reported(transaction, at) });
        if (living.has(at)) saw.set(transaction, at);
      }
    }
    return { messages: timed.toSorted((a, b) => a.at - b.at).map(({ message }) => message), saw };
  }
});
