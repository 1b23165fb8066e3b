import { judge, mayInsert, mayBecome, type Evidence, type OrderProgress } from '@sluice/gateway/store/order-model/life.ts';
import { endStates, orderKinds, storedStates, type OrderKind, type OrderState } from '@sluice/gateway/store/order-model/order.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderFill, signedMessage } from '../support/orders.ts';

const error = { code: 'SIMULATION_FAILED', message: 'It failed.', detailsJson: '{}' } as const;
const { signature } = signedMessage();
const commitments = ['processed', 'confirmed', 'finalized'] as const;

const anyEvidence: fc.Arbitrary<Evidence> = fc.oneof(
  fc.constantFrom<Evidence>({ kind: 'gone' }, { kind: 'silence' }, { kind: 'pending' }, { kind: 'expired' }),
  fc.record({
    kind: fc.constant('landed' as const),
    commitment: fc.constantFrom(...commitments),
    error: fc.constantFrom(null, error),
    fill: fc.constantFrom(null, orderFill),
  }),
);

/** Initial states of orders. */
const anyBeginning: fc.Arbitrary<OrderProgress> = fc
  .record({ kind: fc.constantFrom(...orderKinds), state: fc.constantFrom(...storedStates), isSigned: fc.boolean() })
  .map(({ kind, state, isSigned }) => ({
    kind,
    state,
    signature: isSigned && kind !== 'paper' ? signature : null,
    fill: null,
    terms: null,
  }))
  .filter((order) => mayInsert(order) && !endStates.has(order.state));

/** How far a state has progressed; `unknown` has no place. */
const rank: Readonly<Record<OrderState, number | null>> = {
  submitted: 2,
  unknown: null,
  processed: 3,
  confirmed: 4,
  finalized: 5,
  failed: 5,
  expired: 5,
};

function apply(order: OrderProgress, evidence: Evidence): OrderProgress {
  const verdict = judge(order, evidence);
  if (verdict.kind !== 'change') return order;
  const { state = order.state, fill = order.fill } = verdict.change;
  return { ...order, state, fill };
}

/** Every state on the way, including the first. */
function course(beginning: OrderProgress, evidences: readonly Evidence[]): readonly OrderProgress[] {
  const states = [beginning];
  for (const evidence of evidences) states.push(apply(states.at(-1)!, evidence));
  return states;
}

const anyCourse = fc.tuple(anyBeginning, fc.array(anyEvidence, { maxLength: 12 }));
const landed = (commitment: (typeof commitments)[number], more: Partial<Extract<Evidence, { kind: 'landed' }>> = {}): Evidence => ({
  kind: 'landed',
  commitment,
  error: null,
  fill: null,
  ...more,
});
const at = (state: OrderState, kind: OrderKind = 'lightning'): OrderProgress => ({
  kind,
  state,
  signature,
  fill: null,
  terms: null,
});

describe('the life of an order, for any findings in any order', () => {
  it('has only steps that the store allows', () => {
    fc.assert(
      fc.property(anyCourse, ([beginning, evidences]) => {
        const standings = course(beginning, evidences);
        for (const [i, { state }] of standings.slice(1).entries()) {
          const before = standings[i]!.state;
          if (state !== before) expect(mayBecome(before, state), `${before} to ${state}`).toBe(true);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it('goes back only to unknown, and to submitted from there', () => {
    fc.assert(
      fc.property(anyCourse, ([beginning, evidences]) => {
        const states = course(beginning, evidences);
        for (const [i, { state }] of states.slice(1).entries()) {
          const [before, after] = [rank[states[i]!.state], rank[state]];
          if (before !== null && after !== null) expect(after).toBeGreaterThanOrEqual(before);
          if (before === 4) expect(after).not.toBeNull();
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it('ends once: nothing changes an order that has ended', () => {
    fc.assert(
      fc.property(anyCourse, ([beginning, evidences]) => {
        const states = course(beginning, evidences).map(({ state }) => state);
        const end = states.findIndex((state) => endStates.has(state));
        if (end !== -1) expect(new Set(states.slice(end)).size).toBe(1);
      }),
      { numRuns: 3_000 },
    );
  });

  it('reaches its correct end from every state', () => {
    fc.assert(
      fc.property(anyCourse, ([beginning, evidences]) => {
        const last = course(beginning, evidences).at(-1)!;
        if (endStates.has(last.state) || last.signature === null) return;
        expect(apply(last, landed('finalized')).state).toBe('finalized');
        expect(apply(last, landed('finalized', { error })).state).toBe('failed');
        expect(apply(last, { kind: 'expired' }).state).toBe('expired');
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('the life of an order', () => {
  it('has the usual steps', () => {
    const steps: readonly Evidence[] = [
      landed('processed'),
      landed('confirmed', { fill: orderFill }),
      landed('finalized', { fill: orderFill }),
    ];
    const states = course(at('submitted'), steps);
    expect(states.map(({ state }) => state)).toEqual(['submitted', 'processed', 'confirmed', 'finalized']);
    expect(states.map(({ fill }) => fill)).toEqual([null, null, orderFill, orderFill]);
  });

  it('begins ready to be sent, with its message, or filled on paper', () => {
    for (const state of storedStates) {
      for (const kind of ['lightning', 'sent'] as const) {
        expect(mayInsert({ kind, state, signature }), `${kind} ${state}`).toBe(state === 'submitted');
        expect(mayInsert({ kind, state, signature: null }), `${kind} ${state}`).toBe(false);
      }
      expect(mayInsert({ kind: 'paper', state, signature: null }), state).toBe(state === 'finalized');
    }
  });

  it('does not fail by a block that may leave the chain again', () => {
    const processed = apply(at('submitted'), landed('processed', { error }));
    expect(processed.state).toBe('processed');
    expect(apply(processed, landed('confirmed', { error })).state).toBe('failed');
    expect(apply(apply(processed, { kind: 'gone' }), landed('confirmed')).state).toBe('confirmed');
  });

  it('is unknown after its block is gone, until the outcome is found', () => {
    const gone = apply(at('processed'), { kind: 'gone' });
    expect(gone.state).toBe('unknown');
    expect(apply(gone, { kind: 'pending' }).state).toBe('submitted');
    expect(apply(gone, { kind: 'expired' }).state).toBe('expired');
    expect(apply(at('confirmed'), { kind: 'gone' }).state).toBe('confirmed');
    expect(apply(at('processed'), { kind: 'silence' }).state).toBe('processed');
    expect(apply(at('submitted'), { kind: 'silence' }).state).toBe('unknown');
  });

  it('accepts the fill late', () => {
    const verdict = judge(at('finalized'), landed('finalized', { fill: orderFill }));
    expect(verdict).toEqual({ kind: 'change', change: { fill: orderFill } });
    expect(judge({ ...at('finalized'), fill: orderFill }, landed('finalized', { fill: orderFill }))).toEqual({ kind: 'nothing' });
  });

  it.each<[string, OrderProgress, Evidence]>([
    ['landing without a message', { ...at('submitted'), signature: null }, landed('processed')],
    ['landing after it could land no more', at('expired'), landed('confirmed')],
    ['landing well after it failed', at('failed'), landed('finalized')],
    ['a failure after it was finalized', at('finalized'), landed('finalized', { error })],
    ['being too old after it was finalized', at('finalized'), { kind: 'expired' }],
    ['landing on paper', { ...at('submitted', 'paper'), signature: null }, landed('processed')],
  ])('says that %s cannot be', (_what, order, evidence) => {
    expect(judge(order, evidence)).toEqual({ kind: 'contradiction' });
  });

  it('allows no state after an end', () => {
    for (const from of endStates) for (const to of storedStates) expect(mayBecome(from, to)).toBe(false);
  });
});
