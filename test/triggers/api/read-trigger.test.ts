import { TriggerBody } from '@sluice/shared/wire/rest/trading/triggers.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { venues } from '@sluice/venues/registry.ts';
import { describe, expect, it } from 'vitest';
import { readTrigger } from '../../../trading/src/triggers/api/read-trigger.ts';
import type { RequestedTrigger } from '../../../trading/src/triggers/api/trigger-desk.ts';
import { addressOf } from '../../support/events/stream-events.ts';

const nowMs = 1_800_000_000_000;
const dayMs = 86_400_000;
const [mint, wallet, leader] = [addressOf(1), addressOf(2), addressOf(3)];
const stop = { publicKey: wallet, mint, side: 'sell', amount: '100%', when: { metric: 'priceSol', op: '<=', value: 3e-8 } };
const follow = { account: leader, side: 'buy' };
const check = validator(TriggerBody);

type Json = Readonly<Record<string, unknown>>;

function read(body: Json): RequestedTrigger {
  const checked = check(body);
  if (!checked.ok) throw new Error(JSON.stringify(checked.fields));
  const outcome = readTrigger(checked.value, { nowMs, venues });
  if ('error' in outcome) throw new Error(JSON.stringify(outcome));
  return outcome;
}

/** The wrong fields of a body, as the answer to its request names them; the code if none is named. */
function wrong(body: Json): readonly string[] | string {
  const checked = check(body);
  if (!checked.ok) return Object.keys(checked.fields).toSorted();
  const outcome = readTrigger(checked.value, { nowMs, venues });
  if (!('error' in outcome)) return [];
  const fields = outcome.details?.['fields'];
  return fields === undefined ? outcome.error : Object.keys(fields as Json).toSorted();
}

describe('the request of a trigger', () => {
  it('has safe defaults', () => {
    expect(read(stop)).toEqual({
      terms: {
        order: { side: 'sell', publicKey: wallet, mint, amount: '100%' },
        when: { kind: 'level', metric: 'priceSol', op: '<=', value: 3e-8 },
        confirm: 'processed',
        minDepthSol: 1,
        holdMs: 500,
        retries: 3,
        retryForMs: 60_000,
        ocoGroup: null,
        expiresAtMs: nowMs + 30 * dayMs,
      },
      children: [],
    });
    const own = { confirm: 'confirmed', minDepthSol: 0, holdMs: 0, retries: 0, retryForMs: 0, ocoGroup: 'exits' };
    expect(read({ ...stop, ...own, expiresAt: null }).terms).toMatchObject({ ...own, expiresAtMs: null });
    const order = { slippage: 2.5, priorityFee: 0.001, pool: 'pump', minOut: '5', maxIn: '6' };
    expect(read({ ...stop, ...order }).terms.order).toEqual({ side: 'sell', publicKey: wallet, mint, amount: '100%', ...order });
  });

  it.each([
    [
      { metric: 'curveProgress', op: '>=', value: 100 },
      { kind: 'level', metric: 'curveProgress', op: '>=', value: 100 },
    ],
    [
      { position: 'profitPct', op: '<=', value: -45 },
      { kind: 'profit', op: '<=', percent: -45 },
    ],
    [{ trailing: { metric: 'marketCapUsd', percent: 12.5 } }, { kind: 'trailing', metric: 'marketCapUsd', percent: 12.5 }],
    [{ at: nowMs - 3_600_000 }, { kind: 'at', atMs: nowMs - 3_600_000 }],
    [
      { every: '2s', times: 10_000 },
      { kind: 'every', everyMs: 2_000, times: 10_000 },
    ],
    [
      { every: '30d', times: 1 },
      { kind: 'every', everyMs: 30 * dayMs, times: 1 },
    ],
    [{ event: 'migration' }, { kind: 'migration' }],
    [{ filled: 'ord_01JD2Q6M7N8P9RSTVWXYZ01234' }, { kind: 'filled', orderId: 'ord_01JD2Q6M7N8P9RSTVWXYZ01234' }],
    [follow, { kind: 'account', account: leader, side: 'buy', minSol: 0, times: 1 }],
    [
      { ...follow, minSol: 2, times: 7 },
      { kind: 'account', account: leader, side: 'buy', minSol: 2, times: 7 },
    ],
  ])('may wait for %j', (when, condition) => {
    const { terms } = read({ ...stop, when });
    expect(terms.when).toEqual(condition);
    const isPriced = ['level', 'profit', 'trailing'].includes(condition.kind);
    expect([terms.holdMs, terms.minDepthSol]).toEqual(isPriced ? [500, 1] : [0, 0]);
  });

  it.each([
    [{ ...stop, when: { metric: 'price', op: '>=', value: 1 } }, ['when.metric']],
    [{ ...stop, when: { metric: 'priceSol', op: '>', value: 1 } }, ['when.op']],
    [{ ...stop, when: { metric: 'priceSol', op: '>=', value: 0 } }, ['when.value']],
    [{ ...stop, when: { metric: 'priceSol', op: '>=', value: 1, at: 1 } }, ['when.at']],
    [{ ...stop, when: { metric: 'curveProgress', op: '>=', value: 100.1 } }, ['when.value']],
    [{ ...stop, when: { position: 'profitPct', op: '<=', value: -101 } }, ['when.value']],
    [{ ...stop, when: { position: 'profit', op: '<=', value: 5 } }, ['when.position']],
    [{ ...stop, when: { trailing: { metric: 'priceSol', percent: 95.1 } } }, ['when.trailing.percent']],
    [{ ...stop, when: { trailing: { metric: 'volume', percent: 5 } } }, ['when.trailing.metric']],
    [{ ...stop, when: { at: Math.floor(nowMs / 1_000) } }, ['when.at']],
    [{ ...stop, when: { at: nowMs + 367 * dayMs } }, ['when.at']],
    [{ ...stop, when: { every: '1s', times: 2 } }, ['when.every']],
    [{ ...stop, when: { every: '31d', times: 2 } }, ['when.every']],
    [{ ...stop, when: { every: 'hourly', times: 2 } }, ['when.every']],
    [{ ...stop, when: { every: '60s', times: 10_001 } }, ['when.times']],
    [{ ...stop, when: { event: 'launch' } }, ['when.event']],
    [{ ...stop, when: { filled: 'ord_1' } }, ['when.filled']],
    [{ ...stop, when: { ...follow, account: 'me' } }, ['when.account']],
    [{ ...stop, when: { ...follow, account: wallet } }, ['when.account']],
    [{ ...stop, when: undefined }, ['when']],
    [{ ...stop, when: 'now' }, ['when']],
    [{ ...stop, side: 'hold' }, ['side']],
    [{ ...stop, mint: undefined }, ['mint']],
    [{ ...stop, mint: 'PEPE' }, 'INVALID_MINT'],
    [{ ...stop, publicKey: undefined }, ['publicKey']],
    [{ ...stop, publicKey: 'z'.repeat(44) }, ['publicKey']],
    [{ ...stop, amount: '101%' }, ['amount']],
    [{ ...stop, amount: '10% of supply' }, ['amount']],
    [{ ...stop, side: 'buy' }, ['amount']],
    [{ ...stop, side: 'buy', amount: 0.0009 }, ['amount']],
    [{ ...stop, side: 'buy', amount: 100.1 }, ['amount']],
    [{ ...stop, amount: '25% of trade' }, ['amount']],
    [{ ...stop, side: 'buy', amount: '25% of trade', when: follow }, ['maxAmount']],
    [{ ...stop, side: 'buy', amount: '25% of trade', maxAmount: 101, when: follow }, ['maxAmount']],
    [{ ...stop, amount: '0% of trade', when: follow }, ['amount']],
    [{ ...stop, maxAmount: 5 }, ['maxAmount']],
    [{ ...stop, slippage: 60 }, ['slippage']],
    [{ ...stop, slippage: 1.234 }, ['slippage']],
    [{ ...stop, priorityFee: 1 }, ['priorityFee']],
    [{ ...stop, pool: 'uniswap' }, ['pool']],
    [{ ...stop, minOut: '0' }, ['minOut']],
    [{ ...stop, maxIn: '18446744073709551616' }, ['maxIn']],
    [{ ...stop, holdMs: -1, retries: 101, retryForMs: dayMs + 1, ocoGroup: '' }, ['holdMs', 'ocoGroup', 'retries', 'retryForMs']],
    [{ ...stop, confirm: 'finalized', minDepthSol: -1 }, ['confirm', 'minDepthSol']],
    [{ ...stop, expiresAt: nowMs }, ['expiresAt']],
    [{ ...stop, when: { at: nowMs + 5_000 }, expiresAt: nowMs + 5_000 }, ['expiresAt']],
    [{ ...stop, dryRun: true }, ['dryRun']],
  ])('names what is wrong in %j', (body, fields) => {
    expect(wrong(JSON.parse(JSON.stringify(body)) as Json)).toEqual(fields);
  });

  it('may follow any mint of a wallet, with a part of its trades', () => {
    const { mint: _, ...anyMint } = stop;
    const buy = { ...anyMint, side: 'buy', amount: '25% of trade', maxAmount: 0.5, when: follow };
    expect(read(buy).terms.order).toEqual({ side: 'buy', publicKey: wallet, mint: null, amount: '25% of trade', maxAmount: 0.5 });
    expect(read({ ...anyMint, amount: '12.5% of trade', when: follow }).terms.order.amount).toBe('12.5% of trade');
    const exits = read({ ...buy, then: [{ side: 'sell', amount: '100%', when: { position: 'profitPct', op: '>=', value: 50 } }] });
    expect(exits.children).toMatchObject([{ terms: { order: { mint: null, publicKey: wallet } } }]);
  });

  it('has triggers that wait for it, on two levels, each with wallet and mint of its parent', () => {
    const exit = { side: 'sell', amount: '50%', when: { position: 'profitPct', op: '>=', value: 50 } };
    const buy = { ...stop, side: 'buy', amount: 1 };
    const later = { ...exit, amount: '100%', publicKey: wallet, mint };
    const entry = { side: 'buy', amount: 0.1, when: { event: 'migration' } };
    const nested = read({ ...buy, then: [{ ...entry, then: [exit, later] }, exit] });
    expect(nested.children.map(({ terms }) => terms.order)).toEqual([
      { side: 'buy', publicKey: wallet, mint, amount: 0.1 },
      { side: 'sell', publicKey: wallet, mint, amount: '50%' },
    ]);
    expect(nested.children[0]!.children.map(({ terms }) => terms.order.amount)).toEqual(['50%', '100%']);
    expect(wrong({ ...buy, then: [{ ...exit, then: [{ ...exit, then: [] }] }] })).toEqual(['then.0.then.0.then']);
    expect(wrong({ ...buy, then: Array.from({ length: 11 }, () => exit) })).toEqual(['then']);
    expect(wrong({ ...buy, then: [exit, { ...exit, mint: leader, publicKey: leader }] })).toEqual(['then.1.mint', 'then.1.publicKey']);
    expect(wrong({ ...buy, then: [{ ...entry, then: [{ ...exit, amount: '0%' }] }] })).toEqual(['then.0.then.0.amount']);
    expect(wrong({ ...buy, then: [{ ...exit, when: { every: '1s', times: 1 } }] })).toEqual(['then.0.when.every']);
    // A part of what its parent bought.
    expect(wrong({ ...stop, then: [exit] })).toEqual(['then.0.amount']);
    expect(wrong({ ...buy, when: { every: '60s', times: 2 }, then: [exit] })).toEqual(['then']);
    expect(wrong({ ...buy, when: { every: '60s', times: 1 }, then: [exit] })).toEqual([]);
  });

  it('ends by default 30 days after it can fire, and a child 30 days after it can be armed', () => {
    const ends = (body: Json): number | null => read({ ...stop, ...body }).terms.expiresAtMs;
    expect(ends({ when: { at: nowMs + 60 * dayMs } })).toBe(nowMs + 90 * dayMs);
    expect(ends({ when: { every: '1d', times: 100 } })).toBe(nowMs + 130 * dayMs);
    const exit = { side: 'sell', amount: '100%', when: { position: 'profitPct', op: '<=', value: -10 } };
    const of = (expiresAt: number | null | undefined): number | null =>
      read({ ...stop, side: 'buy', amount: 1, expiresAt, then: [exit] }).children[0]!.terms.expiresAtMs;
    expect([of(undefined), of(nowMs + dayMs), of(null)]).toEqual([nowMs + 60 * dayMs, nowMs + 31 * dayMs, null]);
  });
});
