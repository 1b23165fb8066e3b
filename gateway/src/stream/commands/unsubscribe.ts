import type { Position, UnsubscribeCommand } from '@sluice/shared/wire/stream/commands.ts';
import { candleIntervalNames } from '@sluice/shared/wire/values/intervals.ts';
import type { UnsubscribedReply } from '@sluice/shared/wire/stream/replies.ts';
import { candlesTopic, readCandlesTopic, type Channel } from '@sluice/shared/wire/stream/topics.ts';
import type { StreamParts } from '../connections/stream-parts.ts';
import { CatchUp } from '../replay/catch-up.ts';
import type { Connection } from '../session/connection.ts';
import { channelOf, requestedTopics } from './requested-topics.ts';

/** Carries out an `unsubscribe` of the named keys, or without keys of the whole channel. */
export function unsubscribe({ fanout, bus }: StreamParts, connection: Connection, command: UnsubscribeCommand): UnsubscribedReply {
  if (connection.batch) fanout.batcher.flushAll();
  const topics = command.channel === 'candles' ? candleTopicsOf(connection, command) : topicsToEnd(connection, command);
  const removed: string[] = [];
  const positions: Record<string, Position> = {};
  for (const topic of topics) {
    const following = connection.topics?.get(topic);
    if (following === undefined) continue;
    positions[topic] = { epoch: bus.epoch, seq: following instanceof CatchUp ? following.next - 1 : following.topic.seq };
    connection.unfollow(topic);
    removed.push(topic);
  }
  return { id: command.id ?? null, op: 'unsubscribed', channel: command.channel, removed, positions };
}

function topicsToEnd(connection: Connection, command: UnsubscribeCommand): string[] {
  const { requested } = requestedTopics(connection, command);
  const wholeChannel = requested.length === 1 && requested[0]!.key === null;
  return wholeChannel ? topicsOfChannel(connection, command.channel) : requested.map(({ topic }) => topic);
}

function candleTopicsOf(connection: Connection, command: Extract<UnsubscribeCommand, { channel: 'candles' }>): string[] {
  const { mints, interval } = command;
  if (mints !== undefined)
    return mints.flatMap((mint) => (interval === undefined ? candleIntervalNames : [interval]).map((one) => candlesTopic(mint, one)));
  const topics = topicsOfChannel(connection, 'candles');
  return interval === undefined ? topics : topics.filter((topic) => readCandlesTopic(topic)?.interval === interval);
}

function topicsOfChannel(connection: Connection, channel: Channel): string[] {
  return [...(connection.topics?.keys() ?? [])].filter((topic) => channelOf(topic) === channel);
}
