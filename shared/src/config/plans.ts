import type { PlanName } from '../wire/values/plans.ts';
import type { Channel } from '../wire/stream/topics.ts';

/** The limits of a plan, for one key. Requests are counted on all gateways together, connections and topics on each gateway. */
export interface Plan {
  readonly name: PlanName;
  readonly requestsPerMinute: number;
  /** Requests that may arrive at the same moment. */
  readonly burst: number;
  /** `id`s of endpoints that the plan does not include. */
  readonly withoutEndpoints: readonly string[];
  readonly withoutChannels: readonly Channel[];
  /** The stream of all trades: `trades` without keys. */
  readonly allTrades: boolean;
  /** Batch forms: `?batch=1`, and several orders in one body. */
  readonly batch: boolean;
  /** Connections of one key on one gateway. */
  readonly connections: number;
  /** Topics of all connections of one key on one gateway. */
  readonly subscriptions: number;
  /** Commands of one connection: the burst, and the rate per second after it. */
  readonly commandsPerSecond: number;
}

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
    batch: true,
    connections: 10_000,
    subscriptions: 100_000,
    commandsPerSecond: 200,
  },
};
