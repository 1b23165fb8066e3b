import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../ingest/src/publisher/event-queue.ts';
import type { Outgoing } from '../../ingest/src/publisher/outgoing.ts';
import { urgentFirst } from '../../ingest/src/sources/decode/urgent.ts';
import type { TransactionContents } from '../../ingest/src/sources/decode/transaction-decoder.ts';
import { GrpcSource } from '../../ingest/src/sources/grpc/grpc-source.ts';
import type { FromReader } from '../../ingest/src/sources/grpc/reader.ts';
import type { ReadUpdate } from '../../ingest/src/sources/grpc/read-update.ts';
import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import type { SourceName } from '@sluice/shared/config/settings/source-settings.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { programId } from '@sluice/venues/pump/curve/program.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import { addressOf, tradeEvent } from '../support/events/stream-events.ts';
import { testConfig } from '../support/test-config.ts';
import { until } from '../support/until.ts';
import { recordingLog } from './harness.ts';
import { creationBytes, curveBytesOf, dataLine, invoked } from './log-frames.ts';
import { addressOf as addressOfKey, keyOf, migrationEventBytes, signatureOf } from './pump-frames.ts';
import { startScriptedNode, type ScriptedNode } from './scripted-node.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';

/** What a decoder shows of a transaction with an event of these pools: a new token for the sign `*`, a migration for `>`, or a trade. */
function contentsOf(...pools: readonly string[]): TransactionContents {
  const events = pools.map((pool) => {
    const name = pool.slice(1);
    const event = pool.startsWith('*')
      ? { type: 'created', pool: name }
      : pool.startsWith('>')
        ? { type: 'migrated', fromPool: name, toPool: `${name}2` }
        : { type: 'trade', pool };
    return { venue: 'pump', path: '0', event };
  }) as unknown as TransactionContents['events'];
  const nothing = {
    feePayer: null,
    index: null,
    blockTime: null,
    tokenBalances: null,
    digest: 0,
    facts: '',
    outcomes: [],
    fault: null,
    refused: 0,
  };
  return { kind: 'read', ...nothing, events };
}

describe('urgent transactions', () => {
  it('overtake all if they open a pool, and otherwise none of their own pools', () => {
    const given = [['a'], ['b'], ['*c', 'c'], ['c'], ['*b'], ['>a'], ['*d'], ['>d'], ['>e']].map((pools) => ({
      pools,
      contents: contentsOf(...pools),
    }));
    expect(urgentFirst(given).map(({ pools }) => pools.join())).toEqual(['*c,c', '*b', '*d', '>d', '>e', 'a', 'b', 'c', '>a']);
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
        return { kind: 'transaction', slot: 5, signature: pool, contents: contentsOf(pool) };
      });
      onMessage({ kind: 'updates', endpoint: 0, updates, bytes: 1, receivedUs: 1 });
    };
    send(...Array.from({ length: 40 }, (_, index) => `old ${index}`));
    send('new 1', '*new 2', '>old 39');
    while (taken.length < 43) await turn();
    expect(taken.indexOf('*new 2')).toBeLessThan(20);
    expect(taken.slice(-3)).toEqual(['old 39', 'new 1', '>old 39']);
    ended.abort();
  });
});

/** Connects ingest to a node by one source, sends a burst, and returns the events in the order of their publication, each with its coin. */
async function publishedOf(source: SourceName, send: (node: ScriptedNode) => number): Promise<string[]> {
  const [bus, node, published] = [createInProcessBus(), await startScriptedNode(), [] as string[]];
  const subscriber = await bus.subscriber();
  const onEntry = (entry: LogEntry): void => {
    for (const event of eventsOfEntry(entry)) if ('mint' in event && event.type !== 'price') published.push(`${event.type} ${event.mint}`);
  };
  await subscriber.start({ onEntry, onLost: ({ reason }) => expect.fail(reason) });
  const config = { ...testConfig, rpc: { httpUrls: [node.httpUrl], wsUrls: [node.wsUrl] }, sources: [source], grpc: null };
  const ingest = await startIngest({ config, bus, log: recordingLog([]), signal: new AbortController().signal });
  await until('ingest reads', () => ingest.stats().leads && ingest.stats().endpointsUp === 1);
  const expected = send(node);
  await until('all is published', () => published.length >= expected);
  await ingest.close();
  await bus.close();
  await node.close();
  return published;
}

describe('urgent notifications', () => {
  const traded = Array.from({ length: 300 }, (_, coin) => `coin ${coin}`);
  const buy = (coin: string) => ['Buy', curveBuy({ mint: keyOf(coin) })] as const;
  const migration = (coin: string) => {
    const amounts = { baseAmount: 1n, quoteAmount: 1n, fee: 1n, timestamp: 1_791_485_924 };
    const event = migrationEventBytes({ mint: keyOf(coin), curve: curveBytesOf(coin), pool: keyOf(`pool of ${coin}`), ...amounts });
    return ['Migrate', event] as const;
  };
  // The new coin's first buy is reported before its creation, which comes last.
  const burst = [
    ...traded.map(buy),
    migration('coin 299'),
    migration('quiet'),
    buy('fresh'),
    ['CreateV2', creationBytes('fresh')] as const,
  ];

  it.each(['logs', 'transaction-subscribe'] as const)('overtake a burst that %s has not decoded', async (source) => {
    const published = await publishedOf(source, (node) => {
      for (const [index, [instruction, event]] of burst.entries()) {
        const logs = invoked(programId, 1, [`Program log: Instruction: ${instruction}`, dataLine(event)]);
        const signature = signatureOf(`burst ${index}`);
        if (source === 'logs') node.logs(signature, logs);
        else {
          const { meta, ...rest } = wholeTransaction(signature, [event], node.slot);
          const transaction = { ...rest, meta: { ...meta, logMessages: logs } };
          node.notify('transactionNotification', 'transactionSubscribe', { signature, slot: node.slot, transaction });
        }
      }
      return burst.length;
    });
    const place = (type: string, coin: string): number => published.indexOf(`${type} ${addressOfKey(coin)}`);
    expect(place('newToken', 'fresh')).toBeLessThan(150);
    expect(place('migration', 'quiet')).toBeLessThan(150);
    expect(place('migration', 'coin 299')).toBe(place('trade', 'coin 299') + 1);
    const trades = published.filter((event) => event.startsWith('trade '));
    expect(trades).toEqual([...traded, 'fresh'].map((coin) => `trade ${addressOfKey(coin)}`));
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
