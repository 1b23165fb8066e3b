import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { createRpc, RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { venues } from '@sluice/venues/registry.ts';
import { inChainOrder } from '../../ingest/src/continuity/chain-order.ts';
import { GapReader, type GapAnswer } from '../../ingest/src/continuity/gap-reader.ts';
import { confirmedSlot, listProgram, type Listed } from '../../ingest/src/sources/rpc/listing.ts';
import { BlockFetcher } from '../../ingest/src/sources/blocks/block-fetcher.ts';
import { TransactionFetcher } from '../../ingest/src/sources/rpc/transaction-fetcher.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { createHarness } from './harness.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const { signal } = new AbortController();
const noBlocks: BlockFetcher['counts'] = { read: 0, short: 0, skipped: 0, pruned: 0, refused: 0 };

interface Gap {
  readonly url: string;
  readonly missing: readonly Listed[];
}

/** A chain with some twenty trades in each slot, and a node that lists them all. */
async function createGap(slots: number): Promise<Gap> {
  const simnet = await startSimnet({ seed: 5, autoStart: false, market: { tradesPerSecond: 60 } });
  closers.push(() => simnet.close());
  for (let slot = 0; slot < slots; slot++) simnet.chain.advance();
  const rpc = createRpc([simnet.rpcUrl], { timeoutMs: 5_000 });
  const tip = await confirmedSlot(rpc, signal);
  const lists = await Promise.all(
    venues.map(({ programId }) => listProgram({ rpc, program: programId, tip, clock: systemClock, signal }, 0)),
  );
  return { url: simnet.rpcUrl, missing: await inChainOrder(lists.map(({ items }) => items)) };
}

interface Read {
  readonly answers: readonly GapAnswer[];
  /** Slots whose blocks were requested, and signatures whose transactions were. */
  readonly blocks: readonly number[];
  readonly transactions: readonly string[];
  readonly counts: BlockFetcher['counts'];
}

type Change = (answer: { transactions: unknown[] }, slot: number) => unknown;

/** Reads all missing transactions, with blocks changed on their way from the node. */
async function readGap({ url, missing }: Gap, change: Change = (block) => block): Promise<Read> {
  const node = createRpc([url], { timeoutMs: 5_000 });
  const blocks: number[] = [];
  const transactions: string[] = [];
  const rpc: Rpc = {
    call: async (method, params, aborted, accept, keep) => {
      if (method === 'getTransaction') transactions.push(String(params[0]));
      if (method !== 'getBlock') return node.call(method, params, aborted, accept);
      blocks.push(Number(params[0]));
      const answer = await node.call(method, params, aborted, undefined, keep);
      const changed = change(answer as { transactions: unknown[] }, Number(params[0]));
      void accept?.(changed);
      return changed;
    },
  };
  const fetcher = new BlockFetcher(rpc);
  const { decoder } = createHarness().pipeline;
  const reader = new GapReader({ blocks: fetcher, transactions: new TransactionFetcher(rpc, { late: true }), decoder }, missing);
  const answers = await Promise.all(missing.map((item) => reader.request(item, signal)).map((read) => read()));
  return { answers, blocks, transactions, counts: fetcher.counts };
}

const fail =
  (code: number): Change =>
  () => {
    throw new RpcError('answer', code, 'No block.');
  };

/** What was read of each transaction, in order: everything but the time. */
/** Without the place in the block, which only blocks show. */
const readingsOf = ({ answers }: Read): unknown[] =>
  answers.map((answer) =>
    answer.kind === 'read' ? { ...answer, transaction: { ...answer.transaction, receivedUs: 0, index: null } } : answer,
  );

/** Slots that lack at least eight transactions. */
function fullSlots(missing: readonly Listed[]): number[] {
  const counts = new Map<number, number>();
  for (const { slot } of missing) counts.set(slot, (counts.get(slot) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= 8).map(([slot]) => slot);
}

describe('the missing transactions of a gap', () => {
  it('are read from whole blocks, all programs at once, and as completely as one by one', async () => {
    const gap = await createGap(30);
    const full = new Set(fullSlots(gap.missing));
    expect(full.size).toBeGreaterThan(15);
    const read = await readGap(gap);
    expect(read.blocks.toSorted((a, b) => a - b)).toEqual([...full]);
    expect(read.transactions).toEqual(gap.missing.filter(({ slot }) => !full.has(slot)).map(({ signature }) => signature));
    expect(read.counts).toEqual({ ...noBlocks, read: full.size });
    const single = await readGap(gap, fail(-32_601));
    expect(readingsOf(read)).toEqual(readingsOf(single));
    expect(read.answers.every(({ kind }) => kind === 'read')).toBe(true);
  });

  it('are requested one by one in a gap of many slots', async () => {
    const gap = await createGap(90);
    expect(fullSlots(gap.missing).length).toBeGreaterThan(64);
    const { blocks, transactions } = await readGap(gap);
    expect(blocks).toEqual([]);
    expect(transactions.length).toBe(gap.missing.length);
  });

  it('are requested one by one if a block lacks them, or shows them without inner instructions', async () => {
    const gap = await createGap(20);
    const expected = readingsOf(await readGap(gap));
    const [shortSlot, bareSlot, otherSlot] = fullSlots(gap.missing);
    const read = await readGap(gap, (block, slot) => {
      const { transactions } = block;
      if (slot === shortSlot) return { ...block, transactions: transactions.slice(1) };
      if (slot === otherSlot) return { ...block, transactions: ['no transaction', null, {}] };
      const withoutInner = (item: unknown): unknown => {
        const { meta } = item as { meta: object };
        return { ...(item as object), meta: { ...meta, innerInstructions: null, logMessages: null } };
      };
      return slot === bareSlot ? { ...block, transactions: transactions.map(withoutInner) } : block;
    });
    expect(readingsOf(read)).toEqual(expected);
    expect(read.counts).toEqual({ ...noBlocks, read: fullSlots(gap.missing).length, short: 2 });
    const bySlot = (at: number | undefined): number => gap.missing.filter(({ slot }) => slot === at).length;
    const single = gap.missing.length - fullSlots(gap.missing).reduce((sum, slot) => sum + bySlot(slot), 0);
    expect(read.transactions.length).toBe(single + 1 + bySlot(bareSlot) + bySlot(otherSlot));
  });

  it.each([
    ['skipped', -32_007, 'skipped'],
    ['missing in long-term storage', -32_009, 'skipped'],
    ['cleaned up', -32_001, 'pruned'],
    ['not available', -32_004, 'pruned'],
  ] as const)('are requested one by one if the node reports the slot as %s, and other blocks are still read', async (_what, code, kind) => {
    const gap = await createGap(16);
    const [missingSlot, ...others] = fullSlots(gap.missing);
    const read = await readGap(gap, (block, slot) => (slot === missingSlot ? fail(code)(block, slot) : block));
    expect(read.counts).toEqual({ ...noBlocks, read: others.length, [kind]: 1 });
    expect(read.answers.every((answer) => answer.kind === 'read')).toBe(true);
  });

  it('are requested one by one, and no block for a while, if no endpoint offers blocks', async () => {
    const gap = await createGap(20);
    const read = await readGap(gap, fail(-32_601));
    // Two requests run at one time.
    expect(read.blocks.length).toBeLessThanOrEqual(2);
    expect(read.counts).toEqual({ ...noBlocks, refused: read.blocks.length });
    expect(read.transactions.length).toBe(gap.missing.length);
  });
});
