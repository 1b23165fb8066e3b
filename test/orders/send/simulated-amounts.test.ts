import { setTimeout as pause } from 'node:timers/promises';
import type { ExpectedTrade } from '../../../trading/src/nodes/simulate/simulated-amounts.ts';
import { createSendNodes } from '../../../trading/src/nodes/nodes.ts';
import { isAsQuoted, maxDriftBps } from '@sluice/trading/quote/drift.ts';
import { Simulator } from '../../../trading/src/nodes/simulate/simulator.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { recordingLog, type LogLine } from '../../ingest/harness.ts';
import { startVirtualTime } from '../../support/virtual-time.ts';
import { buyer, newestSlot, pauper, startWorld, type Prepared, type World } from './sending-world.ts';
import { cut, silent, type Tampering } from '../../support/chain/tampered-node.ts';

/** Simulations compared with the quote, with three nodes of which the first one lies. */
let world: World;
let simulator: Simulator;
let lines: LogLine[];
let unavailable: readonly number[];
beforeAll(async () => {
  world = await startWorld({ nodeCount: 3 });
});
afterAll(() => world.close());
beforeEach(() => {
  // A simulation has two seconds; a loaded machine may need that long.
  onTestFinished(startVirtualTime());
  for (const node of world.nodes) node.tampering = null;
  [lines, unavailable] = [[], []];
  const nodes = createSendNodes(world.nodes.map(({ url }) => url));
  const isUnavailable = (endpoint: number): boolean => unavailable.includes(endpoint);
  simulator = new Simulator({ nodes, newestSlot, isUnavailable, log: recordingLog(lines), signal: AbortSignal.any([]) });
});

const buy = { exact: 'quoteIn', amount: 10n ** 9n } as const;

function expectedOf({ quote, terms: { mint, poolAddress } }: Prepared, parts: Partial<ExpectedTrade> = {}): ExpectedTrade {
  const { side, baseAmount, traderQuote } = quote;
  return { trader: buyer.publicKey, side, mint, poolAddress, baseAmount, traderQuote, isHidden: false, ...parts };
}

async function simulate(avoid = 0, parts: Partial<ExpectedTrade> = {}): Promise<ReturnType<Simulator['simulate']>> {
  const prepared = world.prepare(buy);
  return simulator.simulate({ wire: prepared.wire, minContextSlot: null, terms: null, expected: expectedOf(prepared, parts), avoid });
}

const asked = (): readonly number[] => world.nodes.map((node) => node.count('simulateTransaction'));

/** The correct answer with other fields. */
const instead =
  (fields: (value: Record<string, unknown>) => Record<string, unknown>): Tampering =>
  async ({ method }, answer) => {
    const answered = (await answer()) as { readonly value: Record<string, unknown> };
    return method === 'simulateTransaction' ? { ...answered, value: { ...answered.value, ...fields(answered.value) } } : answered;
  };

/** The amount of tokens in the event of the trade, halved. */
const halved = instead(({ logs }) => ({
  logs: (logs as string[]).map((line) => {
    if (!line.startsWith('Program data: ')) return line;
    const data = Buffer.from(line.slice(14), 'base64');
    // Discriminator, mint, lamports, tokens.
    data.writeBigUInt64LE(data.readBigUInt64LE(48) / 2n, 48);
    return `Program data: ${data.toString('base64')}`;
  }),
}));

const failing = instead(() => ({ err: { InstructionError: [2, { Custom: 6002 }] }, logs: [] }));

describe('the amounts of a simulation', () => {
  test('equal the quote, to the last unit', async () => {
    const prepared = world.prepare(buy);
    const expected = expectedOf(prepared);
    const { baseAmount, traderQuote } = expected;
    const outcome = await simulator.simulate({ wire: prepared.wire, minContextSlot: null, terms: null, expected, avoid: 0 });
    expect(outcome).toMatchObject({ kind: 'passed', amounts: { baseAmount, traderQuote } });
  });

  test('clearly differ: it counts as a deviation after the others reported the same', async () => {
    const before = asked();
    expect(await simulate(0, { baseAmount: 1_000n })).toMatchObject({ kind: 'deviates' });
    // A slow machine may still be working on the previous hedged request.
    for (const [i, count] of asked().entries()) expect(count - before[i]!).toBeGreaterThan(0);
  });

  const liars: readonly (readonly [string, Tampering])[] = [
    ['a false amount', halved],
    ['a false failure', failing],
    ['no result', instead(() => ({ logs: [] }))],
    ['token balances that contradict its log', instead(() => ({ preTokenBalances: [], postTokenBalances: [] }))],
    ['nothing at all', () => Promise.resolve(silent)],
  ];

  test.each(liars)('are reported by another node if one reports %s', async (_what, tampering) => {
    world.nodes[0]!.tampering = tampering;
    expect(await simulate()).toMatchObject({ kind: 'passed', amounts: {} });
  });

  test('come from nodes that are 400 ms late if one reports a failure at once', async () => {
    const late: Tampering = async (_call, answer) => {
      await pause(400);
      return await answer();
    };
    for (const node of world.nodes) node.tampering = late;
    world.nodes[0]!.tampering = failing;
    expect((await simulate()).kind).toBe('passed');
  });

  test('differ between nodes for the same state: the deviating node is reported once, and asked last', async () => {
    world.nodes[0]!.tampering = halved;
    for (let i = 0; i < 3; i++) expect((await simulate()).kind).toBe('passed');
    expect(lines.map(({ name, data }) => [name, data['endpoint']])).toEqual([['simulation_contradicted', 1]]);
    const before = asked();
    await simulate();
    expect(asked()[0]).toBe(before[0]);
  });

  test('are not requested from the source of the state, unless there is no other node', async () => {
    const before = asked();
    for (let i = 0; i < 4; i++) expect((await simulate(0b001)).kind).toBe('passed');
    expect(asked()[0]).toBe(before[0]);
    for (const node of world.nodes.slice(1)) node.tampering = () => Promise.resolve(cut);
    expect((await simulate(0b001)).kind).toBe('passed');
    // The other nodes exist but give no answer, because they may be at another slot.
    for (const node of world.nodes.slice(1)) node.tampering = () => Promise.resolve(null);
    expect((await simulate(0b001)).kind).toBe('unavailable');
  });

  test('are requested from the source of the state if the others are silent and failed before, but not if they are only late', async () => {
    const before = asked();
    const late: Tampering = async (_call, answer) => {
      await pause(1_000);
      return await answer();
    };
    for (const node of world.nodes.slice(1)) node.tampering = late;
    expect((await simulate(0b001)).kind).toBe('passed');
    expect(asked()[0]).toBe(before[0]);
    for (const node of world.nodes.slice(1)) node.tampering = () => Promise.resolve(silent);
    unavailable = [1, 2];
    expect((await simulate(0b001)).kind).toBe('passed');
    expect(asked()[0]).toBe(before[0]! + 1);
  });
});

test('a failure counts at once if two nodes report it', async () => {
  const wrong = world.prepare(buy, {}, pauper);
  const outcome = await simulator.simulate({ wire: wrong.wire, minContextSlot: null, terms: null, expected: expectedOf(wrong), avoid: 0 });
  expect(outcome).toMatchObject({ kind: 'failed', isConfirmed: true });
});

test('amounts may differ by the allowed share and no more', () => {
  const quoted = { baseAmount: 1_000_000n, traderQuote: 5n };
  const most = (1_000_000n * maxDriftBps) / 10_000n;
  for (const sign of [1n, -1n]) {
    expect(isAsQuoted({ baseAmount: 1_000_000n + sign * most, traderQuote: 5n }, quoted)).toBe(true);
    expect(isAsQuoted({ baseAmount: 1_000_000n + sign * (most + 1n), traderQuote: 5n }, quoted)).toBe(false);
    expect(isAsQuoted({ baseAmount: 1_000_000n, traderQuote: 5n + sign * 2n }, quoted)).toBe(false);
  }
});
