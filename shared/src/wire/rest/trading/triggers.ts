import { Type, type Static } from 'typebox';
import { TriggerAmount, triggerFields, triggerLimits, triggerStatuses, TriggerWhen } from '../../orders/triggers.ts';
import {
  Address,
  Closed,
  closed,
  Count,
  exampleMint,
  exampleTriggerId,
  exampleWallet,
  KeyId,
  Nullable,
  RequestedMint,
  Titled,
  TriggerId,
  triggerIdPattern,
  UnixMs,
} from '../../values/values.ts';
import { defineEndpoint } from '../endpoint.ts';
import { Limit } from '../fields.ts';
import { tradeFields } from './trade.ts';

/** Triggers of one answer. */
export const triggerPageLimits = { default: 50, max: 100 } as const;
/** What a trigger has if its request does not say it. */
export const triggerDefaults = {
  retries: 3,
  retryForMs: 60_000,
  expiresInMs: 30 * 86_400_000,
  confirm: 'processed',
  holdMs: 500,
  minDepthSol: 1,
} as const;
const dayMs = 86_400_000;

const { slippage, priorityFee, pool, minOut, maxIn } = tradeFields;

/** Of a trigger at the top and in `then`. */
const fields = {
  side: Type.Enum(['buy', 'sell'], { description: 'Side of the order.' }),
  amount: TriggerAmount,
  maxAmount: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      description: 'Upper bound of one order, if `amount` is a part of a trade: SOL of a buy, tokens of a sell. A buy requires the bound.',
    }),
  ),
  slippage,
  priorityFee,
  pool,
  minOut,
  maxIn,
  when: TriggerWhen,
  confirm: Type.Optional(
    Type.Enum(['processed', 'confirmed'], {
      default: triggerDefaults.confirm,
      description: 'Which trades count. With `confirmed` no price that is taken back by a `retract` fires it.',
    }),
  ),
  minDepthSol: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1e9,
      default: triggerDefaults.minDepthSol,
      description: 'The main pool must be at least this deep, SOL. Only for conditions on a price.',
    }),
  ),
  holdMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: dayMs,
      default: triggerDefaults.holdMs,
      description: 'The condition must hold this long, milliseconds. Only for conditions on a price.',
    }),
  ),
  retries: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      default: triggerDefaults.retries,
      description: 'How often an order that failed or was refused is repeated with a new quote.',
    }),
  ),
  retryForMs: Type.Optional(
    Type.Integer({ minimum: 0, maximum: dayMs, default: triggerDefaults.retryForMs, description: 'For how long, milliseconds.' }),
  ),
  ocoGroup: Type.Optional(
    Nullable(
      Type.String({ minLength: 1, maxLength: triggerLimits.ocoGroupChars }),
      'Any text. When one trigger of the same key with this text fires, the others are cancelled.',
    ),
  ),
  expiresAt: Type.Optional(Nullable(UnixMs(), 'When it ends, Unix milliseconds; null: never. Default: after 30 days.')),
} as const;

const Child = <T extends object>(more: T) =>
  Closed({
    publicKey: Type.Optional(Address('That of the parent, which is the default.')),
    mint: Type.Optional(RequestedMint('That of the parent, which is the default.')),
    ...fields,
    ...more,
  });
const childrenMeaning =
  'Triggers that are armed when the order of this one has filled, for exactly what it bought. Not for a trigger that fires more than once.';
const Children = <T extends ReturnType<typeof Child>>(child: T) =>
  Type.Optional(Type.Array(child, { maxItems: triggerLimits.children, description: childrenMeaning }));
const GrandChild = Child({});
const ChildTrigger = Child({ then: Children(GrandChild) });

export const TriggerBody = Type.Object(
  {
    publicKey: Address('Wallet that signs and pays.'),
    mint: Type.Optional(
      RequestedMint(
        'Mint of the token, base58. Required, except with `account`: without a mint, the order is for the mint that the followed wallet traded.',
      ),
    ),
    ...fields,
    then: Children(ChildTrigger),
  },
  {
    ...closed,
    examples: [
      {
        publicKey: exampleWallet,
        mint: exampleMint,
        side: 'sell',
        amount: '100%',
        when: { position: 'profitPct', op: '<=', value: -20 },
        ocoGroup: 'exits',
      },
    ],
  },
);
export type TriggerBody = Static<typeof TriggerBody>;

export const TriggerObject = Titled('trigger state', triggerFields);
export type TriggerObject = Static<typeof TriggerObject>;

const trigger = { withApiPrefix: true, access: 'trade', tag: 'triggers' } as const;
const owners =
  'A key can reach the triggers of its account. A key of the operator can reach only those that were armed with this key. Triggers of live trading and of paper trading are apart.';
const params = Closed({
  id: Type.String({ minLength: 1, maxLength: 64, examples: [exampleTriggerId], description: 'Id of the trigger.' }),
});
const filters = {
  mint: Type.Optional(Address('Only triggers of this token.')),
  publicKey: Type.Optional(Address('Only triggers of this wallet.')),
} as const;

export const armTriggerEndpoint = defineEndpoint({
  ...trigger,
  id: 'armTrigger',
  method: 'POST',
  path: '/trade/triggers',
  idempotent: true,
  summary: 'Arms a trigger: an order that is placed when its condition holds.',
  description:
    'The order is quoted when the trigger fires: `slippage` and `minOut` count from that moment. Key, plan, wallet, limits and halt are checked again then. REFERENCE.md, "Triggers", has the rules. A repeated request with the same `Idempotency-Key` arms nothing again, for 24 hours.',
  body: TriggerBody,
  answer: TriggerObject,
  errors: ['INVALID_MINT', 'FORBIDDEN', 'IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_MISMATCH', 'TRADING_HALTED', 'UPSTREAM_UNAVAILABLE'],
});

export const triggerEndpoint = defineEndpoint({
  ...trigger,
  id: 'trigger',
  method: 'GET',
  path: '/trade/triggers/{id}',
  summary: 'State of a trigger.',
  description: owners,
  params,
  answer: TriggerObject,
  errors: ['NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
});

export const triggerPageEndpoint = defineEndpoint({
  ...trigger,
  id: 'triggers',
  method: 'GET',
  path: '/trade/triggers',
  summary: 'A page of triggers, newest first.',
  description: owners,
  query: Closed({
    before: Type.Optional(
      Type.String({
        pattern: triggerIdPattern,
        examples: [exampleTriggerId],
        description: 'Return only triggers older than this id: `next` of the previous answer.',
      }),
    ),
    status: Type.Optional(Type.Enum([...triggerStatuses], { description: 'Only triggers in this state.' })),
    ...filters,
    limit: Limit('triggers', triggerPageLimits),
  }),
  answer: Titled('triggerPage', {
    triggers: Type.Array(TriggerObject, { maxItems: triggerPageLimits.max }),
    next: Nullable(TriggerId(), 'Send it as `before` for the next, older triggers; null if there are none.'),
  }),
  errors: ['UPSTREAM_UNAVAILABLE'],
});

const cancelMeaning =
  'What is armed or waiting is cancelled, with the triggers in its `then`. One that is firing places no further order; the order that is on its way decides how it ends.';

export const cancelTriggerEndpoint = defineEndpoint({
  ...trigger,
  id: 'cancelTrigger',
  method: 'DELETE',
  path: '/trade/triggers/{id}',
  summary: 'Cancels a trigger.',
  description: `${cancelMeaning} One that has ended stays as it is. ${owners}`,
  params,
  answer: TriggerObject,
  errors: ['NOT_FOUND', 'TRADING_HALTED', 'UPSTREAM_UNAVAILABLE'],
});

export const cancelTriggersEndpoint = defineEndpoint({
  ...trigger,
  id: 'cancelTriggers',
  method: 'DELETE',
  path: '/trade/triggers',
  summary: 'Cancels all triggers that match every given filter; without a filter, all.',
  description: `${cancelMeaning} ${owners}`,
  query: Closed({ ...filters, keyId: Type.Optional(KeyId('Only triggers that were armed with this key.')) }),
  answer: Titled('cancelled triggers', {
    cancelled: Count('Triggers that are `cancelled` now.'),
    firing: Count('Triggers that were firing, and place no further order.'),
  }),
  errors: ['TRADING_HALTED', 'UPSTREAM_UNAVAILABLE'],
});
