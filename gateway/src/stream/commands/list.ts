import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { ErrorReply, SubscriptionsReply } from '@sluice/shared/wire/stream/replies.ts';
import { channelNames, channels, readCandlesTopic, type Channel } from '@sluice/shared/wire/stream/topics.ts';
import type { CompiledFilter } from '../fanout/filters.ts';
import { groupOf, type Connection } from '../session/connection.ts';
import { refusal } from '../session/protocol.ts';
import { channelOf } from './requested-topics.ts';

type ListEntry = SubscriptionsReply['subscriptions'][number];

/** Carries out a `list`: one page of what a connection follows, with one entry for each channel, interval and filter. */
export function list(connection: Connection, id: SubscriptionsReply['id'], after: string | undefined): SubscriptionsReply | ErrorReply {
  const entries = new Map<string, ListEntry>();
  if (after !== undefined && connection.topics?.has(after) !== true) {
    const message = '`after` must be a topic that this connection follows. Begin again without it.';
    return refusal(id, 'INVALID_REQUEST', message, { fields: { after: 'not followed' } });
  }
  let skipping = after !== undefined;
  let listed = 0;
  let bytes = baseBytes;
  let last: string | null = null;
  let next: string | null = null;
  for (const [topic, following] of connection.topics?.entries() ?? []) {
    if (skipping) {
      skipping = topic !== after;
      continue;
    }
    const { filter } = groupOf(following);
    const key = entryKey(topic, filter);
    // A key of a list is shorter than its topic by more than its quotes and comma.
    bytes += topic.length + (entries.has(key) ? 0 : entryBytes + Buffer.byteLength(JSON.stringify(filter?.filter ?? null)));
    if (listed === streamLimits.listTopics || (listed > 0 && bytes > streamLimits.frameBytes)) {
      next = last;
      break;
    }
    listed++;
    last = topic;
    addTopic(entries, key, topic, filter);
  }
  const subscriptions = [...entries.values()].sort((a, b) => order(a.channel) - order(b.channel));
  return { id, op: 'subscriptions', subscriptions, total: connection.topics?.size ?? 0, next };
}

const order = (channel: Channel): number => channelNames.indexOf(channel);

/** What a page needs at most without its entries, and an entry without its keys and its filter. */
const baseBytes = 1_536;
const entryBytes = 256;

function entryKey(topic: string, filter: CompiledFilter | null): string {
  return `${channelOf(topic)} ${readCandlesTopic(topic)?.interval ?? ''} ${filter?.confirmed === true} ${filter?.key ?? ''}`;
}

function addTopic(entries: Map<string, ListEntry>, key: string, topic: string, filter: CompiledFilter | null): void {
  const channel = channelOf(topic);
  const candles = readCandlesTopic(topic);
  let entry = entries.get(key);
  if (entry === undefined) entries.set(key, (entry = emptyEntry(channel, candles?.interval, filter)));
  const name = candles?.mint ?? topic.slice(channel.length + 1);
  const isOwn = 'own' in channels[channel];
  if (name === '' || isOwn) entry.all = true;
  else if (name.startsWith('@')) entry.accounts.push(name.slice(1));
  else if (channel === 'programs') entry.programs.push(name);
  else entry.mints.push(name);
}

function emptyEntry(channel: Channel, interval: ListEntry['interval'], filter: CompiledFilter | null): ListEntry {
  const fields = filter === null || Object.keys(filter.filter).length === 0 ? null : filter.filter;
  return {
    channel,
    all: false,
    mints: [],
    programs: [],
    accounts: [],
    ...(interval === undefined ? {} : { interval }),
    filter: fields,
    ...(filter?.confirmed === true ? { commitment: 'confirmed' } : {}),
  };
}
