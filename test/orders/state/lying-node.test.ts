import { HotState } from '../../../trading/src/state/hot-state.ts';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import { maxHotMarkets, maxWarmedAhead } from '../../../trading/src/quote/markets.ts';
import { maxHotWallets } from '../../../trading/src/state/hot-wallets.ts';
import { blockhashLifetime } from '../../../trading/src/state/chain/blockhashes.ts';
import { maxBlockhashAgeMs } from '../../../trading/src/state/chain/blockhashes.ts';
import { venues } from '@sluice/venues/registry.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { recordingLog, type LogLine } from '../../ingest/harness.ts';
import { startScriptedNode, type Answer, type ScriptedNode } from '../../ingest/scripted-node.ts';
import { startSimnet } from '../../simnet/simnet.ts';
import { address } from '../../simnet/support/test-chain.ts';
import { until } from '../../support/gateway.ts';
import { launchCoin, tradedChain } from '../../support/chain/quoted-trades.ts';
import { startVirtualTime } from '../../support/virtual-time.ts';

/** Nodes whose reports are set by the test. */
const wallet = address('wallet');
let nodes: ScriptedNode[];
let states: HotState[];
let lines: LogLine[];
beforeEach(() => {
  [nodes, states, lines] = [[], [], []];
});
afterEach(async () => {
  for (const state of states) state.close();
  for (const node of nodes) await node.close();
});

/** For tests that report no slots in loops. */
function onVirtualTime(): void {
  let endTime = (): void => undefined;
  beforeEach(() => {
    endTime = startVirtualTime();
  });
  afterEach(() => endTime());
}

interface NodeValues {
  lamports: number;
  height: number;
  blockhash: string;
  reads: number;
}

/** Answers like a node whose wallet has `lamports`, at the slot that it reports. */
function answers(node: ScriptedNode, values: NodeValues): (method: string, params: readonly unknown[]) => Answer {
  return (method, params) => {
    const context = { slot: node.slot };
    switch (method) {
      case 'getSlot':
        return { result: node.slot };
      case 'getLatestBlockhash':
        return { result: { context, value: { blockhash: values.blockhash, lastValidBlockHeight: values.height + blockhashLifetime } } };
      case 'getRecentPrioritizationFees':
        return { result: [] };
      default: {
        const addresses = params[0] as readonly string[];
        if (addresses.includes(wallet)) values.reads++;
        return { result: { context, value: addresses.map((one) => (one === wallet ? accountOf(values.lamports) : null)) } };
      }
    }
  };
}

const accountOf = (lamports: number): unknown => ({
  lamports,
  owner: systemProgram,
  data: ['', 'base64'],
  executable: false,
  rentEpoch: 0,
  space: 0,
});

async function startNode(values: Partial<NodeValues> = {}): Promise<{ readonly node: ScriptedNode; readonly values: NodeValues }> {
  const node = await startScriptedNode();
  nodes.push(node);
  node.reportsSlots = false;
  const all: NodeValues = { lamports: 1_000_000_000, height: node.slot - 100, blockhash: address('hash'), reads: 0, ...values };
  node.onCall = answers(node, all);
  return { node, values: all };
}

function open(): HotState {
  const state = new HotState({
    directory: new InProcessPoolDirectory(),
    httpUrls: nodes.map(({ httpUrl }) => httpUrl),
    wsUrls: nodes.map(({ wsUrl }) => wsUrl),
    venues,
    log: recordingLog(lines),
    signal: new AbortController().signal,
  });
  states.push(state);
  return state;
}

function reportSlot(node: ScriptedNode, slot: number, parent = slot - 1): void {
  node.slot = slot;
  node.notify('slotNotification', 'slotSubscribe', { slot, parent, root: slot - 32 });
}

function reportWallet(node: ScriptedNode, lamports: number, slot = node.slot): void {
  const result = { context: { slot }, value: accountOf(lamports) };
  node.notify('accountNotification', 'accountSubscribe', result, ([of]) => of === wallet);
}

/** What is in memory; null if it would have to be requested. */
function lamportsInMemory(state: HotState): number | null {
  const read = state.wallets.read(wallet);
  if (!(read instanceof Promise)) return Number(read.lamports);
  // The request makes the state follow it; the answer does not matter.
  read.catch(() => undefined);
  return null;
}

async function followed(node: ScriptedNode, state: HotState): Promise<void> {
  await until('the subscription', () =>
    [...node.subscriptions.values()].some((held) => [...held.values()].some(({ method }) => method === 'slotSubscribe')),
  );
  lamportsInMemory(state);
  await until('it is followed', () => {
    reportSlot(node, node.slot + 1);
    return lamportsInMemory(state) !== null;
  });
}

describe('a blockhash', () => {
  onVirtualTime();

  it('that one node reports quickly with too low a height is not believed before the others had time to answer', async () => {
    const liar = await startNode();
    const honest = await startNode();
    liar.values.height -= 100;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const original = honest.node.onCall;
    honest.node.onCall = async (method, params) => {
      if (method === 'getLatestBlockhash') await released;
      return original(method, params);
    };
    const state = open();
    const asked = (node: ScriptedNode): boolean => node.calls.some(({ method }) => method === 'getLatestBlockhash');
    await until('both are asked', () => asked(liar.node) && asked(honest.node));
    // Longer than a round waits for slow nodes once something is known.
    const sinceMs = performance.now();
    await until('the time of the slow ones', () => {
      expect(state.blockhashes.current).toBeNull();
      return performance.now() - sinceMs > 600;
    });
    release();
    await until('the contradiction', () => state.counts().blockhashes.contradicted > 0);
    expect(state.blockhashes.current).toBeNull();
    liar.values.height += 100;
    await until('that both agree', () => state.blockhashes.current?.lastValidBlockHeight === honest.values.height + blockhashLifetime);
  });
});

describe('an account that only one node reports', () => {
  it('has the state of the newest report, by slot', async () => {
    const { node, values } = await startNode();
    const state = open();
    await followed(node, state);
    const before = node.slot;
    values.lamports = 2;
    await until('the newer', () => {
      reportSlot(node, node.slot + 1);
      reportWallet(node, 2);
      return lamportsInMemory(state) === 2;
    });
    reportWallet(node, 1, before);
    await until('the late one', () => {
      reportSlot(node, node.slot + 1);
      return state.counts().watched.late > 0;
    });
    expect(Number((await state.wallets.read(wallet)).lamports)).toBe(2);
  });

  it('is read again if it was of a dead fork, even without a new report', async () => {
    const { node, values } = await startNode({ lamports: 500 });
    const state = open();
    await followed(node, state);
    for (const goesBack of [false, true]) {
      const living = node.slot;
      values.lamports = 7;
      await until('what dies later', () => {
        reportSlot(node, node.slot + 1);
        reportWallet(node, 7);
        return lamportsInMemory(state) === 7;
      });
      values.lamports = 500;
      const [deadBefore, readsBefore] = [state.counts().watched.dead, values.reads];
      if (goesBack) reportSlot(node, living + 1, living);
      else reportSlot(node, node.slot + 1, living);
      await until('that it died', () => state.counts().watched.dead > deadBefore);
      expect(lamportsInMemory(state)).not.toBe(7);
      expect(Number((await state.wallets.read(wallet)).lamports)).toBe(500);
      expect(values.reads).toBeGreaterThan(readsBefore);
    }
  });

  it('is read again if one of its changes is unreadable', async () => {
    const { node, values } = await startNode();
    const state = open();
    await followed(node, state);
    values.lamports = 77;
    const nonsense = { context: { slot: node.slot }, value: { lamports: 'many' } };
    node.notify('accountNotification', 'accountSubscribe', nonsense, ([of]) => of === wallet);
    await until('it was seen', () => state.counts().links[0]!.malformed === 1);
    expect(lamportsInMemory(state)).toBeNull();
    await until('the truth', () => {
      reportSlot(node, node.slot + 1);
      return lamportsInMemory(state) === 77;
    });
  });

  it('ignores a report of an impossible slot', async () => {
    const { node } = await startNode();
    const state = open();
    await followed(node, state);
    reportWallet(node, 13, node.slot + 1_000_000);
    await until('it was seen', () => state.counts().links[0]!.malformed === 1);
    expect(lamportsInMemory(state)).not.toBe(13);
    await until('it is followed again', () => {
      reportSlot(node, node.slot + 1);
      return lamportsInMemory(state) === 1_000_000_000;
    });
  });

  it('is gone if it has no lamports', async () => {
    const { node, values } = await startNode();
    const state = open();
    await followed(node, state);
    values.lamports = 0;
    await until('it is gone', () => {
      reportSlot(node, node.slot + 1);
      reportWallet(node, 0);
      return lamportsInMemory(state) === 0;
    });
  });
});

describe('the blockhash', () => {
  onVirtualTime();

  it('is not that of a node whose height contradicts two others', async () => {
    const honest = [await startNode(), await startNode()];
    const liar = await startNode();
    const state = open();
    await until('a blockhash', () => state.blockhashes.current !== null);
    const before = state.blockhashes.current!;
    Object.assign(liar.values, { height: liar.values.height - 90, blockhash: address('a lie') });
    for (const { values } of honest) Object.assign(values, { height: values.height + 3, blockhash: address('newer') });
    for (const { node } of [...honest, liar]) node.slot += 3;
    await until('the newer', () => state.blockhashes.current?.blockhash === address('newer'));
    expect(state.blockhashes.current!.lastValidBlockHeight).toBe(before.lastValidBlockHeight + 3);
    await until('the lie was refused', () => state.counts().blockhashes.refused > 0);
  });

  it('is neither of two that contradict each other from the start', async () => {
    await startNode();
    await startNode({ height: 700, blockhash: address('a lie') });
    const state = open();
    await until('both were received', () => state.counts().blockhashes.contradicted > 0);
    expect(state.blockhashes.current).toBeNull();
    expect(state.blockhashes.height).toBeNull();
    expect(lines.map(({ name }) => name)).toContain('blockhash_contradicted');
  });

  it('does not go back, and is dropped when it is old', async () => {
    const { node, values } = await startNode();
    const state = open();
    await until('a blockhash', () => state.blockhashes.current !== null);
    const known = state.blockhashes.current!;
    values.height -= 5;
    node.slot -= 5;
    values.blockhash = address('older');
    const asked = state.counts().blockhashes.rounds;
    await until('it was asked again', () => state.counts().blockhashes.rounds > asked + 1);
    expect(state.blockhashes.current!.blockhash).toBe(known.blockhash);
    node.onCall = () => ({ error: { code: -32005, message: 'Node is behind' } });
    await until('no answer is under way', () => state.counts().blockhashes.failures > 0);
    // The wall clock does not matter.
    for (const jumpMs of [-86_400_000, 2 * 86_400_000]) {
      vi.setSystemTime(Date.now() + jumpMs);
      expect(state.blockhashes.current?.blockhash).toBe(known.blockhash);
    }
    let oldestMs = 0;
    await until('the blockhash is dropped', () => {
      const { ageMs } = state.blockhashes.current ?? { ageMs: null };
      oldestMs = Math.max(oldestMs, ageMs ?? 0);
      return ageMs === null;
    });
    expect(oldestMs).toBeLessThanOrEqual(maxBlockhashAgeMs);
    expect(oldestMs).toBeGreaterThan(maxBlockhashAgeMs / 2);
  });
});

describe('followed accounts', () => {
  onVirtualTime();

  it('are bounded, and unsubscribed at the node too', { timeout: 300_000 }, async () => {
    const chain = tradedChain();
    const node = await startSimnet({ chain, autoStart: false });
    try {
      const state = new HotState({
        directory: new InProcessPoolDirectory(),
        httpUrls: [node.rpcUrl],
        wsUrls: [node.wsUrl],
        venues,
        log: recordingLog(lines),
        signal: new AbortController().signal,
      });
      states.push(state);
      const settings = new Set(venues.flatMap(({ quoting }) => quoting?.settings ?? [])).size;
      await until('the settings are followed', () => node.subscriptions('account') === settings);
      const coins = Array.from({ length: maxWarmedAhead + 10 }, () => launchCoin(chain).mint);
      for (const [i, mint] of coins.entries()) {
        // It begins only this many at a time.
        await until('it is read', () => {
          state.markets.warm(mint);
          return state.counts().markets.reads === i + 1;
        });
      }
      const perCoin = 2;
      await until('the newest are', () => node.subscriptions('account') === settings + maxWarmedAhead * perCoin);
      expect(state.counts().markets.size).toBe(maxWarmedAhead);
      for (let i = 0; i < maxHotWallets + 20; i++) await state.wallets.read(address(`wallet ${i}`));
      await until('the newest wallets are', () => node.subscriptions('account') === settings + maxWarmedAhead * perCoin + maxHotWallets);
      expect(state.counts().wallets.size).toBe(maxHotWallets);
      for (let i = 0; i < maxHotMarkets + 5; i++) await state.markets.read(address(`no mint ${i}`));
      await until('coins were dropped', () => node.subscriptions('account') === settings + maxHotWallets);
      expect(state.counts().markets.size).toBe(maxHotMarkets);
    } finally {
      await node.close();
    }
  });
});
