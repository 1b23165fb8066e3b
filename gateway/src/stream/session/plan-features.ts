import type { Plan } from '@sluice/shared/config/plans.ts';
import { allTradesTopic, type Channel } from '@sluice/shared/wire/stream/topics.ts';

/** A feature of the stream that a plan does not include. */
export interface MissingFeature {
  readonly message: string;
  readonly details: { readonly plan: string; readonly feature: string };
}

/** Null if the plan includes `?batch=1`. */
export function missingBatch({ name, batch }: Plan): MissingFeature | null {
  return batch
    ? null
    : { message: `The plan ${name} does not include batches. Connect without \`batch=1\`.`, details: { plan: name, feature: 'batch' } };
}

/** Null if the plan includes the channel. `all`: the whole channel, if it can also be followed by keys. */
export function missingChannel({ name, withoutChannels, allTrades }: Plan, channel: Channel, all: boolean): MissingFeature | null {
  if (withoutChannels.includes(channel)) {
    return { message: `The plan ${name} does not include the channel ${channel}.`, details: { plan: name, feature: channel } };
  }
  if (channel !== 'trades' || !all || allTrades) return null;
  const message = `The plan ${name} does not include the trades of all tokens. Name \`mints\` or \`accounts\`.`;
  return { message, details: { plan: name, feature: 'allTrades' } };
}

interface UsedFeatures {
  readonly batch: boolean;
  readonly topics: { keys(): Iterable<string> } | null;
  readonly dialectTopics: ReadonlySet<string> | null;
}

/** The first feature that a connection uses and the plan does not include. */
export function missingUsedFeature(plan: Plan, { batch, topics, dialectTopics }: UsedFeatures): MissingFeature | null {
  const missing = batch ? missingBatch(plan) : null;
  if (missing !== null) return missing;
  for (const followed of [topics?.keys(), dialectTopics]) {
    for (const topic of followed ?? []) {
      const found = missingChannel(plan, topic.split(':', 1)[0] as Channel, topic === allTradesTopic);
      if (found !== null) return found;
    }
  }
  return null;
}
