import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { keepTransactions } from '@sluice/shared/solana/rpc/answers/keep-transactions.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { SightingRouter } from '../../ingest/src/continuity/sighting-router.ts';
import { GrpcSource } from '../../ingest/src/sources/grpc/grpc-source.ts';
import { readUpdate } from '../../ingest/src/sources/grpc/messages.ts';
import { UpdateDecoder } from '../../ingest/src/sources/grpc/read-update.ts';
import { BlockFeed } from '../../ingest/src/sources/pubsub/block-feed.ts';
import type { FeedEndpoint } from '../../ingest/src/sources/pubsub/feed.ts';
import { TransactionFeed } from '../../ingest/src/sources/pubsub/transaction-feed.ts';
import { noCounts } from '../../ingest/src/sources/source.ts';
import { BlocksSource } from '../../ingest/src/sources/blocks/blocks-source.ts';
import { digestLines, readLogsHead, readLogsLines } from '../../ingest/src/sources/pubsub/logs.ts';
import { ReplaySource } from '@sluice/ingest/sources/replay/replay-source.ts';
import { readWholeSighting } from '../../ingest/src/sources/rpc/whole-sighting.ts';
import { venues } from '@sluice/venues/registry.ts';
import { createHarness, recordingLog, type Harness } from '../ingest/harness.ts';
import { logsFrame } from '../ingest/log-frames.ts';
import { fastClock } from '../support/clocks.ts';
import { fuzzCases, fuzzMs } from '../support/fuzz.ts';
import { answerUpdate, type Answer } from '../support/servers/grpc-updates.ts';
import { until } from '../support/until.ts';
import { fixtureBytes, fixturesNote, fixturesPresent } from './fixtures.ts';
import { dlmmPairs, programs, recorded, reportedOf, signatureOf, slots, type Block, type Item, type Json } from './recorded-blocks.ts';

/** How many swaps of the blocks have an event of a venue. The swaps of Orca of 2024 have none. */
const swaps: Readonly<Record<number, number>> = { 332_254_908: 94, 285_000_037: 121 };
/** The name of a venue in the list of swaps. */
const listed = (name: string): string => (name === 'raydium-amm' ? 'raydium-amm-v4' : name);
const listedVenues = new Set(venues.map(({ name }) => listed(name)));
const textPrefixes = venues.flatMap(({ records: { textPrefix } }) => (textPrefix === null ? [] : [`Program log: ${textPrefix}`]));

interface Reader {
  readonly slot: number;
  readonly harness: Harness;
  readonly router: SightingRouter;
  readonly contested: string[];
  readonly blocks: number[];
}

/** Everything behind the sources, without a publisher. `getTransaction` returns what the block has. */
function reader(transactions: readonly Item[], slot: number): Reader {
  const bySignature = new Map(transactions.map((item) => [signatureOf(item), item]));
  const harness = createHarness({
    accounts: dlmmPairs(slot),
    answer: async (method, params) =>
      method === 'getTransaction' ? { ...bySignature.get(String(params[0])), slot, blockTime: 1_744_215_033 } : undefined,
  });
  const [contested, blocks]: [string[], number[]] = [[], []];
  const router = new SightingRouter({
    pipeline: harness.pipeline,
    solUsd: harness.solUsd,
    log: recordingLog([]),
    continuity: {
      slot: () => undefined,
      block: (at) => void blocks.push(at),
      confirmed: () => undefined,
      contested: (signature) => void contested.push(signature),
      isDead: () => false,
      seenElsewhere: () => undefined,
      resumed: () => undefined,
    },
  });
  return { slot, harness, router, contested, blocks };
}

/** A source shows one transaction. */
type Show = (of: Reader, item: Item) => void;

const showLogs: Show = ({ router, slot }, item) => {
  const frame = Buffer.from(logsFrame(signatureOf(item), slot, item.meta.logMessages));
  const head = readLogsHead(frame)!;
  if (router.isRepeat('logs', head.signature, slot, digestLines(frame, head))) return;
  const logs = readLogsLines(frame, head, textPrefixes)!;
  router.sighting({ kind: 'logs', source: 'logs', signature: head.signature, slot, commitment: 'processed', receivedUs: 1, logs });
};

const showReplay: Show = ({ router, slot }, item) => {
  const transaction = { signature: signatureOf(item), hasFailed: false, logs: item.meta.logMessages, answer: { ...item, slot } };
  const playback = {
    start: (listener: { onBlock(block: unknown): void }): void =>
      listener.onBlock({ slot, parentSlot: slot - 1, transactions: [transaction] }),
    stop: (): void => undefined,
  };
  new ReplaySource(playback, recordingLog([])).start(router, new AbortController().signal);
};

let ended = new AbortController();
afterEach(() => {
  ended.abort();
  ended = new AbortController();
});

/** Reads the block as the source `blocks` does, from an endpoint that answers with it. */
async function readBlocks({ router, slot }: Reader, block: unknown): Promise<BlocksSource> {
  let asked = false;
  const call: Rpc['call'] = async (method, _params, _signal, _accept, keep, blocks) => {
    if (method === 'getSlot') return asked ? new Promise(() => undefined) : slot;
    asked = true;
    const answer = { result: structuredClone(block) };
    (blocks?.read ?? keepTransactions)(answer, keep!);
    if (answer.result === 'refused') throw new RpcError('answer', -32_601, 'Method not found');
    return answer.result;
  };
  const source = new BlocksSource({ rpcs: [{ call }], programs, clock: fastClock(1_000), log: recordingLog([]) });
  source.start(router, ended.signal);
  await until('it is read or given up', () => source.health().holes + (source.health().slot === slot ? 1 : 0) > 0);
  return source;
}

const showBlock: Show = ({ router, slot }, item) => {
  const origin = { source: 'blocks', signature: signatureOf(item), slot, commitment: 'confirmed', receivedUs: 1, late: false } as const;
  const sighting = readWholeSighting({ ...item, slot }, origin);
  if (sighting.kind === 'whole') router.sighting(sighting);
};

/** By the sources that push: each reports the transactions in an update of its own. */
const showGrpc: Show = ({ router, slot }, item) => {
  const update = readUpdate(Buffer.from(answerUpdate(item as unknown as Answer, slot)));
  const updates = update === 'malformed' ? expect.fail('a malformed update') : [new UpdateDecoder(venues).read(update)!];
  new GrpcSource({
    urls: ['http://127.0.0.1:1'],
    token: null,
    firstIndex: 0,
    filters: { programs, watched: venues, accounts: [] },
    newestSlot: () => slot,
    log: recordingLog([]),
    open: ({ onMessage }) => {
      setImmediate(() => onMessage({ kind: 'updates', endpoint: 0, updates, bytes: 1, receivedUs: 1 }));
      return { post: () => undefined, close: () => undefined };
    },
  }).start(router, new AbortController().signal);
};

function endpointOf({ router }: Reader): FeedEndpoint {
  const fail = (): never => expect.fail('a fault of the endpoint');
  return { index: 0, sink: router, counts: noCounts(), isPossible: () => true, checkAsked: () => undefined, malformed: fail, missed: fail };
}

const showSubscribedTransaction: Show = (of, item) => {
  const result = { signature: signatureOf(item), slot: of.slot, transaction: item };
  new TransactionFeed(programs).takeNotification({ subscription: 1, result }, 1, endpointOf(of));
};

const showSubscribedBlock: Show = (of, item) => {
  const { slot } = of;
  const value = { slot, err: null, block: { blockhash: 'x', parentSlot: slot - 1, blockTime: 1_744_215_033, transactions: [item] } };
  const params = { result: { context: { slot }, value }, subscription: 1 };
  const frame = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'blockNotification', params }));
  expect(new BlockFeed(programs).takeFrame(frame, 1, endpointOf(of))).toBe(true);
};

const kinds = [showLogs, showReplay, showBlock, showGrpc, showSubscribedTransaction, showSubscribedBlock] as const;

async function settled({ harness }: Reader): Promise<void> {
  await until('all is complete', () => {
    const { incomplete, completed, lostTransactions } = harness.pipeline.counts;
    return incomplete === completed + lostTransactions && harness.pipeline.waiting === 0;
  });
}

/** What clients receive of a trade, apart from times and from values that depend on the price of SOL and on earlier trades. */
function tradesIn({ harness }: Reader): string[] {
  return harness.events.flatMap((event) => (event.type === 'trade' ? [shown(event)] : [])).toSorted();
}

interface ShownTrade {
  readonly id: string;
  readonly poolAddress: string;
  readonly trader: string;
  readonly side: string;
  readonly mint: string;
  readonly quoteMint: string;
  readonly baseAmount: string;
  readonly quoteAmount: string;
  readonly fees: readonly { readonly mint: string; readonly amount: string }[];
}

function shown(event: StreamEvent & { readonly type: 'trade' }): string {
  const { id, pool, poolAddress, side, trader, mint, quoteMint, baseAmount, quoteAmount, fees } = event;
  return JSON.stringify({ id, pool, poolAddress, side, trader, mint, quoteMint, baseAmount, quoteAmount, fees });
}

describe.skipIf(!fixturesPresent).each(slots)(`the recorded block %i (${fixturesNote})`, (slot) => {
  const block = fixturesPresent ? recorded(slot) : ({ transactions: [] } as Block);
  const items = reportedOf(block);
  const relevant = new Set(items.map(signatureOf));
  /** All of the venues, and some others. */
  const small = block.transactions.filter((item, index) => relevant.has(signatureOf(item)) || index % 40 === 0);

  async function byBlocks(): Promise<string[]> {
    const one = reader(items, slot);
    await readBlocks(one, block);
    await settled(one);
    return tradesIn(one);
  }

  it(
    'gives every swap of the venues right, with the same ids, through each source and through all in any order',
    async () => {
      const expected = await byBlocks();
      const rows = fixtureBytes(`blocks/${slot}.swaps.jsonl`)
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string>)
        .filter(({ venue, event }) => event !== 'none' && listedVenues.has(venue!));
      // What the trader paid and received: fees in a coin are apart from the amount through the pool.
      const moved = (text: string): string => {
        const { id, poolAddress, trader, side, mint, quoteMint, baseAmount, quoteAmount, fees } = JSON.parse(text) as ShownTrade;
        const charged = (coin: string): bigint => fees.reduce((sum, fee) => (fee.mint === coin ? sum + BigInt(fee.amount) : sum), 0n);
        const [base, quote] = [charged(mint), charged(quoteMint)];
        const [paid, received] =
          side === 'buy'
            ? [BigInt(quoteAmount) + quote, BigInt(baseAmount) - base]
            : [BigInt(baseAmount) + base, BigInt(quoteAmount) - quote];
        return [id.split(':')[0], poolAddress, trader, side === 'buy' ? mint : quoteMint, paid, received].join(' ');
      };
      const requested = rows.map(({ signature, pool, trader, outMint, amountIn, amountOut }) =>
        [signature, pool, trader, outMint, amountIn, amountOut].join(' '),
      );
      expect(requested).toHaveLength(swaps[slot]!);
      const found = expected.filter((text) => !/"pool":"pump/.test(text)).map(moved);
      expect(found.toSorted()).toEqual(requested.toSorted());
      for (const show of [showLogs, showReplay, showGrpc, showSubscribedTransaction, showSubscribedBlock]) {
        const one = reader(items, slot);
        for (const item of items) show(one, item);
        // Some sources report later.
        await until('every trade', () => tradesIn(one).length >= expected.length);
        await settled(one);
        expect(tradesIn(one)).toEqual(expected);
      }
      await fc.assert(
        fc.asyncProperty(
          fc.noShrink(fc.array(fc.integer({ min: 0, max: 2 ** 30 }), { minLength: 2 * kinds.length, maxLength: 2 * kinds.length })),
          async (dice) => {
            const one = reader(items, slot);
            const shows = items.flatMap((item, index) =>
              kinds.map((show, kind) => ({ show, item, at: (dice[kind]! + index * dice[kinds.length + kind]!) % 1_009 })),
            );
            for (const { show, item } of shows.toSorted((x, y) => x.at - y.at)) show(one, item);
            await readBlocks(one, { ...block, transactions: small });
            await settled(one);
            expect(tradesIn(one)).toEqual(expected);
            expect(one.contested).toEqual([]);
          },
        ),
        { numRuns: fuzzCases(20) },
      );
    },
    fuzzMs(240_000),
  );

  /** One of many ways in which a transaction can be damaged. The number chooses where. */
  const damages: readonly ((item: Json, dice: number) => unknown)[] = [
    (item) => ({ ...item, meta: null }),
    (item) => ({ ...item, meta: { ...(item['meta'] as Json), innerInstructions: null } }),
    (item) => ({ ...item, version: 1 }),
    // SIMD-0290: in the block, and not executed.
    (item) => ({
      ...item,
      meta: { ...(item['meta'] as Json), err: 'InvalidAccountForFee', fee: 0, logMessages: null, innerInstructions: null },
    }),
    (item, dice) => withJunk(item, dice),
    (_item, dice) => [null, 1, 'x', [], {}, { transaction: { signatures: [] } }][dice % 6],
    (item, dice) => ({
      ...item,
      meta: { ...(item['meta'] as Json), logMessages: (item['meta'] as { logMessages: string[] }).logMessages.slice(0, dice % 7) },
    }),
  ];

  /** Replaces a value anywhere in a transaction. */
  function withJunk(item: Json, dice: number): Json {
    const copy = structuredClone(item);
    let at: Json = copy;
    for (let rest = dice; ; rest = Math.floor(rest / 7)) {
      const keys = Object.keys(at);
      const key = keys[rest % Math.max(1, keys.length)]!;
      const value = at[key];
      if (rest < 7 || !(isRecord(value) || Array.isArray(value)) || keys.length === 0) {
        at[key] = [null, -1, 2 ** 53, '1'.repeat(100), [], {}, '\u0000', 1e308][dice % 8];
        return copy;
      }
      at = value as Json;
    }
  }

  it(
    'may be damaged in any way: every other transaction gives its events, and nothing throws or hangs',
    async () => {
      const expected = await byBlocks();
      const hit = fc.record({
        at: fc.integer({ min: 0, max: small.length - 1 }),
        how: fc.integer({ min: 0, max: damages.length - 1 }),
        dice: fc.nat(),
      });
      const shape = fc.constantFrom('whole', 'whole', 'twice', 'truncated', 'huge', 'reversed', 'refused', 'no list', 'no hash');
      await fc.assert(
        fc.asyncProperty(fc.array(hit, { maxLength: 12 }), shape, fc.nat(), async (hits, form, dice) => {
          const touched = new Set<string>();
          const damaged: unknown[] = [...small];
          for (const { at, how, dice: number } of hits) {
            touched.add(signatureOf(small[at]!));
            damaged[at] = damages[how]!(small[at]!, number);
          }
          const cut = form === 'truncated' ? dice % damaged.length : damaged.length;
          for (const item of small.slice(cut)) touched.add(signatureOf(item));
          const list =
            form === 'twice'
              ? [...damaged, ...damaged]
              : form === 'huge'
                ? Array.from({ length: 4 }, () => damaged).flat()
                : damaged.slice(0, cut);
          const shownBlock = {
            refused: 'refused',
            'no list': { ...block, transactions: null },
            'no hash': { ...block, blockhash: null, transactions: list },
          }[form as string] ?? { ...block, transactions: form === 'reversed' ? list.toReversed() : list };
          const one = reader(items, slot);
          const source = await readBlocks(one, shownBlock);
          await settled(one);
          const isRead = source.health().holes === 0;
          expect(one.blocks).toEqual(isRead ? [slot] : []);
          const of = (texts: readonly string[]): string[] =>
            texts.filter((text) => !touched.has((JSON.parse(text) as { id: string }).id.split(':')[0]!));
          // A block of which not even the signatures can be read is left to another endpoint, or to the comparison with the records of nodes.
          expect(of(tradesIn(one))).toEqual(isRead ? of(expected) : []);
        }),
        { numRuns: fuzzCases(60) },
      );
    },
    fuzzMs(240_000),
  );
});
