import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { SubscribeCommand, UnsubscribeCommand } from '@sluice/shared/wire/stream/commands.ts';
import type { RejectedKey } from '@sluice/shared/wire/stream/replies.ts';
import { accountTradesTopic, candlesTopic, ordersTopic, programsTopic, type Channel } from '@sluice/shared/wire/stream/topics.ts';
import type { Connection } from '../session/connection.ts';

/** A topic that a command names. `key` is null if the command names the whole channel. */
export interface RequestedTopic {
  readonly key: string | null;
  readonly topic: string;
}

/** The topics that a command names, and the keys that are not addresses. */
export function requestedTopics(
  { principal }: Connection,
  command: SubscribeCommand | UnsubscribeCommand,
): { requested: RequestedTopic[]; rejected: RejectedKey[] } {
  // The key of the connection decides, never the command, because no client may follow the orders of another key.
  if (command.channel === 'orders') {
    return { requested: principal === null ? [] : [{ key: null, topic: ordersTopic(principal.keyId) }], rejected: [] };
  }
  const mints = 'mints' in command ? command.mints : undefined;
  const programs = 'programs' in command ? command.programs : undefined;
  const accounts = 'accounts' in command ? command.accounts : undefined;
  if (mints === undefined && accounts === undefined && programs === undefined)
    return { requested: [{ key: null, topic: command.channel }], rejected: [] };
  const requested: RequestedTopic[] = [];
  const rejected: RejectedKey[] = [];
  const mintTopic = mintTopicOf(command);
  for (const key of new Set(mints)) {
    if (isAddress(key)) requested.push({ key, topic: mintTopic(key) });
    else rejected.push({ key, code: 'INVALID_MINT' });
  }
  for (const key of new Set(accounts)) {
    if (isAddress(key)) requested.push({ key, topic: accountTradesTopic(key) });
    else rejected.push({ key, code: 'INVALID_REQUEST' });
  }
  for (const key of new Set(programs)) {
    if (isAddress(key)) requested.push({ key, topic: programsTopic(key) });
    else rejected.push({ key, code: 'INVALID_REQUEST' });
  }
  return { requested, rejected };
}

function mintTopicOf(command: SubscribeCommand | UnsubscribeCommand): (mint: string) => string {
  if (command.channel !== 'candles') return (mint) => `${command.channel}:${mint}`;
  const { interval } = command;
  return (mint) => (interval === undefined ? `candles:${mint}` : candlesTopic(mint, interval));
}

export function channelOf(topic: string): Channel {
  const mark = topic.indexOf(':');
  return (mark === -1 ? topic : topic.slice(0, mark)) as Channel;
}
