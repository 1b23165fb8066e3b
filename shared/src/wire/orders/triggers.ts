import { Type, type Static } from 'typebox';
import { venueNames } from '../venues.ts';
import {
  Address,
  Closed,
  Count,
  EventId,
  Group,
  Message,
  Ms,
  Nullable,
  OrderId,
  percentPattern,
  Raw,
  TriggerId,
  Ui,
  UnixMs,
  UnixUs,
} from '../values/values.ts';
import { OrderFault } from './orders.ts';

/** `waiting` → `armed` → `firing` → `fired`. A recurring trigger is `armed` again after each order but the last. */
export const triggerStatuses = ['waiting', 'armed', 'firing', 'fired', 'cancelled', 'expired', 'failed'] as const;
export const triggerMetrics = ['priceSol', 'priceUsd', 'marketCapSol', 'marketCapUsd', 'curveProgress'] as const;
/** Bounds of what a trigger waits for. */
export const triggerLimits = {
  trailingPercent: { min: 0.1, max: 95 },
  profitPct: { min: -100, max: 1_000_000 },
  everyMs: { min: 2_000, max: 30 * 86_400_000 },
  times: 10_000,
  children: 10,
  childLevels: 2,
  ocoGroupChars: 64,
} as const;

const Metric = Type.Enum([...triggerMetrics], {
  description:
    '`priceSol`, `priceUsd`: price of one token. `marketCapSol`, `marketCapUsd`: price times supply. `curveProgress`: percent of the bonding curve that is sold.',
});
const Comparison = Type.Enum(['>=', '<='], { description: 'How the value compares when the trigger fires.' });
const Times = Type.Optional(
  Type.Integer({ minimum: 1, maximum: triggerLimits.times, default: 1, description: 'How often the trigger fires.' }),
);

export const TriggerWhen = Type.Union(
  [
    Group('Fires when a value of the token reaches a level.', {
      metric: Metric,
      op: Comparison,
      value: Type.Number({ exclusiveMinimum: 0, maximum: 1e18, description: 'The level, in SOL, USD or percent.' }),
    }),
    Group('Take profit or stop loss: fires by the profit of the position of `publicKey` in the token.', {
      position: Type.Literal('profitPct', { description: "Profit or loss in percent of the position's average cost." }),
      op: Comparison,
      value: Type.Number({ minimum: triggerLimits.profitPct.min, maximum: triggerLimits.profitPct.max, 'x-unit': 'percent' }),
    }),
    Closed({
      trailing: Group(
        'A sell fires when the value falls this much below its highest since arming, a buy when it rises this much above its lowest.',
        {
          metric: Metric,
          percent: Type.Number({
            minimum: triggerLimits.trailingPercent.min,
            maximum: triggerLimits.trailingPercent.max,
            'x-unit': 'percent',
          }),
        },
      ),
    }),
    Closed({ at: UnixMs('When to fire, Unix milliseconds. A time of the last hour fires at once.') }),
    Group('Recurring: the first order follows after one interval.', {
      every: Type.String({
        pattern: '^[0-9]{1,9}[smhd]$',
        maxLength: 10,
        description: 'Interval: a number with `s`, `m`, `h` or `d`, from `2s` to `30d`.',
        examples: ['60s'],
      }),
      times: Type.Integer({ minimum: 1, maximum: triggerLimits.times, description: 'Number of orders.' }),
    }),
    Closed({ event: Type.Literal('migration', { description: 'Fires when the token moves from its bonding curve to a pool.' }) }),
    Closed({ filled: OrderId('Fires when this order of the caller has filled.') }),
    Group('Fires on a trade of another wallet.', {
      account: Address('The wallet to follow.'),
      side: Type.Enum(['buy', 'sell'], { description: 'Which of its trades count.' }),
      minSol: Type.Optional(
        Type.Number({ minimum: 0, maximum: 1e9, default: 0, 'x-unit': 'SOL', description: 'Only trades of at least this size, SOL.' }),
      ),
      times: Times,
    }),
  ],
  { description: 'What the trigger waits for.' },
);
export type TriggerWhen = Static<typeof TriggerWhen>;

/** Whole coins, a part of the balance, or a part of the followed trade. */
export const TriggerAmount = Type.Union(
  [
    Type.Number({ exclusiveMinimum: 0 }),
    Type.String({
      maxLength: 18,
      documented: { pattern: `${percentPattern.slice(0, -1)}( of trade)?$`, minLength: 2, maxLength: 18 },
    }),
  ],
  {
    description:
      'A buy: quote coins to spend, as in `/trade/buy`. A sell: tokens, or a part of the balance, for example `50%`. In `then`, a percentage is a part of what the order of the parent bought. `25% of trade`, only with `account`: a part of what the followed wallet traded.',
  },
);

/** The fields of a trigger in answers and events. */
export const triggerFields = {
  triggerId: TriggerId('Id of the trigger.'),
  version: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Counts the changes of the trigger. The report with the higher version is the newer one.',
  }),
  status: Type.Enum([...triggerStatuses], {
    description:
      '`waiting`: the order of its parent has not filled. `armed`: it waits for its condition. `firing`: its order is being placed, or is not confirmed yet. `fired`: its last order is confirmed. `cancelled`, `expired`. `failed`: its order failed, and was not tried again. The last four are final.',
  }),
  orderId: Nullable(OrderId(), 'Its newest order; null before the first.'),
  error: Nullable(OrderFault, 'Why its last attempt failed; null if none did.'),
  waitingFor: Nullable(
    Type.String({ pattern: '^[a-z0-9_]{1,64}$', examples: ['shallow_pool'] }),
    'Why it does not fire now although its condition may hold, for example `hold`, `shallow_pool`, `gap`, `stale_price` or `oco_sibling_firing`. Null if there is no such reason.',
  ),
  late: Type.Boolean({ description: 'Its condition became true while nothing was running, and it was evaluated on a later price.' }),
  cancelAsked: Type.Boolean({ description: 'It was cancelled while it was firing. It places no further order.' }),
  paper: Type.Boolean({ description: 'Its orders are on paper.' }),
  publicKey: Address('Wallet that signs and pays.'),
  mint: Nullable(Address(), 'Mint of the token; null if the followed wallet decides it.'),
  side: Type.Enum(['buy', 'sell'], { description: 'Side of its orders.' }),
  amount: TriggerAmount,
  maxAmount: Nullable(Ui('The most of one order: SOL of a buy, tokens of a sell.')),
  slippage: Nullable(Ui('Percent; null for the default.')),
  priorityFee: Nullable(Ui('SOL; null if it is automatic.')),
  pool: Type.Enum(['auto', ...venueNames], { description: 'Venue.' }),
  minOut: Nullable(Raw('The least that each order receives.')),
  maxIn: Nullable(Raw('The most that each order pays.')),
  when: TriggerWhen,
  confirm: Type.Enum(['processed', 'confirmed'], { description: 'Which trades count.' }),
  minDepthSol: Ui('Depth that the main pool must have, SOL.'),
  holdMs: Ms('How long the condition must hold.'),
  retries: Count('How often an order that failed or was refused is repeated.'),
  retryForMs: Ms('For how long.'),
  ocoGroup: Nullable(
    Type.String({ maxLength: triggerLimits.ocoGroupChars }),
    'When one trigger of the same key and group fires, the others are cancelled.',
  ),
  watermark: Nullable(Ui('Highest (sell) or lowest (buy) value since arming, of `trailing`.')),
  nextAt: Nullable(UnixMs('When a recurring trigger fires next, Unix milliseconds.')),
  firings: Count('How often it has fired.'),
  maxCostSol: Ui(
    'What it can cost at most, SOL: the amount of each order that is left, and the priority fee of each attempt, or 0.01 SOL if that is automatic. Rent of accounts and tips are not included.',
  ),
  parentId: Nullable(TriggerId(), 'The trigger in whose `then` it was.'),
  parentAmount: Nullable(Raw("Its part of the tokens that the parent's order bought.")),
  children: Type.Array(TriggerId(), { maxItems: triggerLimits.children, description: 'The triggers of `then`, in its order.' }),
  createdAt: UnixMs('Unix milliseconds.'),
  updatedAt: UnixMs('When it last changed, Unix milliseconds.'),
  expiresAt: Nullable(UnixMs(), 'Unix milliseconds; null: never.'),
} as const;

export const TriggerEvent = Message('trigger', 'A trigger of this API key changed.', {
  type: Type.Literal('trigger'),
  id: EventId('`<trigger id>:<version>`: unique.'),
  ...triggerFields,
  ts: Closed({
    received: UnixUs('When the change was stored, Unix microseconds.'),
    published: UnixUs('When it was published, Unix microseconds.'),
  }),
  simulated: Type.Optional(Type.Literal(true, { description: 'Present and true on the simulated chain.' })),
});
export type TriggerEvent = Static<typeof TriggerEvent>;
