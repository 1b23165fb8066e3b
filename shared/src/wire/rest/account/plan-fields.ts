import { Type, type Static } from 'typebox';
import { channelNames } from '../../stream/topics.ts';
import { Closed } from '../../values/values.ts';

const count = (maximum: number, description: string) => Type.Integer({ minimum: 1, maximum, description });

/** The limits of a plan, without its name. `GET /usage` returns them, and PLANS_FILE overrides them. */
export const planFields = {
  requestsPerMinute: count(600_000, 'Requests per minute of one key, on all gateways together.'),
  burst: count(1_000_000, 'Requests that may arrive at the same moment.'),
  withoutEndpoints: Type.Array(Type.String({ pattern: '^[a-z][A-Za-z0-9]{0,63}$' }), {
    maxItems: 100,
    description: 'Endpoints (`operationId`) that the plan does not include.',
  }),
  withoutChannels: Type.Array(Type.Enum(channelNames), { maxItems: 100, description: 'Channels that the plan does not include.' }),
  allTrades: Type.Boolean({ description: 'Whether the plan includes the channel `trades` without keys.' }),
  triggers: count(1_000_000, 'Triggers of one account (of one key of the operator) that have not ended.'),
  batch: Type.Boolean({ description: 'Whether the plan includes batches: `?batch=1`, and several orders in one body.' }),
  connections: count(50_000, 'Stream connections of one key on one gateway.'),
  subscriptions: count(1_000_000, 'Topics of all connections of one key on one gateway.'),
  commandsPerSecond: count(10_000, 'Stream commands of one connection: the burst, and the rate per second after it.'),
};

const PlanOverride = Type.Partial(Type.Object(planFields), { additionalProperties: false });

/** The JSON in PLANS_FILE: for each plan, the fields that differ from the defaults. */
export const PlansOverride = Closed({
  standard: Type.Optional(PlanOverride),
  premium: Type.Optional(PlanOverride),
  enterprise: Type.Optional(PlanOverride),
});
export type PlansOverride = Static<typeof PlansOverride>;
