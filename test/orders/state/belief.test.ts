import { agree, blockhashLifetime, readBlockhash, type ReportedBlockhash } from '../../../trading/src/state/chain/blockhashes.ts';
import { ChainView } from '../../../trading/src/state/chain/chain-view.ts';
import { percentileOf, readFees } from '../../../trading/src/state/chain/fee-levels.ts';
import { decodeRent, rentOf } from '../../../trading/src/state/chain/rent.ts';
import { countVotes } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { address } from '../../simnet/support/test-chain.ts';

const firstSlot = 460_000_000;
const firstHeight = 439_000_000;

/** A chain on which some slots have no block: height by slot, of those that have one. */
const chain = fc.array(fc.boolean(), { minLength: 40, maxLength: 120 }).map((made) => {
  const blocks: ReportedBlockhash[] = [];
  for (const [i, isMade] of made.entries()) {
    if (!isMade && i > 0) continue;
    const slot = firstSlot + i;
    const lastValidBlockHeight = firstHeight + blocks.length + blockhashLifetime;
    blocks.push({ blockhash: address(`block ${slot}`), lastValidBlockHeight, slot, askedAtMs: 0 });
  }
  return blocks;
});

describe('the accepted blockhash', () => {
  it('may be either of any two blocks of one chain', () => {
    fc.assert(fc.property(chain, fc.nat(), fc.nat(), (blocks, a, b) => agree(blocks[a % blocks.length]!, blocks[b % blocks.length]!)));
  });

  it('is never that of one liar next to two honest nodes', () => {
    const lie = fc.record({ slots: fc.integer({ min: -300, max: 300 }), blocks: fc.integer({ min: 20, max: 400 }), isLess: fc.boolean() });
    fc.assert(
      fc.property(chain, fc.nat(), fc.nat(), lie, (blocks, a, b, { slots, blocks: by, isLess }) => {
        const [first, second] = [blocks[a % blocks.length]!, blocks[b % blocks.length]!];
        const liar = { ...first, slot: first.slot + slots, lastValidBlockHeight: first.lastValidBlockHeight + slots + (isLess ? -by : by) };
        // A lie that could be true on this chain is not detectable.
        if ([first, second].some((one) => agree(liar, one))) return;
        const votes = [liar, first, second].map((value, endpoint) => ({ endpoint, value }));
        expect(countVotes(votes, { endpoints: 3, waiting: 0 }, agree)).toMatchObject({ kind: 'agreed', outvoted: [0], isMajority: true });
      }),
    );
  });

  it('is accepted only in its documented form', () => {
    const good = { context: { slot: 1_000 }, value: { blockhash: address('hash'), lastValidBlockHeight: 1_050 } };
    const read = (answer: unknown): boolean => readBlockhash(answer, 1_010, 7) !== null;
    expect(readBlockhash(good, 1_010, 7)).toEqual({ ...good.value, slot: 1_000, askedAtMs: 7 });
    expect(read({ ...good, context: { slot: 1_011 } })).toBe(false);
    for (const lastValidBlockHeight of [1_151, 149, -1, 1.5, '1050', null]) {
      expect(read({ ...good, value: { ...good.value, lastValidBlockHeight } })).toBe(false);
    }
    expect(read({ ...good, value: { ...good.value, blockhash: 'x' } })).toBe(false);
    fc.assert(fc.property(fc.anything(), (answer) => !read(answer)));
  });
});

describe('the chain according to several endpoints', () => {
  it('does not follow one endpoint alone, and remembers slots that it has passed', () => {
    const view = new ChainView(3);
    for (let i = 0; i < 3; i++) view.report(i, 'pubsub', 1_000);
    expect([view.slot, view.newestSlot]).toEqual([1_000, 1_032]);
    view.report(0, 'http', 9_000_000);
    expect(view.slot).toBe(1_000);
    expect(view.passedAtMs(999)).toBeLessThanOrEqual(performance.now());
    expect(view.passedAtMs(1_000)).toBe(Number.POSITIVE_INFINITY);
    view.report(1, 'http', 1_002);
    expect(view.slot).toBe(1_002);
    expect(view.passedAtMs(1_001)).toBeLessThanOrEqual(performance.now());
  });
});

describe('the first slot of the chain', () => {
  it('is never that of only one of three, even if it reports first', () => {
    for (const order of [
      [0, 1, 2],
      [1, 0, 2],
      [1, 2, 0],
    ]) {
      const view = new ChainView(3);
      for (const endpoint of order) {
        view.report(endpoint, 'pubsub', endpoint === 0 ? 900_000_000 : 1_000 + endpoint);
        expect(view.slot).toBeLessThanOrEqual(1_002);
      }
      expect(view.slot).toBe(1_002);
    }
  });

  it('is that of one alone after the HTTP calls of the others failed', () => {
    const view = new ChainView(3);
    view.report(2, 'http', 1_000);
    view.report(0, 'http', null);
    expect(view.slot).toBe(0);
    view.report(1, 'http', null);
    expect(view.slot).toBe(1_000);
  });
});

describe('fees', () => {
  it('are accepted only in their documented form', () => {
    expect(readFees([{ slot: 1, prioritizationFee: 7 }])).toEqual([7n]);
    expect(readFees([])).toEqual([]);
    for (const prioritizationFee of [-1, 1.5, '1', null, 2 ** 53]) expect(readFees([{ slot: 1, prioritizationFee }])).toBeNull();
    expect(readFees(Array.from({ length: 151 }, () => ({ slot: 1, prioritizationFee: 1 })))).toBeNull();
    fc.assert(
      fc.property(
        fc.anything().filter((answer) => !Array.isArray(answer)),
        (answer) => readFees(answer) === null,
      ),
    );
  });

  it('have the percentile that the given share does not exceed', () => {
    const fees = fc.array(fc.bigInt({ min: 0n, max: 1_000n }), { minLength: 1, maxLength: 150 });
    fc.assert(
      fc.property(fees, fc.integer({ min: 1, max: 100 }), (all, percentile) => {
        const level = percentileOf(all, percentile);
        const share = (passes: (fee: bigint) => boolean): number => (100 * all.filter(passes).length) / all.length;
        expect(share((fee) => fee <= level)).toBeGreaterThanOrEqual(percentile);
        expect(share((fee) => fee < level)).toBeLessThan(percentile);
      }),
    );
    expect(percentileOf([], 75)).toBe(0n);
  });
});

describe('rent', () => {
  const sysvar = 'Sysvar1111111111111111111111111111111111111';
  const bytesOf = (lamportsPerByte: bigint, threshold: number): Uint8Array => {
    const data = Buffer.alloc(17);
    data.writeBigUInt64LE(lamportsPerByte, 0);
    data.writeDoubleLE(threshold, 8);
    return data;
  };

  it('follows the published rates', () => {
    const before = decodeRent(sysvar, bytesOf(3_480n, 2))!;
    expect([0, 137, 165, 170].map((bytes) => rentOf(before, bytes))).toEqual([890_880n, 1_844_400n, 2_039_280n, 2_074_080n]);
    const since = decodeRent(sysvar, bytesOf(5_080n, 1))!;
    expect([0, 137, 165, 170].map((bytes) => rentOf(since, bytes))).toEqual([650_240n, 1_346_200n, 1_488_440n, 1_513_840n]);
  });

  it('is not read from any other data', () => {
    expect(decodeRent(address('another'), bytesOf(5_080n, 1))).toBeNull();
    expect(decodeRent(sysvar, new Uint8Array(16))).toBeNull();
    for (const threshold of [Number.NaN, -1, 0, Number.POSITIVE_INFINITY])
      expect(decodeRent(sysvar, bytesOf(5_080n, threshold))).toBeNull();
  });
});
