import type { Plan } from '@sluice/shared/config/plans.ts';
import { allTradesTopic, type Channel } from '@sluice/shared/wire/stream/topics.ts';
import type { Principal } from './principal.ts';

/** What a plan does not include, and the plans that include it. */
export interface Missing<K extends object> {
  readonly message: string;
  readonly details: K & { readonly plan: string; readonly plans: readonly string[] };
}
export type MissingFeature = Missing<{ readonly feature: string }>;

type Planned = Pick<Principal, 'plan' | 'plans'>;
type Includes = (plan: Plan) => boolean;

/** `instead`: what works with the plan. */
function missing<K extends object>({ plan, plans }: Planned, key: K, what: string, includes: Includes, instead = ''): Missing<K> | null {
  if (includes(plan)) return null;
  const names = Object.values(plans).flatMap((one) => (includes(one) ? [one.name] : []));
  const others = names.length === 0 ? 'No plan does.' : `Plans that do: ${names.join(', ')}.`;
  return {
    message: `The plan ${plan.name} does not include ${what}. ${others}${instead}`,
    details: { plan: plan.name, ...key, plans: names },
  };
}

/** Null if the plan includes the endpoint. */
export function missingEndpoint(planned: Planned, endpoint: string): Missing<{ readonly endpoint: string }> | null {
  return missing(planned, { endpoint }, 'this endpoint', ({ withoutEndpoints }) => !withoutEndpoints.includes(endpoint));
}

/** Null if the plan includes lists of orders. */
export function missingLists(planned: Planned): MissingFeature | null {
  return missing(planned, { feature: 'batch' }, 'lists of orders', ({ batch }) => batch);
}

/** Null if the plan includes `?batch=1`. */
export function missingBatch(planned: Planned): MissingFeature | null {
  return missing(planned, { feature: 'batch' }, 'batches', ({ batch }) => batch, ' Connect without `batch=1`.');
}

/** Null if the plan includes the channel. `all`: the whole channel, if it can also be followed by keys. */
export function missingChannel(planned: Planned, channel: Channel, all: boolean): MissingFeature | null {
  const includes: Includes = ({ withoutChannels }) => !withoutChannels.includes(channel);
  const whole = missing(planned, { feature: channel }, `the channel ${channel}`, includes);
  if (whole !== null || channel !== 'trades' || !all) return whole;
  const includesAll: Includes = (plan) => plan.allTrades && includes(plan);
  return missing(planned, { feature: 'allTrades' }, 'the trades of all tokens', includesAll, ' Name `mints` or `accounts`.');
}

interface UsedFeatures {
  readonly batch: boolean;
  readonly topics: { keys(): Iterable<string> } | null;
  readonly dialectTopics: ReadonlySet<string> | null;
}

/** The first feature that a connection uses and the plan does not include. */
export function missingUsedFeature(planned: Planned, { batch, topics, dialectTopics }: UsedFeatures): MissingFeature | null {
  const noBatch = batch ? missingBatch(planned) : null;
  if (noBatch !== null) return noBatch;
  for (const followed of [topics?.keys(), dialectTopics]) {
    for (const topic of followed ?? []) {
      const found = missingChannel(planned, topic.split(':', 1)[0] as Channel, topic === allTradesTopic);
      if (found !== null) return found;
    }
  }
  return null;
}
