import { findEvidence, type OrderFinding, type NodeView, type TrackedOrder } from '../../trading/src/follow/evidence/tracked-order.ts';
import { majorityOf } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newOrder } from '../support/orders.ts';

const nowMs = 100_000;
const absent = { status: null, contextSlot: 200, atMs: nowMs, absences: 0, isForgotten: false } as const;

/** What is true about a message, and what an honest node then reports. A single node must report twice that it can no longer land. */
const truths = {
  pending: absent,
  expired: { ...absent, absences: 2 },
  landed: { ...absent, status: { slot: 100, commitment: 'finalized', err: null } },
} as const satisfies Record<string, NodeView>;
type Truth = keyof typeof truths;

const lie: fc.Arbitrary<NodeView> = fc.record({
  status: fc.option(
    fc.record({
      slot: fc.constantFrom(99, 100, 101),
      commitment: fc.constantFrom('processed', 'confirmed', 'finalized'),
      err: fc.constantFrom(null, { InstructionError: [2, { Custom: 6002 }] }),
    }),
  ),
  contextSlot: fc.constantFrom(1, 200, 10_000),
  atMs: fc.constantFrom(nowMs - 20_000, nowMs - 5_000, nowMs),
  absences: fc.constantFrom(0, 1, 5),
  isForgotten: fc.boolean(),
});

const tracked = (views: readonly NodeView[], sinceMs: number): TrackedOrder => {
  const { signature, ...order } = newOrder(0);
  return {
    order: { ...order, signature, version: 1, changedAtMs: 0 } as unknown as TrackedOrder['order'],
    signature: signature!,
    lastValidBlockHeight: 1,
    sinceMs,
    views: [...views],
    seenAtMs: -Infinity,
    reading: null,
  };
};

/** The conclusion about an order. If one has landed, the result names the landing. */
function outcome({ evidence, read }: OrderFinding): unknown {
  return read ?? (evidence?.kind === 'silence' ? 'pending' : (evidence?.kind ?? 'pending'));
}

const trueOutcome = (truth: Truth): unknown => (truth === 'landed' ? { slot: 100, err: null } : truth);

describe('the evidence about an order', () => {
  const worlds = fc.integer({ min: 1, max: 7 }).chain((endpoints) =>
    fc.record({
      truth: fc.constantFrom<Truth>('pending', 'expired', 'landed'),
      lies: fc.array(lie, { maxLength: endpoints - majorityOf(endpoints) }),
      endpoints: fc.constant(endpoints),
      sinceMs: fc.constantFrom(0, nowMs - 1_000),
      turn: fc.nat(6),
    }),
  );

  it('follows more than half of the nodes, even if the others report something else', () => {
    fc.assert(
      fc.property(worlds, ({ truth, lies, endpoints, sinceMs, turn }) => {
        const views = Array.from({ length: endpoints }, (_, node) => lies[(node + turn) % endpoints] ?? truths[truth]);
        expect(outcome(findEvidence(tracked(views, sinceMs), nowMs))).toEqual(trueOutcome(truth));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is never the lie of one of two, and stays open until both agree', () => {
    fc.assert(
      fc.property(worlds, lie, fc.boolean(), ({ truth, sinceMs }, lying, isFirst) => {
        const views = isFirst ? [lying, truths[truth]] : [truths[truth], lying];
        // `landed` without a landing to read: both have it at `processed`.
        expect(['pending', truth, trueOutcome(truth)]).toContainEqual(outcome(findEvidence(tracked(views, sinceMs), nowMs)));
      }),
      { numRuns: 2_000 },
    );
  });
});
