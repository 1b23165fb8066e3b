import type { PlansOverride } from '../wire/rest/account/plan-fields.ts';
import type { PlanName } from '../wire/values/plans.ts';

/** The limits of a plan, for one key. Requests are counted on all gateways together, connections and topics on each gateway. */
export type Plan = { readonly name: PlanName } & Readonly<Required<NonNullable<PlansOverride['standard']>>>;

export type Plans = Readonly<Record<PlanName, Plan>>;

/** The plans without PLANS_FILE. Enterprise limits are agreed for each key; these are the values until then. */
export const defaultPlans: Plans = {
  standard: {
    name: 'standard',
    requestsPerMinute: 100,
    burst: 100,
    withoutEndpoints: [],
    withoutChannels: [],
    allTrades: false,
    triggers: 100,
    batch: false,
    connections: 10,
    subscriptions: 1_000,
    commandsPerSecond: 20,
  },
  premium: {
    name: 'premium',
    requestsPerMinute: 1_000,
    burst: 1_000,
    withoutEndpoints: [],
    withoutChannels: [],
    allTrades: true,
    triggers: 1_000,
    batch: true,
    connections: 100,
    subscriptions: 20_000,
    commandsPerSecond: 100,
  },
  enterprise: {
    name: 'enterprise',
    requestsPerMinute: 60_000,
    burst: 10_000,
    withoutEndpoints: [],
    withoutChannels: [],
    allTrades: true,
    triggers: 20_000,
    batch: true,
    connections: 10_000,
    subscriptions: 100_000,
    commandsPerSecond: 200,
  },
};
