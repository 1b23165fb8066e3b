import { afterEach, describe, expect, it } from 'vitest';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import type { NewTokenEvent, StreamEvent, TradeEvent } from '@sluice/shared/wire/events/events.ts';
import { startIngest, type Ingest } from '@sluice/ingest/ingest.ts';
import { createHarness, recordingLog, type Harness } from './harness.ts';
import { manualClock } from '../support/clocks.ts';
import { until } from '../support/until.ts';
import {
  addressOf,
  ammProgram,
  completeEventBytes,
  createEventBytes,
  keyOf,
  mintAccountBytes,
  poolAccountBytes,
  pumpProgram,
  signatureOf,
} from './pump-frames.ts';
import { dataLine, invoked } from './log-frames.ts';
import { curveBuy, poolBuy } from './some-trades.ts';
import { accountAnswers, accountJson, startScriptedNode, type ScriptedNode } from './scripted-node.ts';
import { wholeTransaction } from './whole-transaction.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import { logsSighting } from './sightings.ts';
import { testConfig } from '../support/test-config.ts';

const mint = keyOf('coin');
const curve = addressBytes(bondingCurveAddress(addressOf('coin')));
const trader = keyOf('trader');
const receivedUs = 1_791_485_924_000_000;
/** Virtual token reserves at which a curve has no real tokens left. */
const emptyCurve = 279_900_000_000_000n;

const first = curveBuy({ solAmount: 1n });
const second = curveBuy({ solAmount: 2n });
const unknownEvent = Buffer.from('00112233445566778899', 'hex');
const creation = createEventBytes({
  mint,
  curve,
  trader,
  name: 'a',
  symbol: 'b',
  uri: 'c',
  timestamp: 5,
  tokenProgram: addressBytes(token2022Program),
});

/** One top-level pump instruction for each event, as in `wholeTransaction`. */
const whole = (...events: readonly Buffer[]): string[] => events.flatMap((event) => invoked(pumpProgram, 1, [dataLine(event)]));
const cut = (...events: readonly Buffer[]): string[] => [...whole(...events), 'Log truncated'];

/** A harness whose one endpoint answers getTransaction. */
function harnessOf(answer: (signature: string, asked: number) => unknown, giveUpAfterMs?: number): Harness {
  let asked = 0;
  return createHarness({
    answer: (method, params) => (method === 'getTransaction' ? answer(String(params[0]), asked++) : undefined),
    ...(giveUpAfterMs === undefined ? {} : { giveUpAfterMs }),
  });
}

function report(harness: Harness, name: string, logs: readonly string[]): string {
  const signature = signatureOf(name);
  const seen = logsSighting({ signature, slot: 100, logs, receivedUs });
  if (harness.pipeline.see(signature, seen.slot) === null) harness.pipeline.takeNew(seen);
  else if (harness.pipeline.isOpen(signature)) harness.pipeline.takeAgain(seen);
  return signature;
}

const idsOf = ({ events }: Harness): string[] =>
  events.filter(({ type }) => type !== 'price').map(({ id }) => id.slice(id.indexOf(':') + 1));
const lost =
  (harness: Harness): (() => boolean) =>
  () =>
    harness.pipeline.counts.lostTransactions === 1;
const completed =
  (harness: Harness): (() => boolean) =>
  () =>
    harness.pipeline.counts.completed === 1;

describe('a fetched transaction', () => {
  it('is ignored if it is another one: nothing is published under the requested signature', async () => {
    const harness = harnessOf((signature, asked) => wholeTransaction(asked === 0 ? signatureOf('another') : signature, [first, second]));
    const signature = report(harness, 'asked', cut(first));
    await until('completed', completed(harness));
    expect(harness.calls.filter(({ method }) => method === 'getTransaction')).toHaveLength(2);
    expect(harness.events.map(({ id }) => id)).toEqual(['0', '0.price', '1', '1.price'].map((path) => `${signature}:${path}`));

    const only = harnessOf(() => wholeTransaction(signatureOf('another'), [first, second]), 50);
    report(only, 'asked', ['Log truncated']);
    await until('given up', lost(only));
    expect(only.events).toEqual([]);
    expect(only.losses.map(({ reason }) => reason)).toEqual(['cut logs; the answer has another transaction']);
  });

  it.each([
    ['null inner instructions', { innerInstructions: null }, 'inner instructions were not recorded'],
    ['no inner instructions', { innerInstructions: undefined }, 'inner instructions were not recorded'],
  ])('is lost, and reported as lost, if every answer has %s', async (_case, meta, reason) => {
    const harness = harnessOf((signature) => {
      const answer = wholeTransaction(signature, [first, second]);
      return { ...answer, meta: { ...answer.meta, ...meta } };
    }, 50);
    report(harness, 'a', cut(first));
    await until('given up', lost(harness));
    expect(harness.pipeline.counts).toMatchObject({ incomplete: 1, completed: 0, lostTransactions: 1 });
    expect(harness.losses.map((loss) => loss.reason)).toEqual([`cut logs; ${reason}`]);
  });

  it('is lost, without look-alikes, if the heights are missing', async () => {
    const harness = harnessOf((signature) => withoutHeights(wholeTransaction(signature, [first, second])), 50);
    report(harness, 'a', cut());
    await until('given up', lost(harness));
    expect(harness.losses.map(({ reason }) => reason)).toEqual([
      'cut logs; the stack heights of inner instructions do not show their callers',
    ]);
    expect(harness.pipeline.decoder.refusedLookAlikes).toBe(0);
    expect(harness.pipeline.counts.completed).toBe(0);
  });

  it('is read from its logs, with the same paths, if the inner instructions are missing and the logs are complete', async () => {
    const harness = harnessOf((signature) => {
      const answer = withoutHeights(wholeTransaction(signature, [first, second]));
      return { ...answer, meta: { ...answer.meta, logMessages: whole(first, second) } };
    });
    report(harness, 'a', cut(first));
    await until('completed', completed(harness));
    expect(idsOf(harness)).toEqual(['0', '1']);
  });

  it('adds nothing, with a reason, if it failed in the end', async () => {
    const harness = harnessOf((signature) => {
      const answer = wholeTransaction(signature, [creation]);
      return { ...answer, meta: { ...answer.meta, err: { InstructionError: [0, 'Custom'] } } };
    });
    report(harness, 'a', cut(creation));
    await until('given up', lost(harness));
    expect(harness.events).toEqual([]);
    expect(harness.losses.map(({ reason }) => reason)).toEqual(['cut logs; it failed on the living branch']);
  });

  it('counts what it decoded before and after the cut once each', async () => {
    const harness = harnessOf((signature) =>
      wholeTransaction(signature, [unknownEvent, first.subarray(0, 60), first, second, unknownEvent]),
    );
    report(harness, 'a', [
      ...whole(unknownEvent, first.subarray(0, 60), first),
      ...invoked(pumpProgram, 1, [`${dataLine(first)} AAAA`]),
      'Log truncated',
    ]);
    expect(harness.pipeline.decoder.counts.get('pump')).toEqual({ decoded: 1, ignored: 0, unknown: 2, malformed: 1 });
    await until('completed', completed(harness));
    expect(harness.pipeline.decoder.counts.get('pump')).toEqual({ decoded: 2, ignored: 0, unknown: 3, malformed: 1 });
    expect(harness.faults.map(({ kind }) => kind)).toEqual(['unknown', 'malformed', 'unknown', 'unknown']);
  });
});

function withoutHeights(answer: ReturnType<typeof wholeTransaction>): ReturnType<typeof wholeTransaction> {
  const inner = answer.meta['innerInstructions'] as { index: number; instructions: Record<string, unknown>[] }[];
  const innerInstructions = inner.map(({ index, instructions }) => ({
    index,
    instructions: instructions.map((instruction) => ({ ...instruction, stackHeight: null })),
  }));
  return { ...answer, meta: { ...answer.meta, innerInstructions } };
}

describe('events that a cut may hide', () => {
  const emptying = curveBuy({ virtualToken: emptyCurve, virtualSol: 115_000_000_000n });
  const complete = completeEventBytes(mint, curve, trader, 1);

  it('delay only the buy that emptied its curve, until the completion after the cut is known', async () => {
    const other = curveBuy({ mint: keyOf('another coin') });
    const answering: (() => void)[] = [];
    const harness = harnessOf(async (signature) => {
      await new Promise<void>((resolve) => answering.push(resolve));
      return wholeTransaction(signature, [first, emptying, other, complete]);
    });
    report(harness, 'a', cut(first, emptying, other));
    expect(idsOf(harness)).toEqual(['0', '2']);
    await until('asked', () => answering.length === 1);
    answering[0]!();
    await until('completed', completed(harness));
    expect(idsOf(harness)).toEqual(['0', '2', '1']);
    const completes = harness.events.filter((event): event is TradeEvent => event.type === 'trade').map((trade) => trade.curveCompleted);
    expect(completes).toEqual([undefined, undefined, true]);
  });

  it('do not delay the buy if its completion is before the cut', () => {
    const harness = harnessOf(() => null);
    report(harness, 'a', cut(emptying, complete));
    expect(harness.events[0]).toMatchObject({ type: 'trade', curveCompleted: true });
  });

  it('delay a creation until further buys of its wallet are known, although one is before the cut', async () => {
    const harness = harnessOf((signature) => wholeTransaction(signature, [creation, first, curveBuy()]));
    report(harness, 'a', cut(creation, first));
    expect(harness.events).toEqual([]);
    await until('completed', completed(harness));
    expect(idsOf(harness)).toEqual(['0', '1', '2']);
    expect((harness.events[0] as NewTokenEvent).initialBuy).toMatchObject({ quoteAmount: '1000000001' });
  });

  it('are published and counted if the transaction is dropped', async () => {
    const harness = harnessOf(() => null, 50);
    report(harness, 'a', cut(creation, first));
    await until('given up', lost(harness));
    expect(idsOf(harness)).toEqual(['0', '1']);
    expect(harness.pipeline.counts).toMatchObject({ lostTransactions: 1, uncertainEvents: 2, completed: 0 });
    expect(harness.losses).toEqual([
      { kind: 'transaction', reason: 'cut logs; not found', events: 0, signature: signatureOf('a'), slot: 100, pool: null },
    ]);
  });
});

describe('several sightings', () => {
  const garbled = [`Program ${pumpProgram} invoke [1]`, 'Program data: %%%%', `Program ${pumpProgram} success`];

  it.each([
    ['no lines', []],
    ['garbled data', garbled],
    ['a list that ends early', whole(first, second).slice(0, 5)],
    ['a cut', cut(first)],
  ])('are completed from a later one if the first had %s', async (_case, lines) => {
    const harness = harnessOf(() => null, 200);
    report(harness, 'a', lines);
    report(harness, 'a', whole(first, second));
    expect(idsOf(harness)).toEqual(['0', '1']);
    expect(harness.pipeline.counts).toMatchObject({ incomplete: 1, completed: 1, completedByOthers: 1 });
    expect(harness.pipeline.isOpen(signatureOf('a'))).toBe(false);
    report(harness, 'a', whole(first, second));
    expect(idsOf(harness)).toEqual(['0', '1']);
    expect(harness.pipeline.decoder.counts.get('pump')).toMatchObject({ decoded: 2 });
    await until('nothing is asked any more', () => harness.calls.filter(({ method }) => method === 'getTransaction').length <= 1);
    expect(harness.losses).toEqual([]);
  });

  it('add events of a longer one while none is complete', async () => {
    const harness = harnessOf(() => null, 50);
    report(harness, 'a', cut(first));
    report(harness, 'a', cut(first, second));
    report(harness, 'a', cut(first));
    expect(idsOf(harness)).toEqual(['0', '1']);
    await until('given up', lost(harness));
    expect(idsOf(harness)).toEqual(['0', '1']);
    expect(harness.pipeline.counts).toMatchObject({ incomplete: 1, lostTransactions: 1, completed: 0 });
  });

  it('cause a fetch if a complete one lacks an event that was seen before', async () => {
    const harness = harnessOf((signature) => wholeTransaction(signature, [first, second]));
    report(harness, 'a', cut(first));
    report(harness, 'a', invoked(pumpProgram, 1, []));
    expect(harness.pipeline.counts.completed).toBe(0);
    await until('completed', completed(harness));
    expect(idsOf(harness)).toEqual(['0', '1']);
    expect(harness.pipeline.counts.completedByOthers).toBe(0);
  });

  it('add events of a later one without a fetch, if the first had none', () => {
    const harness = harnessOf(() => null);
    report(harness, 'a', invoked(pumpProgram, 1, []));
    expect(harness.pipeline.counts.incomplete).toBe(0);
    report(harness, 'a', whole(first));
    report(harness, 'a', whole(first));
    expect(idsOf(harness)).toEqual(['0']);
    expect(harness.pipeline.counts.contradictedSilences).toBe(1);
    expect(harness.calls.filter(({ method }) => method === 'getTransaction')).toEqual([]);
  });

  it('cause a fetch if every endpoint omitted the lines', async () => {
    const harness = harnessOf((signature) => wholeTransaction(signature, [first]));
    report(harness, 'a', []);
    report(harness, 'a', []);
    await until('completed', completed(harness));
    expect(idsOf(harness)).toEqual(['0']);
    expect(harness.pipeline.counts.incomplete).toBe(1);
  });

  it('are read up to the bound of open transactions, and further ones are counted as lost', async () => {
    const harness = harnessOf(() => null, 50);
    for (let index = 0; index < 4_010; index++) report(harness, `t${index}`, cut(first));
    expect(harness.pipeline.counts).toMatchObject({ incomplete: 4_010, lostTransactions: 10 });
    expect(harness.events.filter(({ type }) => type === 'trade')).toHaveLength(4_010);
    report(harness, 't4005', whole(first, second));
    expect(harness.events.filter(({ type }) => type === 'trade')).toHaveLength(4_010);
  });
});

describe('while a source of whole transactions runs', () => {
  const asked = ({ calls }: Harness): unknown[] => calls.filter(({ method }) => method === 'getTransaction').map(({ params }) => params[0]);

  it('a transaction is requested only if no sighting completes it within two seconds', async () => {
    const clock = manualClock();
    const answer = (method: string, params: readonly unknown[]): unknown =>
      method === 'getTransaction' ? wholeTransaction(String(params[0]), [first, second]) : undefined;
    const harness = createHarness({ expectsWhole: true, clock, answer });
    report(harness, 'a', cut(first));
    const late = report(harness, 'b', cut(first));
    await clock.pass(1_900);
    report(harness, 'a', whole(first, second));
    expect([harness.pipeline.counts.completedByOthers, asked(harness)]).toEqual([1, []]);
    await clock.pass(200);
    await until('requested', () => harness.pipeline.counts.completed === 2);
    expect([harness.pipeline.counts.completedByOthers, asked(harness)]).toEqual([1, [late]]);
    expect(idsOf(harness)).toEqual(['0', '0', '1', '1']);
  });
});

describe('lines of several slices', () => {
  it('of a venue are counted as unknown and reported, and do not change the path of other events', () => {
    const harness = createHarness();
    report(harness, 'a', invoked(pumpProgram, 1, [`${dataLine(unknownEvent)} AAAA`, dataLine(first)]));
    expect(idsOf(harness)).toEqual(['0']);
    expect(harness.pipeline.decoder.counts.get('pump')).toEqual({ decoded: 1, ignored: 0, unknown: 1, malformed: 0 });
    expect(harness.faults).toEqual([
      { venue: 'pump', kind: 'unknown', detail: '2 slices', where: signatureOf('a'), sampleBase64: unknownEvent.toString('base64') },
    ]);
    report(harness, 'b', invoked(addressOf('another program'), 1, [`${dataLine(first)} AAAA`]));
    expect(harness.faults).toHaveLength(1);
  });
});

describe('two endpoints', () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  async function start(): Promise<{ a: ScriptedNode; b: ScriptedNode; ingest: Ingest; events: StreamEvent[] }> {
    const [a, b] = [await startScriptedNode(), await startScriptedNode()];
    closers.push(
      () => a.close(),
      () => b.close(),
    );
    return { a, b, ...(await ingestOf(a, b)) };
  }

  async function ingestOf(...nodes: readonly ScriptedNode[]): Promise<{ ingest: Ingest; events: StreamEvent[] }> {
    const bus = createInProcessBus();
    const events: StreamEvent[] = [];
    const subscriber = await bus.subscriber();
    await subscriber.start({
      onEntry: (entry) => void events.push(...eventsOfEntry(entry)),
      onLost: () => {
        throw new Error('The in-process bus lost entries.');
      },
    });
    const rpc = { httpUrls: nodes.map(({ httpUrl }) => httpUrl), wsUrls: nodes.map(({ wsUrl }) => wsUrl) };
    const config = { ...testConfig, rpc };
    const ingest = await startIngest({ config, bus, log: recordingLog([]), signal: new AbortController().signal });
    closers.push(() => bus.close());
    closers.push(() => ingest.close());
    await until('subscribed', () => ingest.stats().endpointsUp === nodes.length);
    return { ingest, events };
  }

  const trades = (events: readonly StreamEvent[]): string[] => events.filter(({ type }) => type === 'trade').map(({ id }) => id);

  /** Both nodes report one slot, as nodes do. */
  function logs(node: ScriptedNode, name: string, lines: readonly string[]): void {
    const result = { context: { slot: 1_000 }, value: { signature: signatureOf(name), err: null, logs: lines } };
    node.notify('logsNotification', 'logsSubscribe', result, (params) => (params[0] as { mentions: string[] }).mentions[0] === pumpProgram);
  }

  it('complete each other: the first omitted or garbled its lines, in either form of frame', async () => {
    const { a, b, ingest, events } = await start();
    const bad = [`Program ${pumpProgram} invoke [1]`, 'Program data: %%%%', `Program ${pumpProgram} success`];
    // The line with an escape is left to the parser.
    const escaped = ['Program x"y', ...bad];
    for (const [index, lines] of [[], bad, escaped, whole()].entries()) {
      const before = ingest.stats().sightings.new;
      logs(a, `t${index}`, lines);
      await until('heard', () => ingest.stats().sightings.new === before + 1);
      logs(b, `t${index}`, index === 2 ? ['Program x"y', ...whole(first)] : whole(first));
      await until('published', () => trades(events).length === index + 1);
      logs(b, `t${index}`, whole(first));
    }
    await until('repeats', () => ingest.stats().sightings.repeated === 4);
    expect(trades(events)).toEqual([0, 1, 2, 3].map((index) => `${signatureOf(`t${index}`)}:0`));
    expect(ingest.stats()).toMatchObject({ notifications: { malformed: 0 }, sightings: { new: 4, decodedAgain: 4 } });
    expect(ingest.stats().pipeline).toMatchObject({
      incomplete: 4,
      completed: 4,
      completedByOthers: 4,
      lostTransactions: 0,
      refusedLookAlikes: 0,
    });
  });

  it('are both asked for accounts and transactions if the first has none, no history, or no inner instructions', async () => {
    const { a, b, ingest, events } = await start();
    const pool = keyOf('pool');
    const accounts = new Map<string, unknown>([
      [addressOf('pool'), accountJson(ammProgram, poolAccountBytes(keyOf('token'), addressBytes(wrappedSolMint)))],
      [addressOf('token'), accountJson(tokenProgram, mintAccountBytes(6, 10n ** 15n))],
    ]);
    const good = accountAnswers(accounts, 1_000);
    const signatureIn = (params: readonly unknown[]): string => String(params[0]);
    b.onCall = (method, params) =>
      method === 'getTransaction' ? { result: wholeTransaction(signatureIn(params), [first, second], 1_000) } : good(method, params);
    const noAccounts = accountAnswers(new Map());
    const answers = [
      () => ({ error: { code: -32011, message: 'Transaction history is not available from this node' } }),
      () => ({ result: null }),
      (signature: string) => ({ result: { ...wholeTransaction(signature, [first, second], 1_000), meta: { err: null } } }),
      () => ({ result: wholeTransaction(signatureOf('another'), [first, second], 1_000) }),
    ];
    for (const [index, answer] of answers.entries()) {
      a.onCall = (method, params) => (method === 'getTransaction' ? answer(signatureIn(params)) : noAccounts(method, params));
      logs(b, `cut ${index}`, cut());
      await until('completed', () => ingest.stats().pipeline.completed === index + 1);
    }
    expect(trades(events)).toHaveLength(2 * answers.length);
    b.logs(signatureOf('amm'), invoked(ammProgram, 1, [dataLine(poolBuy({ pool }))]));
    await until('published', () => trades(events).includes(`${signatureOf('amm')}:0`));
    expect(ingest.stats().pipeline).toMatchObject({ lostEvents: 0, lostTransactions: 0, completedByOthers: 0 });
  });

  it('are both asked if the first returns invalid accounts', async () => {
    const { a, b, ingest, events } = await start();
    const pool = accountJson(ammProgram, poolAccountBytes(keyOf('token'), addressBytes(wrappedSolMint)));
    const mintAccount = accountJson(tokenProgram, mintAccountBytes(6, 10n ** 15n));
    const wrong = accountJson(tokenProgram, new Uint8Array(3));
    // Each endpoint returns one of the two in a usable form.
    a.onCall = accountAnswers(new Map(accountsOf(pool, wrong)), 1_000);
    b.onCall = accountAnswers(new Map(accountsOf(wrong, mintAccount)), 1_000);
    b.logs(signatureOf('amm'), invoked(ammProgram, 1, [dataLine(poolBuy())]));
    await until('published', () => trades(events).length === 1);
    expect(ingest.stats().pipeline.lostEvents).toBe(0);
  });

  function accountsOf(pool: unknown, token: unknown): [string, unknown][] {
    return [
      [addressOf('pool'), pool],
      [addressOf('token'), token],
    ];
  }
});
