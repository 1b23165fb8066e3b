import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { OwnOrders } from '../../trading/src/state/own-orders.ts';
import { createMessageBuilder } from '../../trading/src/prepare/message-builder.ts';
import { checkedTrade, type CheckedTrade, type CheckParts } from '../../trading/src/prepare/checked-trade.ts';
import type { TradeRequest } from '../../trading/src/prepare/request.ts';
import { createSendNodes } from '../../trading/src/nodes/nodes.ts';
import { Simulator } from '../../trading/src/nodes/simulate/simulator.ts';
import type { HotState } from '../../trading/src/state/hot-state.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { programId } from '@sluice/venues/pump/curve/program.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { recordingLog, type LogLine } from '../ingest/harness.ts';
import { curveOf } from '../simnet/programs/addresses.ts';
import { until } from '../support/gateway.ts';
import { tokensOf, trader, tradeOnChain } from '../support/chain/quoted-trades.ts';
import { startVirtualTime } from '../support/virtual-time.ts';
import { startLyingPubsub, type AccountFrame, type LyingPubsub, type Say } from './lying-pubsub.ts';
import { startTamperedNode, type TamperedNode } from '../support/chain/tampered-node.ts';
import { startTradedWorld, type TradedWorld } from './state/traded-world.ts';
import { isFullFuzz } from '../support/fuzz.ts';

/**
 * Orders of a gateway whose first endpoint lies. The chain's price hardly moves, so a wrong quote is a lie. Time is virtual, so the machine
 * may be slow.
 */
vi.setConfig({ testTimeout: 300_000 });
const slotMs = 60;
const sol = 0.1;
const slippageBps = 500n;
const orderEveryMs = 40;
/** How long orders are placed under a lie: at least eight slots, and longer where an order waits for a late answer. */
const [severalMs, longerMs] = isFullFuzz ? [3_000, 5_000] : [500, 1_500];
let world: TradedWorld;
let liar: LyingPubsub;
let nodes: TamperedNode[];
let lines: LogLine[];
let ending: AbortController;
let stop: () => void;
let state: HotState;
let parts: CheckParts;

async function start(endpoints: number): Promise<void> {
  world = await startTradedWorld(endpoints);
  liar = await startLyingPubsub(world.nodes[0]!.wsUrl);
  nodes = await Promise.all(world.nodes.map(({ rpcUrl }) => startTamperedNode(rpcUrl)));
  const httpUrls = nodes.map(({ url }) => url);
  const log = recordingLog(lines);
  state = world.open({ httpUrls, wsUrls: world.nodes.map(({ wsUrl }, i) => (i === 0 ? liar.url : wsUrl)), log });
  stop = world.run(slotMs);
  const simulator = new Simulator({
    nodes: createSendNodes(httpUrls),
    newestSlot: () => state.chain.newestSlot,
    isUnavailable: (endpoint) => state.chain.isUnavailable(endpoint),
    log,
    signal: ending.signal,
  });
  parts = {
    endpoints: httpUrls.length,
    state,
    simulator,
    builder: createMessageBuilder(),
    ownOrders: new OwnOrders(),
    solUsd: () => null,
    clock: systemClock,
  };
  await until('it trades', async () => state.rent.rates !== null && (await passes()));
  const warmMs = performance.now() + 500;
  await until('it is followed', async () => (await passes()) && performance.now() > warmMs);
}

/** Whether an order passes, after a pause: each order costs processor time. */
async function passes(parameters: Partial<TradeRequest> = {}): Promise<boolean> {
  await pause(orderEveryMs);
  return 'prepared' in (await order(parameters));
}

let endTime: () => void;
beforeEach(() => {
  endTime = startVirtualTime();
  [lines, ending] = [[], new AbortController()];
});
afterEach(async () => {
  stop();
  endTime();
  ending.abort();
  await liar.close();
  for (const node of nodes) await node.close();
  await world.close();
});

function order(parameters: Partial<TradeRequest> = {}): ReturnType<typeof checkedTrade> {
  return checkedTrade(
    {
      order: { side: 'buy', mint: world.curve.mint, amount: { kind: 'ui', value: sol }, slippageBps, pool: 'auto' },
      publicKey: trader.publicKey,
      priorityFeeLamports: 0n,
      maxIn: null,
      minOut: null,
      dryRun: false,
      skipSimulation: false,
      ...parameters,
    },
    parts,
  );
}

/** The minimum output, in parts of what the chain gives now less the slippage. */
async function fairness({ prepared }: CheckedTrade): Promise<number> {
  const truth = world.chain.account(curveOf(world.curve.mint))!.data;
  const view = new DataView(truth.buffer, truth.byteOffset, truth.length);
  const [tokens, lamports] = [view.getBigUint64(8, true), view.getBigUint64(16, true)];
  const spent = (BigInt(sol * 1e9) * 10_000n) / 10_125n;
  const fair = (Number((tokens * spent) / (lamports + spent)) * Number(10_000n - slippageBps)) / 10_000;
  return Number(prepared.bounds.minOut) / fair;
}

interface Run {
  readonly passed: number;
  readonly refused: readonly string[];
}

/** Orders, one after the other. Every order that passes has the correct bound. */
async function orders(forMs: number, parameters: Partial<TradeRequest> = {}): Promise<Run> {
  const refused: string[] = [];
  let passed = 0;
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    const made = await order(parameters);
    if ('error' in made) refused.push(made.message ?? made.error);
    else {
      passed++;
      expect(Math.abs((await fairness(made)) - 1)).toBeLessThan(0.02);
    }
    await pause(orderEveryMs);
  }
  return { passed, refused };
}

const isCurve = ({ owner, data }: AccountFrame['params']['result']['value']): boolean =>
  owner === programId && data[0].length > 100 && data[0] === Buffer.from(data[0], 'base64').toString('base64');

/** The same curve with a fourteenth of its tokens: nearly all of the order would go to a trader who trades before it. */
function expensive(frame: AccountFrame, slot = frame.params.result.context.slot): AccountFrame {
  const data = Buffer.from(frame.params.result.value.data[0], 'base64');
  data.writeBigUInt64LE(data.readBigUInt64LE(8) / 14n, 8);
  return repeated(frame, data, slot);
}

function repeated(frame: AccountFrame, data: Buffer, slot: number): AccountFrame {
  const value = { ...frame.params.result.value, data: [data.toString('base64'), 'base64'] as const };
  return { ...frame, params: { ...frame.params, result: { context: { slot }, value } } };
}

let lastTrue: Buffer | null = null;
const lies: readonly (readonly [string, (frame: AccountFrame, say: Say) => void])[] = [
  [
    'repeats each curve a moment later, expensive',
    (frame, say) => {
      say(frame);
      setTimeout(() => say(expensive(frame)), 8);
    },
  ],
  ['reports another curve at once', (frame, say) => say(expensive(frame))],
  ['reports each curve for a later slot', (frame, say) => say(expensive(frame, frame.params.result.context.slot + 20))],
  [
    'invents changes between those of the chain',
    (frame, say) => {
      say(frame);
      setTimeout(() => say(expensive(frame, frame.params.result.context.slot + 1)), slotMs / 2);
    },
  ],
  ['omits changes', () => undefined],
  [
    'repeats old changes',
    (frame, say) => {
      lastTrue ??= Buffer.from(frame.params.result.value.data[0], 'base64');
      say(repeated(frame, lastTrue, frame.params.result.context.slot));
    },
  ],
];

function begin(lie: (frame: AccountFrame, say: Say) => void): void {
  lastTrue = null;
  liar.lie = (frame, say) => (isCurve(frame.params.result.value) ? lie(frame, say) : say(frame));
}

const reports = (): readonly unknown[] =>
  lines.filter(({ name }) => name === 'account_update_false' || name === 'account_update_lost').map(({ data }) => data['endpoint']);

describe('one of three endpoints', () => {
  it.each(lies)('%s: all orders pass, at the true price, and no other endpoint is reported', async (_what, lie) => {
    await start(3);
    begin(lie);
    const { passed, refused } = await orders(severalMs);
    expect(refused).toEqual([]);
    expect(passed).toBeGreaterThan(0);
    const skipped = await orders(300, { skipSimulation: true });
    expect(skipped.refused).toEqual([]);
    expect(reports()).toEqual([1]);
  });

  it('reports slots ahead of the chain: no endpoint follows it', async () => {
    await start(3);
    liar.slotsAhead = 25;
    begin((frame, say) => say(expensive(frame, frame.params.result.context.slot + 20)));
    expect(await orders(severalMs)).toMatchObject({ refused: [] });
    expect(state.chain.slot).toBeLessThanOrEqual(world.chain.slot);
  });

  it('lies over HTTP too, and in its simulations', async () => {
    await start(3);
    begin((frame, say) => say(expensive(frame)));
    lieOverHttp();
    const { passed, refused } = await orders(severalMs);
    expect(refused).toEqual([]);
    expect(passed).toBeGreaterThan(0);
  });
});

describe('one of two endpoints', () => {
  it.each(lies)('%s: no order passes at a false price', async (_what, lie) => {
    await start(2);
    begin(lie);
    const { passed } = await orders(severalMs);
    await orders(300, { skipSimulation: true });
    // Over HTTP it reports the truth, so that there is a majority.
    expect(passed).toBeGreaterThan(0);
    expect(reports().filter((endpoint) => endpoint !== 1)).toEqual([]);
  });

  it('lies over HTTP too, and in its simulations: orders are refused, and none passes at a false price', async () => {
    await start(2);
    begin((frame, say) => say(expensive(frame)));
    lieOverHttp();
    const { refused } = await orders(severalMs);
    expect(refused.length).toBeGreaterThan(0);
    expect((await orders(600, { skipSimulation: true })).passed).toBe(0);
    expect(reports().filter((endpoint) => endpoint !== 1)).toEqual([]);
  });
});

/** A token account of the coin's program with one and a half times as many tokens; other accounts are unchanged. */
function grown<T extends AccountFrame['params']['result']['value']>(account: T): T {
  const data = Buffer.from(account.data[0], 'base64');
  if (account.owner !== world.curve.tokenProgram || data.length < 165) return account;
  data.writeBigUInt64LE((data.readBigUInt64LE(64) * 3n) / 2n, 64);
  return { ...account, data: [data.toString('base64'), 'base64'] };
}

test.each([2, 3])('one of %i endpoints lies about what a wallet holds: an order of 50% sells no more than half', async (endpoints) => {
  await start(endpoints);
  tradeOnChain(world.chain, world.curve, 'pump', { exact: 'baseOut', amount: 10n ** 12n }, 10n ** 14n);
  const amount = { kind: 'part', ppm: 500_000n, publicKey: trader.publicKey } as const;
  const sell = { order: { side: 'sell', mint: world.curve.mint, amount, slippageBps, pool: 'auto' } } as const;
  liar.lie = (frame, say) =>
    say(repeated(frame, Buffer.from(grown(frame.params.result.value).data[0], 'base64'), frame.params.result.context.slot));
  nodes[0]!.tampering = async ({ method }, answer) => {
    const answered = (await answer()) as { readonly value: readonly (AccountFrame['params']['result']['value'] | null)[] };
    return method === 'getMultipleAccounts' ? { ...answered, value: answered.value.map((one) => one && grown(one)) } : answered;
  };
  let passed = 0;
  for (const endMs = performance.now() + severalMs * 2; performance.now() < endMs;) {
    const made = await order(sell);
    await pause(orderEveryMs);
    if ('error' in made) continue;
    passed++;
    expect(Number(made.prepared.quoted.trade.amount) / Number(tokensOf(world.chain, world.curve))).toBeLessThan(0.51);
  }
  if (endpoints === 3) expect(passed).toBeGreaterThan(0);
  [liar.lie, nodes[0]!.tampering] = [null, null];
  await until('it sells', () => passes(sell));
});

/** A curve with other values of these bytes; other accounts are unchanged. */
function changed<T extends AccountFrame['params']['result']['value']>(account: T, change: (data: Buffer) => void): T {
  if (!isCurve(account)) return account;
  const data = Buffer.from(account.data[0], 'base64');
  change(data);
  return { ...account, data: [data.toString('base64'), 'base64'] };
}

const impossible: readonly (readonly [string, (data: Buffer) => void])[] = [
  ['has no SOL to pay for anything', (data) => void data.writeBigUInt64LE(0n, 32)],
  ['is complete', (data) => void data.writeUInt8(1, 48)],
];

describe.each([2, 3])('one of %i endpoints', (endpoints) => {
  it.each(impossible)('reports that the curve %s: no sale is refused because of it', async (_, lie) => {
    await start(endpoints);
    tradeOnChain(world.chain, world.curve, 'pump', { exact: 'baseOut', amount: 10n ** 12n }, 10n ** 14n);
    const amount = { kind: 'ui', value: 1_000 } as const;
    const sell = { order: { side: 'sell', mint: world.curve.mint, amount, slippageBps, pool: 'auto' } } as const;
    await until('it sells', () => passes(sell));
    liar.lie = (frame, say) => {
      const { value, context } = frame.params.result;
      say(repeated(frame, Buffer.from(changed(value, lie).data[0], 'base64'), context.slot));
    };
    nodes[0]!.tampering = async ({ method }, answer) => {
      const answered = (await answer()) as { readonly value: readonly (AccountFrame['params']['result']['value'] | null)[] };
      return method === 'getMultipleAccounts' ? { ...answered, value: answered.value.map((one) => one && changed(one, lie)) } : answered;
    };
    const refused = new Set<string>();
    let passed = 0;
    for (const endMs = performance.now() + severalMs * 2; performance.now() < endMs;) {
      const made = await order(sell);
      await pause(orderEveryMs);
      if ('error' in made) refused.add(made.error);
      else passed++;
    }
    refused.delete('UPSTREAM_UNAVAILABLE');
    expect([...refused]).toEqual([]);
    if (endpoints === 3) expect(passed).toBeGreaterThan(0);
  });
});

/** An answer's accounts, with the curves as `expensive` reports them. */
function expensiveAccounts(accounts: unknown): unknown {
  return (accounts as readonly (AccountFrame['params']['result']['value'] | null)[]).map(
    (account) => account && changed(account, (data) => void data.writeBigUInt64LE(data.readBigUInt64LE(8) / 14n, 8)),
  );
}

/** Every other node answers this method after this delay. */
function delayOthers(method: string, lateMs: number): void {
  for (const node of nodes.slice(1)) {
    node.tampering = async (call, answer) => {
      if (call.method === method) await pause(lateMs);
      return await answer();
    };
  }
}

describe('one of two endpoints lies, and the other one is late', () => {
  it('confirms its own price in a simulation: no order passes at that price', async () => {
    await start(2);
    begin((frame, say) => say(expensive(frame)));
    nodes[0]!.tampering = async ({ method }, answer) => {
      const answered = (await answer()) as { readonly value: Readonly<Record<string, unknown>> };
      if (method === 'getMultipleAccounts') return { ...answered, value: expensiveAccounts(answered.value) };
      if (method !== 'simulateTransaction') return answered;
      const logs = (answered.value['logs'] as string[]).map((line) => {
        const data = Buffer.from(line.slice('Program data: '.length), 'base64');
        if (!line.startsWith('Program data: ') || data.length < 56) return line;
        // After the head (8), the mint (32) and the SOL (8) come the tokens.
        data.writeBigUInt64LE(data.readBigUInt64LE(48) / 14n, 48);
        return `Program data: ${data.toString('base64')}`;
      });
      return { ...answered, value: { ...answered.value, logs, preTokenBalances: null, postTokenBalances: null } };
    };
    delayOthers('simulateTransaction', 750);
    await orders(longerMs);
  });

  it('reports that a wallet holds one and a half times as much: an order of a share of it is refused', async () => {
    await start(2);
    tradeOnChain(world.chain, world.curve, 'pump', { exact: 'baseOut', amount: 10n ** 12n }, 10n ** 14n);
    const amount = { kind: 'part', ppm: 500_000n, publicKey: trader.publicKey } as const;
    const sell = { order: { side: 'sell', mint: world.curve.mint, amount, slippageBps, pool: 'auto' } } as const;
    await until('it sells', () => passes(sell));
    liar.lie = (frame, say) =>
      say(repeated(frame, Buffer.from(grown(frame.params.result.value).data[0], 'base64'), frame.params.result.context.slot));
    nodes[0]!.tampering = async ({ method }, answer) => {
      const answered = (await answer()) as { readonly value: readonly (AccountFrame['params']['result']['value'] | null)[] };
      return method === 'getMultipleAccounts' ? { ...answered, value: answered.value.map((one) => one && grown(one)) } : answered;
    };
    delayOthers('getMultipleAccounts', 650);
    for (const endMs = performance.now() + longerMs; performance.now() < endMs;) {
      const made = await order(sell);
      await pause(orderEveryMs);
      if ('error' in made) continue;
      expect(Number(made.prepared.quoted.trade.amount) / Number(tokensOf(world.chain, world.curve))).toBeLessThan(0.51);
    }
  });
});

/** Every answer of the first node: false curves, and simulations that always pass or always fail. */
function lieOverHttp(): void {
  let asked = 0;
  nodes[0]!.tampering = async ({ method, params }, answer) => {
    const answered = (await answer()) as { context: { slot: number }; value: unknown };
    if (method === 'getMultipleAccounts') return { ...answered, value: expensiveAccounts(answered.value) };
    if (method !== 'simulateTransaction') return answered;
    expect(encodeBase58(Buffer.from(String(params[0]), 'base64').subarray(1, 65))).toBe('1'.repeat(64));
    const value = {
      ...(answered.value as object),
      ...(asked++ % 2 === 0 ? { err: null, logs: [] } : { err: { InstructionError: [2, { Custom: 6002 }] } }),
    };
    return { ...answered, value };
  };
}

test('an order that the endpoints do not decide in time is refused within a second, and nothing was signed', async () => {
  await start(2);
  parts = { ...parts, simulator: { simulate: () => new Promise<never>(() => undefined) } };
  // The shortest of three: a busy machine may delay a single one.
  let shortestMs = Infinity;
  for (let attempt = 0; attempt < 3; attempt++) {
    const beganAtMs = performance.now();
    expect(await order()).toMatchObject({ error: 'UPSTREAM_UNAVAILABLE' });
    shortestMs = Math.min(shortestMs, performance.now() - beganAtMs);
  }
  expect(shortestMs).toBeLessThan(1_000);
});

it('a sale of all tokens right after a purchase is not refused on the balance before it', async () => {
  await start(2);
  const sellAll = {
    order: {
      side: 'sell',
      mint: world.curve.mint,
      amount: { kind: 'part', ppm: 1_000_000n, publicKey: trader.publicKey },
      slippageBps,
      pool: 'auto',
    },
  } as const satisfies Partial<TradeRequest>;
  tradeOnChain(world.chain, world.curve, 'pump', { exact: 'baseOut', amount: 10n ** 12n }, 10n ** 14n);
  await until('it sells', () => passes(sellAll));
  // The followed state still has the balance before the purchase, and no process has recorded yet that the purchase landed.
  const { markets, blockhashes, fees, rent, wallets } = state;
  parts = {
    ...parts,
    state: {
      markets,
      blockhashes,
      fees,
      rent,
      wallets: {
        read: async (...accounts) => {
          const read = await wallets.read(...accounts);
          return { ...read, soleSources: 0, tokenAccounts: new Map([...read.tokenAccounts.keys()].map((address) => [address, null])) };
        },
        readAgreed: (...accounts) => wallets.readAgreed(...accounts),
      },
    },
  };
  expect(await order(sellAll)).toMatchObject({ error: 'INSUFFICIENT_BALANCE' });
  (parts.ownOrders as OwnOrders).changed(trader.publicKey);
  expect(await order(sellAll)).toHaveProperty('prepared');
});
