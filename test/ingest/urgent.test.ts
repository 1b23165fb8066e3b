import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../ingest/src/publisher/event-queue.ts';
import type { Outgoing } from '../../ingest/src/publisher/outgoing.ts';
import { urgentFirst } from '../../ingest/src/sources/decode/urgent.ts';
import type { TransactionContents } from '../../ingest/src/sources/decode/transaction-decoder.ts';
import { GrpcSource } from '../../ingest/src/sources/grpc/grpc-source.ts';
import type { FromReader } from '../../ingest/src/sources/grpc/reader.ts';
import type { ReadUpdate } from '../../ingest/src/sources/grpc/read-update.ts';
import { addressOf, tradeEvent } from '../support/events/stream-events.ts';
import { recordingLog } from './harness.ts';

/** What a decoder shows of a transaction with an event of these pools; a new token if it has the sign `*`. */
function contentsOf(...pools: readonly string[]): TransactionContents {
  const events = pools.map((pool) => {
    const event = pool.startsWith('*') ? { type: 'created', pool: pool.slice(1) } : { type: 'trade', pool };
    return { venue: 'pump', path: '0', event };
  }) as unknown as TransactionContents['events'];
  const nothing = { feePayer: null, index: null, blockTime: null, tokenBalances: null, digest: 0, outcomes: [], fault: null, refused: 0 };
  return { kind: 'read', ...nothing, events };
}

describe('urgent transactions', () => {
  it('overtake those of other pools, and none of their own', () => {
    const given = [['a'], ['b'], ['*c', 'c'], ['c'], ['*b'], ['*d'], ['*d']].map((pools) => ({ pools, contents: contentsOf(...pools) }));
    expect(urgentFirst(given).map(({ pools }) => pools.join())).toEqual(['*c,c', '*d', '*d', 'a', 'b', 'c', '*b']);
  });

  it('overtake a burst that waits for its turn', async () => {
    let onMessage: (message: FromReader) => void = () => undefined;
    const source = new GrpcSource({
      urls: ['http://127.0.0.1:1'],
      token: null,
      firstIndex: 0,
      filters: { programs: [], watched: [], accounts: [] },
      newestSlot: () => 5,
      log: recordingLog([]),
      open: (parts) => {
        ({ onMessage } = parts);
        return { post: () => undefined, close: () => undefined };
      },
    });
    const taken: string[] = [];
    const busy = (signature: string): void => {
      taken.push(signature);
      for (const endMs = performance.now() + 1; performance.now() < endMs;);
    };
    const unused = (): never => expect.fail('not expected');
    const sink = {
      isRepeat: () => false,
      failed: unused,
      account: unused,
      slot: unused,
      block: unused,
      confirmedSlot: unused,
      resumed: unused,
    };
    const ended = new AbortController();
    source.start({ ...sink, sighting: ({ signature }) => busy(signature) }, ended.signal);
    const send = (...all: readonly string[]): void => {
      const updates = all.map((pool): ReadUpdate => {
        return { kind: 'transaction', slot: 5, signature: pool, digest: 1, contents: contentsOf(pool) };
      });
      onMessage({ kind: 'updates', endpoint: 0, updates, bytes: 1, receivedUs: 1 });
    };
    send(...Array.from({ length: 40 }, (_, index) => `old ${index}`));
    send('new 1', '*new 2', '*old 39');
    while (taken.length < 43) await turn();
    expect(taken.indexOf('*new 2')).toBeLessThan(20);
    expect(taken.slice(-3)).toEqual(['old 39', 'new 1', '*old 39']);
    ended.abort();
  });
});

describe('urgent events in the queue', () => {
  const [coin, other] = [addressOf(1), addressOf(2)];
  const event = (id: string, mint: string, type: 'trade' | 'migration' = 'trade'): Outgoing =>
    ({ ...tradeEvent(mint), id, type }) as unknown as Outgoing;
  const idsOf = (taken: readonly Outgoing[]): unknown[] => taken.map((one) => ('id' in one ? one.id : null));

  it('go before events of other tokens, in a batch of their own, and behind what is sent again', () => {
    const queue = new EventQueue();
    for (const id of ['1', '2']) queue.push(event(id, coin), true);
    queue.push(event('of another', other, 'migration'), true);
    queue.push(event('of the same', coin, 'migration'), true);
    queue.push(event('while others wait', addressOf(3), 'migration'));
    expect(queue.length).toBe(5);
    const [first] = [queue.take(10)];
    expect(idsOf(first)).toEqual(['of another']);
    queue.push(event('later', addressOf(4), 'migration'), true);
    queue.putBack(first);
    expect(idsOf(queue.take(10))).toEqual(['of another', 'later', '1', '2', 'of the same', 'while others wait']);
  });

  it('are dropped like others if they are too many, or too old', () => {
    const queue = new EventQueue();
    queue.push(event('first', coin), true);
    let dropped = 0;
    for (let at = 0; at < 50_001; at++) dropped += queue.push(event(`${at}`, other, 'migration'), true);
    expect(dropped).toBe(2);
    expect(queue.length).toBe(50_001);
    queue.dropReceivedBefore(Number.MAX_SAFE_INTEGER);
    expect(queue.length).toBe(0);
  });
});
