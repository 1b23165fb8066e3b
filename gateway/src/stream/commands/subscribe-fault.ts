import type { SubscribeCommand } from '@sluice/shared/wire/stream/commands.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { Connection } from '../session/connection.ts';
import { exceededSubscriptions } from '../session/key-usage.ts';
import { missingChannel } from '../../auth/plan-features.ts';
import type { RequestedTopic } from './requested-topics.ts';

/** Why a whole command is refused. */
export interface SubscribeFault {
  readonly code: 'INVALID_REQUEST' | 'RATE_LIMIT' | 'FORBIDDEN';
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Null if the plan includes the channel. */
export function planFault(
  { principal }: Connection,
  { channel }: SubscribeCommand,
  requested: readonly RequestedTopic[],
): SubscribeFault | null {
  const all = requested.some(({ key }) => key === null);
  const missing = principal === null ? null : missingChannel(principal, channel, all);
  return missing === null ? null : { code: 'FORBIDDEN', ...missing };
}

/** Null if the command is within the limits of the connection and of its key. */
export function limitFault(connection: Connection, command: SubscribeCommand, requested: readonly RequestedTopic[]): SubscribeFault | null {
  if (command.snapshot === true && requested.length > streamLimits.snapshotTopics) {
    const limit = streamLimits.snapshotTopics;
    return {
      code: 'INVALID_REQUEST',
      message: `A command with \`snapshot\` may name at most ${limit} topics.`,
      details: { limit, fields: { snapshot: 'too many topics' } },
    };
  }
  const more = requested.reduce((count, { topic }) => (connection.topics?.has(topic) === true ? count : count + 1), 0);
  const limit = streamLimits.subscriptionsPerConnection;
  if (connection.topicCount + more > limit) {
    const details = { limit, have: connection.topicCount, more };
    return { code: 'INVALID_REQUEST', message: `At most ${limit} subscriptions on one connection.`, details };
  }
  const { principal, usage } = connection;
  const exceeded = principal === null || usage === null ? null : exceededSubscriptions(principal.plan, usage, more);
  if (exceeded === null) return null;
  return { code: 'RATE_LIMIT', message: exceeded.message, details: { limit: exceeded.limit, have: usage?.subscriptions, more } };
}
