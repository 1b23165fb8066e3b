import { askUntilAgreed } from '@sluice/shared/solana/rpc/quorum/ask-until-agreed.ts';
import { Ballot } from '@sluice/shared/solana/rpc/quorum/ballot.ts';
import { countVotes, lowerMedian, majorityOf, reachedBy, type Verdict, type Vote } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const same = (a: unknown, b: unknown): boolean => a === b;
const votesOf = <T>(values: readonly T[]): Vote<T>[] => values.map((value, endpoint) => ({ endpoint, value }));
const of = (values: readonly string[], endpoints = values.length, waiting = 0): Verdict<string> =>
  countVotes(votesOf(values), { endpoints, waiting }, same);
const valueOf = (verdict: Verdict<string>): string => (verdict.kind === 'agreed' ? verdict.votes[0]!.value : verdict.kind);

describe('votes', () => {
  it('count as the table of the module describes: one, two, three endpoints', () => {
    expect(valueOf(of([], 1))).toBe('silent');
    expect(valueOf(of(['a']))).toBe('a');
    expect(valueOf(of(['a', 'a']))).toBe('a');
    expect(valueOf(of(['a', 'b']))).toBe('contradicted');
    expect(valueOf(of(['a'], 2, 1))).toBe('waiting');
    expect(of(['a'], 2)).toMatchObject({ kind: 'agreed', isMajority: false });
    expect(of(['b', 'a', 'a'])).toMatchObject({ kind: 'agreed', outvoted: [0], isMajority: true });
    expect(valueOf(of(['a', 'a'], 3, 1))).toBe('a');
    expect(valueOf(of(['a', 'b'], 3, 1))).toBe('waiting');
    expect(valueOf(of(['a', 'b'], 3))).toBe('contradicted');
    expect(valueOf(of(['a', 'b', 'c']))).toBe('contradicted');
    expect(valueOf(of(['a', 'a', 'b', 'b']))).toBe('contradicted');
  });

  it('of a lying minority never win against an honest majority, in any order and before all have answered', () => {
    const ballots = fc.integer({ min: 1, max: 7 }).chain((endpoints) =>
      fc.record({
        endpoints: fc.constant(endpoints),
        lies: fc.array(fc.constantFrom('x', 'y'), { maxLength: endpoints - majorityOf(endpoints) }),
        order: fc.shuffledSubarray(
          Array.from({ length: endpoints }, (_, i) => i),
          { minLength: endpoints },
        ),
      }),
    );
    fc.assert(
      fc.property(ballots, ({ endpoints, lies, order }) => {
        for (let heard = 0; heard <= endpoints; heard++) {
          const votes = order.slice(0, heard).map((endpoint) => ({ endpoint, value: lies[endpoint] ?? 'true' }));
          const value = valueOf(countVotes(votes, { endpoints, waiting: endpoints - heard }, same));
          expect(['true', 'waiting', 'silent']).toContain(value);
          if (heard === endpoints) expect(value).toBe('true');
        }
      }),
    );
  });

  it('for numbers: one lie cannot move the median or the reached value outside the range of the honest ones', () => {
    const honest = fc.array(fc.nat(1_000_000), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(honest, fc.nat(), (values, lie) => {
        const [least, most] = [Math.min(...values), Math.max(...values)];
        const reached = reachedBy([lie, ...values]);
        expect(reached <= most && (reached >= least || values.length % 2 === 1)).toBe(true);
        const median = Number(lowerMedian([lie, ...values].map(BigInt)));
        expect(median <= most && (median >= least || values.length === 1)).toBe(true);
      }),
    );
    expect([[5], [9, 5], [1_000_000, 7, 6], [0, 7, 6]].map(reachedBy)).toEqual([5, 5, 7, 6]);
    expect([lowerMedian([]), lowerMedian([7n]), lowerMedian([9n, 7n]), lowerMedian([1n, 900n, 8n])]).toEqual([null, 7n, 7n, 8n]);
  });
});

describe('a ballot', () => {
  const ballot = (endpoints: number): Ballot<string> => new Ballot<string>({ endpoints, maxAgeMs: 1_000, agree: same });

  it('counts an answer whenever it arrives, the newest of each endpoint, and none that is too old', () => {
    const one = ballot(3);
    one.answered(0, 'lie', 0);
    expect(valueOf(one.verdict(10))).toBe('waiting');
    one.answered(1, 'true', 10);
    one.failed(2);
    expect(valueOf(one.verdict(400))).toBe('contradicted');
    one.answered(2, 'true', 0);
    expect(one.verdict(400)).toMatchObject({ kind: 'agreed', outvoted: [0] });
    // An answer that arrives after the answer to a later question.
    one.answered(1, 'old', 5);
    expect(valueOf(one.verdict(400))).toBe('true');
    expect(valueOf(one.verdict(1_005))).toBe('true');
    expect(valueOf(one.verdict(1_011))).toBe('silent');
  });

  it('gives no veto to an earlier result: a new majority counts at once', () => {
    const one = ballot(3);
    for (let endpoint = 0; endpoint < 3; endpoint++) one.answered(endpoint, 'before', 0);
    one.answered(1, 'after', 1);
    expect(valueOf(one.verdict(1))).toBe('before');
    one.answered(2, 'after', 2);
    expect(valueOf(one.verdict(2))).toBe('after');
  });

  it('accepts one endpoint alone only after the others have failed', () => {
    const one = ballot(2);
    one.answered(0, 'alone', 0);
    expect([valueOf(one.verdict(0)), one.waiting]).toEqual(['waiting', 1]);
    one.failed(1);
    expect(one.verdict(0)).toMatchObject({ kind: 'agreed', isMajority: false });
    one.answered(1, 'other', 5);
    expect(valueOf(one.verdict(5))).toBe('contradicted');
  });
});

describe('asking until they agree', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  interface Node {
    readonly afterMs: number;
    /** Null: it fails. */
    readonly value: string | null;
  }

  async function asked(...nodes: readonly Node[]) {
    const calls: number[] = [];
    const startedMs = Date.now();
    const verdict = askUntilAgreed<string>({
      endpoints: nodes.map((_, i) => i),
      ask: async (endpoint) => {
        calls.push(endpoint);
        const { afterMs, value } = nodes[endpoint]!;
        await new Promise((resolve) => setTimeout(resolve, afterMs));
        return value;
      },
      agree: same,
      hedgeAfterMs: 60,
      othersWithinMs: 500,
      answersWithinMs: 800,
    }).then((settled) => ({ value: valueOf(settled), tookMs: Date.now() - startedMs }));
    await vi.advanceTimersByTimeAsync(3_000);
    return { ...(await verdict), calls };
  }

  const [t, lie, failing] = ['true', 'lie', null];

  it('asks only as many endpoints as must agree, and waits for no others', async () => {
    expect(await asked({ afterMs: 20, value: t })).toEqual({ value: t, tookMs: 20, calls: [0] });
    expect(await asked({ afterMs: 20, value: t }, { afterMs: 50, value: t }, { afterMs: 0, value: lie })).toEqual({
      value: t,
      tookMs: 50,
      calls: [0, 1],
    });
  });

  it('asks one more if they contradict each other, one fails or is slow; the late honest answer counts', async () => {
    expect(await asked({ afterMs: 0, value: lie }, { afterMs: 10, value: t }, { afterMs: 20, value: t })).toEqual({
      value: t,
      tookMs: 30,
      calls: [0, 1, 2],
    });
    expect(await asked({ afterMs: 5, value: failing }, { afterMs: 10, value: t }, { afterMs: 20, value: t })).toEqual({
      value: t,
      tookMs: 25,
      calls: [0, 1, 2],
    });
    expect(await asked({ afterMs: 0, value: lie }, { afterMs: 400, value: t }, { afterMs: 300, value: t })).toEqual({
      value: t,
      tookMs: 400,
      calls: [0, 1, 2],
    });
  });

  it('accepts one alone only if the others failed or their time is over, and none if two contradict each other', async () => {
    expect(await asked({ afterMs: 5, value: t }, { afterMs: 10, value: failing })).toEqual({ value: t, tookMs: 10, calls: [0, 1] });
    expect(await asked({ afterMs: 5, value: t }, { afterMs: 2_000, value: t })).toEqual({ value: t, tookMs: 505, calls: [0, 1] });
    expect(await asked({ afterMs: 400, value: t }, { afterMs: 2_000, value: t })).toEqual({ value: t, tookMs: 800, calls: [0, 1] });
    expect(await asked({ afterMs: 900, value: t }, { afterMs: 2_000, value: t })).toEqual({ value: t, tookMs: 901, calls: [0, 1] });
    expect(await asked({ afterMs: 5, value: t }, { afterMs: 10, value: lie })).toEqual({
      value: 'contradicted',
      tookMs: 10,
      calls: [0, 1],
    });
    expect(await asked({ afterMs: 5, value: failing }, { afterMs: 10, value: failing })).toEqual({
      value: 'silent',
      tookMs: 10,
      calls: [0, 1],
    });
    expect(await asked()).toMatchObject({ value: 'silent', calls: [] });
  });
});
