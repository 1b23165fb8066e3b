import { Type, type Static } from 'typebox';
import { channelNames } from './topics.ts';

const count = (maximum: number, description: string) => Type.Integer({ minimum: 1, maximum, description });

/** What a plan grants, beside its name: `GET /usage` answers with it, and PLANS_FILE overrides it. */
export const planFields = {
  requestsPerMinute: count(600_000, 'Requests a minute of one key, over all gateways together.'),
  burst: count(1_000_000, 'Requests that may come at once.'),
  withoutEndpoints: Type.Array(Type.String({ pattern: '^[a-z][A-Za-z0-9]{0,63}$' }), {
    maxItems: 100,
    description: 'Endpoints (`operationId`) that the plan does not reach.',
  }),
  withoutChannels: Type.Array(Type.Enum(channelNames), { maxItems: 100, description: 'Channels that the plan does not reach.' }),
  allTrades: Type.Boolean({ description: 'The channel `trades` without keys.' }),
  batch: Type.Boolean({ description: 'Batch forms: `?batch=1`, and several orders in one body.' }),
  connections: count(50_000, 'Stream connections of one key on one gateway.'),
  subscriptions: count(1_000_000, 'Topics of all connections of one key on one gateway.'),
  commandsPerSecond: count(10_000, 'Stream commands of one connection: so many at once, and as many each second.'),
};

const PlanOverride = Type.Partial(Type.Object(planFields), { additionalProperties: false });

/** The JSON of PLANS_FILE: by plan the fields that are not the defaults. */
export const PlansOverride = Type.Object(
  { standard: Type.Optional(PlanOverride), premium: Type.Optional(PlanOverride), enterprise: Type.Optional(PlanOverride) },
  { additionalProperties: false },
);
export type PlansOverride = Static<typeof PlansOverride>;
