import type { Plan } from '@sluice/shared/config/plans.ts';
import { allTradesTopic, type Channel } from '@sluice/shared/wire/topics.ts';

/** What of the stream a plan does not reach. */
export interface OutOfReach {
  readonly message: string;
  readonly details: { readonly plan: string; readonly feature: string };
}

export function batchOutOfReach({ name, batch }: Plan): OutOfReach | null {
  return batch
    ? null
    : { message: `The plan ${name} has no batches; connect without \`batch=1\`.`, details: { plan: name, feature: 'batch' } };
}

/** `all`: the channel without keys, where it may be followed with keys too. */
export function channelOutOfReach({ name, withoutChannels, allTrades }: Plan, channel: Channel, all: boolean): OutOfReach | null {
  if (withoutChannels.includes(channel)) {
    return { message: `The plan ${name} does not reach the channel ${channel}.`, details: { plan: name, feature: channel } };
  }
  if (channel !== 'trades' || !all || allTrades) return null;
  const message = `The plan ${name} has not the trades of all tokens; name \`mints\` or \`accounts\`.`;
  return { message, details: { plan: name, feature: 'allTrades' } };
}

/** The first thing that a connection uses and the plan does not reach. */
export function usedOutOfReach(plan: Plan, { batch, topics, dialectTopics }: { readonly batch: boolean } & Followed): OutOfReach | null {
  const beyond = batch ? batchOutOfReach(plan) : null;
  if (beyond !== null) return beyond;
  for (const followed of [topics?.keys(), dialectTopics]) {
    for (const topic of followed ?? []) {
      const fault = channelOutOfReach(plan, topic.split(':', 1)[0] as Channel, topic === allTradesTopic);
      if (fault !== null) return fault;
    }
  }
  return null;
}

interface Followed {
  readonly topics: { keys(): Iterable<string> } | null;
  readonly dialectTopics: ReadonlySet<string> | null;
}
