import { Blockhashes, usualBlockhashAgeMs, type Blockhash } from '../../../trading/src/state/chain/blockhashes.ts';
import { blockhashLifetime } from '../../../trading/src/state/chain/blockhashes.ts';
import { ChainView } from '../../../trading/src/state/chain/chain-view.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { recordingLog } from '../../ingest/harness.ts';
import { address } from '../../simnet/support/test-chain.ts';

/** A chain with a block in nine of ten slots, on virtual time. */
const slotMs = 400;
const firstSlot = 460_000_000;
const runMs = 120_000;
/** The error that a height may have: an answer is up to a second plus a delay old, and blocks of different nodes differ by a few. */
const maxErrorBlocks = 6;

const slotAt = (nowMs: number): number => firstSlot + Math.floor(nowMs / slotMs);
const heightAt = (slot: number): number => 439_000_000 + Math.floor(((slot - firstSlot) * 9) / 10);

interface Said {
  readonly slot: number;
  readonly height: number;
}
type Node = (round: number) => { readonly delayMs: number; readonly said: (nowMs: number) => Said };

const truth = (nowMs: number): Said => ({ slot: slotAt(nowMs), height: heightAt(slotAt(nowMs)) });
/** Delays that differ from answer to answer, the same in every run. */
const honest =
  (leastMs: number, mostMs: number): Node =>
  (round) => ({ delayMs: leastMs + ((round * 7_919) % (mostMs - leastMs + 1)), said: truth });
const liar =
  (lie: (nowMs: number, round: number) => Said): Node =>
  (round) => ({ delayMs: 0, said: (nowMs) => lie(nowMs, round) });

/** Each step is possible after the previous one, but the height hardly changes. */
const drifting = liar((nowMs) => ({ slot: slotAt(nowMs), height: heightAt(firstSlot) + Math.floor(nowMs / 1_000) }));
const low = liar((nowMs) => ({ ...truth(nowMs), height: truth(nowMs).height - 120 }));
const high = liar((nowMs) => ({ ...truth(nowMs), height: truth(nowMs).height + 120 }));
const fickle = liar((nowMs, round) => ({
  slot: slotAt(nowMs) + (round % 3) * 10,
  height: truth(nowMs).height + (round % 2 === 0 ? 40 : -40),
}));

let startMs = 0;
let life: AbortController;
beforeEach(() => {
  vi.useFakeTimers();
  startMs = Date.now();
  life = new AbortController();
});
afterEach(() => {
  life.abort();
  vi.useRealTimers();
});

const nowMs = (): number => Date.now() - startMs;

function rpcOf(node: Node): Rpc {
  let round = 0;
  return {
    call: async () => {
      const { delayMs, said } = node(round++);
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      const { slot, height } = said(nowMs());
      return {
        context: { slot },
        value: { blockhash: address(`block ${slot} ${height}`), lastValidBlockHeight: height + blockhashLifetime },
      };
    },
  };
}

interface Watched {
  readonly errors: readonly number[];
  readonly unknownMs: number;
}

/** What was stored, checked ten times a second: its distance from the truth, and how long nothing was stored. */
async function watch(nodes: readonly Node[]): Promise<Watched> {
  const chain = new ChainView(nodes.length);
  const lines: never[] = [];
  const blockhashes = new Blockhashes(nodes.map(rpcOf), chain, recordingLog(lines), life.signal);
  const errors: number[] = [];
  let unknownMs = 0;
  blockhashes.start();
  while (nowMs() < runMs) {
    for (let i = 0; i < nodes.length; i++) chain.report(i, 'http', slotAt(nowMs()));
    await vi.advanceTimersByTimeAsync(100);
    const { height, current } = blockhashes;
    expect(current === null).toBe(height === null);
    if (height === null || current === null) unknownMs += 100;
    else errors.push(height - heightAt(current.slot), height - truth(nowMs()).height + Math.ceil(current.ageMs / slotMs));
  }
  return { errors, unknownMs };
}

const worst = ({ errors }: Watched): number => Math.max(0, ...errors.map(Math.abs));

describe('the current block height', () => {
  it.each([
    ['hardly changes', drifting],
    ['is far too low', low],
    ['is far too high', high],
    ['differs from answer to answer', fickle],
  ])('is not that of one of three whose height %s, however late the honest ones are', async (_what, lie) => {
    for (const [leastMs, mostMs] of [
      [0, 400],
      [200, 200],
      [400, 400],
    ] as const) {
      startMs = Date.now();
      const seen = await watch([lie, honest(leastMs, mostMs), honest(leastMs, mostMs)]);
      expect([worst(seen) <= maxErrorBlocks, seen.unknownMs <= 1_000], `${leastMs} to ${mostMs} ms: ${worst(seen)} blocks`).toEqual([
        true,
        true,
      ]);
    }
  });

  it.each([
    ['hardly changes', drifting],
    ['is far too low', low],
    ['is far too high', high],
  ])('is not that of one of two whose height %s: while they contradict each other there is none', async (_what, lie) => {
    for (const delayMs of [0, 200, 400]) {
      startMs = Date.now();
      expect(worst(await watch([lie, honest(delayMs, delayMs)]))).toBeLessThanOrEqual(maxErrorBlocks);
    }
  });

  it('does not drift with one, two or three honest nodes, late or not', async () => {
    for (const nodes of [1, 2, 3]) {
      for (const delayMs of [0, 200, 400]) {
        startMs = Date.now();
        const seen = await watch(Array.from({ length: nodes }, () => honest(0, delayMs)));
        expect([worst(seen) <= maxErrorBlocks, seen.unknownMs <= 1_000], `${nodes} nodes, ${delayMs} ms`).toEqual([true, true]);
      }
    }
  });

  it('is that of the majority, also after another majority', async () => {
    const turncoat: Node = (round) => ({
      delayMs: 0,
      said: (at) => (round < 3 ? { slot: slotAt(at), height: heightAt(slotAt(at)) - 90 } : truth(at)),
    });
    const late: Node = (round) =>
      round < 3 ? { delayMs: 0, said: (at) => ({ slot: slotAt(at), height: heightAt(slotAt(at)) - 90 }) } : { delayMs: 100, said: truth };
    const { errors } = await watch([turncoat, late, honest(300, 300)]);
    expect(Math.max(...errors.slice(-100).map(Math.abs))).toBeLessThanOrEqual(maxErrorBlocks);
  });
});

describe('the blockhash of a new transaction', () => {
  /** What a new transaction would use, ten times a second, over a network that takes up to 400 ms, or longer for a while. */
  async function used(isSlow: () => boolean): Promise<readonly (Blockhash | null)[]> {
    const chain = new ChainView(2);
    const usual = honest(0, 400);
    const node: Node = (round) => (isSlow() ? { delayMs: 1_700, said: truth } : usual(round));
    const blockhashes = new Blockhashes([node, node].map(rpcOf), chain, recordingLog([]), life.signal);
    blockhashes.start();
    const found: (Blockhash | null)[] = [];
    while (nowMs() < runMs) {
      for (let i = 0; i < 2; i++) chain.report(i, 'http', slotAt(nowMs()));
      await vi.advanceTimersByTimeAsync(100);
      if (nowMs() > 1_000) void Promise.resolve(blockhashes.fresh()).then((one) => found.push(one));
    }
    return found;
  }

  it('is at most a second old', async () => {
    const all = await used(() => false);
    expect(all.length).toBeGreaterThan(1_000);
    for (const one of all) expect(one?.ageMs).toBeLessThanOrEqual(usualBlockhashAgeMs);
  });

  it('is the newest one while the nodes answer slowly, and young again afterwards', async () => {
    const all = await used(() => nowMs() > 40_000 && nowMs() < 80_000);
    expect(all).not.toContain(null);
    const ages = all.map((one) => one!.ageMs);
    expect(Math.max(...ages)).toBeGreaterThan(usualBlockhashAgeMs);
    expect(Math.max(...ages)).toBeLessThan(2 * 1_700 + 1_000);
    expect(Math.max(...ages.slice(-300))).toBeLessThanOrEqual(usualBlockhashAgeMs);
  });

  it('is known until it expires, and the time until then follows the speed of the chain', async () => {
    const chain = new ChainView(1);
    const blockhashes = new Blockhashes([rpcOf(honest(0, 200))], chain, recordingLog([]), life.signal);
    blockhashes.start();
    const advance = async (ms: number): Promise<void> => {
      for (const endMs = nowMs() + ms; nowMs() < endMs;) {
        chain.report(0, 'http', slotAt(nowMs()));
        await vi.advanceTimersByTimeAsync(100);
      }
    };
    await advance(1_000);
    const first = blockhashes.current!;
    // Until it is measured, a block takes 200 ms.
    expect(Math.round((blockhashes.msUntilAfter(first.lastValidBlockHeight)! + first.ageMs) / 1_000)).toBe(30);
    await advance(20_000);
    const { blockhash, lastValidBlockHeight } = blockhashes.current!;
    const blockMs = slotMs / 0.9;
    for (let passedMs = 0; passedMs < blockhashLifetime * blockMs; passedMs += 10_000) {
      expect(blockhashes.lastValidBlockHeightOf(blockhash)).toBe(lastValidBlockHeight);
      const leftMs = blockhashes.msUntilAfter(lastValidBlockHeight)!;
      expect(Math.abs(leftMs - (blockhashLifetime * blockMs - passedMs))).toBeLessThan(maxErrorBlocks * blockMs);
      await advance(10_000);
    }
    expect(blockhashes.msUntilAfter(lastValidBlockHeight)).toBe(0);
    expect(blockhashes.lastValidBlockHeightOf(address('of no block'))).toBeNull();
  });
});
