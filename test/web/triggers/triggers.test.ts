import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TriggerWhen, triggerStatuses } from '@sluice/shared/wire/orders/triggers.ts';
import { TriggerBody } from '@sluice/shared/wire/rest/trading/triggers.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { buyWithExits } from '@sluice/site/web/trading/ticket/exit-order.ts';
import { exitsOf, noExits, type Exit } from '@sluice/site/web/trading/triggers/exits.ts';
import { mergeTriggers } from '@sluice/site/web/trading/triggers/merge.ts';
import { bodyOf, canArmAgain, type Condition } from '@sluice/site/web/trading/triggers/trigger.ts';
import { amountText, conditionText, reasonText, statusText } from '@sluice/site/web/trading/triggers/words.ts';
import { ofSchema } from '../../support/of-schema.ts';
import { addressOf } from '../../support/events/stream-events.ts';
import { aTrigger } from './a-trigger.ts';

const wallet = { publicKey: addressOf(1), mint: addressOf(2) };
const accepts = validator(TriggerBody);

describe('what arms a trigger again', () => {
  it('is accepted by the server, and has all its terms', () => {
    const terms = { slippage: 7, priorityFee: 0.001, pool: 'pump', minOut: '5', confirm: 'confirmed', holdMs: 0, minDepthSol: 0 } as const;
    const more = { retries: 0, retryForMs: 5, ocoGroup: 'g', expiresAt: 1_900_000_000_000, maxIn: '9' } as const;
    const body = bodyOf(aTrigger({ ...wallet, ...terms, ...more, amount: 3 }));
    expect(body).toEqual({ ...wallet, ...terms, ...more, side: 'sell', amount: 3, when: aTrigger().when });
    for (const one of [body, bodyOf(aTrigger(wallet))]) expect(accepts(one)).toMatchObject({ ok: true });
  });

  it('sells no more of a child than its part of what its parent bought', () => {
    const child = aTrigger({ ...wallet, amount: '50%', parentId: 'trg_parent', parentAmount: '1234567' });
    expect(bodyOf(child)).toMatchObject({ amount: '100%', maxIn: '1234567' });
    expect(bodyOf(aTrigger({ ...child, amount: 2 }))).toMatchObject({ amount: 2 });
  });

  it('is not offered for what it does not say: children, and firings that were', () => {
    const often: readonly Condition[] = [
      { every: '60s', times: 3 },
      { account: addressOf(3), side: 'buy' },
    ];
    const no = [{ status: 'firing' }, { status: 'waiting' }, { children: ['trg_1'] }, ...often.map((when) => ({ when }))] as const;
    expect([aTrigger(), ...no.map(aTrigger)].map(canArmAgain)).toEqual([true, ...no.map(() => false)]);
  });
});

it('a buy with exits is one body that the server accepts, and is not repeated', () => {
  const exits = exitsOf({ ...noExits, steps: [{ part: '60', profit: '50' }], stopLoss: '45', trailing: '20' }, 'g') as readonly Exit[];
  const body = buyWithExits({
    side: 'buy',
    amount: 0.1,
    symbol: 'SIM',
    quoteMint: null,
    shown: null,
    exits,
    askedAtMs: 1_790_000_000_000,
    body: { ...wallet, slippage: 10, minOut: '77' },
  });
  expect(accepts(body)).toMatchObject({ ok: true });
  expect(body).toMatchObject({ side: 'buy', amount: 0.1, minOut: '77', retries: 0 });
  expect(body.then?.map(({ side, amount, ocoGroup }) => [side, amount, ocoGroup])).toEqual([
    ['sell', '60%', 'g-1'],
    ['sell', '60%', 'g-1'],
    ['sell', '60%', 'g-1'],
    ['sell', '40%', 'g-2'],
    ['sell', '40%', 'g-2'],
  ]);
  // The bound of the buy is none of its exits.
  expect(body.then?.every((exit) => exit.minOut === undefined)).toBe(true);
});

describe('a list of triggers', () => {
  const at = (triggerId: string, version: number, parts = {}) => aTrigger({ triggerId, version, createdAt: Number(triggerId), ...parts });

  it('has the newest report of each, newest first, in whichever order they arrive', () => {
    const reports = [at('1', 1), at('2', 1), at('1', 3, { status: 'fired' }), at('1', 2, { status: 'firing' }), at('3', 1)];
    const shown = (openOnly: boolean, order: typeof reports) =>
      mergeTriggers(order.slice(0, 2), order.slice(2), openOnly).map(({ triggerId, version }) => `${triggerId}.${version}`);
    fc.assert(
      fc.property(fc.shuffledSubarray(reports, { minLength: 5 }), (order) => {
        expect(shown(false, order)).toEqual(['3.1', '2.1', '1.3']);
        expect(shown(true, order)).toEqual(['3.1', '2.1']);
      }),
    );
  });
});

it('every condition, state and reason has words', () => {
  fc.assert(
    fc.property(ofSchema(TriggerWhen), fc.constantFrom('buy', 'sell'), (when, side) => {
      expect(conditionText({ when: when as Condition, side })).toMatch(/^(?!.*(undefined|NaN|null|\[object))..+/);
    }),
  );
  const states = triggerStatuses.map(statusText);
  expect(new Set(states).size).toBe(triggerStatuses.length);
  expect([...states, ...['hold', 'gap', 'newer_reason'].map(reasonText)].every((text) => /^[A-Z].+\.$/.test(text))).toBe(true);
  expect(reasonText('newer_reason')).toBe('It waits: newer reason.');
  const limited = { amount: '100%', side: 'sell', maxIn: '3490000000000' } as const;
  expect([
    amountText({ amount: '50%', side: 'sell' }),
    amountText({ amount: 0.5, side: 'buy' }),
    amountText(limited),
    amountText(limited, 6),
  ]).toEqual(['50 %', '0.5 SOL', '100 %, limited', 'up to 3.49M']);
});
