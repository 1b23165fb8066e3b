import type { Position, SubscribeCommand } from '@sluice/shared/wire/stream/commands.ts';
import type { RejectedKey } from '@sluice/shared/wire/stream/replies.ts';
import type { RequestedTopic } from './requested-topics.ts';
import type { SubscribeFault } from './subscribe-fault.ts';

/** Wrong topics of `since` that a reply names. */
const namedTopics = 16;

/** What is wrong with `since`. Every position must belong to a topic of the command; a position of a rejected key is ignored. */
export function sinceFault(
  command: SubscribeCommand,
  requested: readonly RequestedTopic[],
  rejected: readonly RejectedKey[],
): SubscribeFault | null {
  const { since, channel } = command;
  if (since === undefined) return null;
  if (isPosition(since)) {
    if (requested.length <= 1) return null;
    const message = '`since` must be a map from topic to position if the command names several topics.';
    return { code: 'INVALID_REQUEST', message, details: { fields: { since: 'not a map' } } };
  }
  const topics = new Set(requested.map(({ topic }) => topic));
  const ending = command.channel === 'candles' ? `:${command.interval}` : '';
  for (const { key, code } of rejected) topics.add(`${channel}:${code === 'INVALID_MINT' ? '' : '@'}${key}${ending}`);
  const fields: Record<string, string> = {};
  let wrong = 0;
  for (const topic of Object.keys(since)) {
    if (topics.has(topic)) continue;
    fields[`since.${topic.slice(0, 64)}`] = 'no topic of this command';
    if (++wrong === namedTopics) break;
  }
  if (wrong === 0) return null;
  return { code: 'INVALID_REQUEST', message: '`since` names a topic that the command does not.', details: { fields } };
}

/** The client's position in a topic; null if the command names none. */
export function sinceOf({ since }: SubscribeCommand, topic: string): Position | null {
  if (since === undefined) return null;
  if (isPosition(since)) return since;
  const map = since as Readonly<Record<string, Position>>;
  return Object.hasOwn(map, topic) ? map[topic]! : null;
}

function isPosition(since: SubscribeCommand['since']): since is Position {
  return since !== undefined && typeof since['seq'] === 'number';
}
