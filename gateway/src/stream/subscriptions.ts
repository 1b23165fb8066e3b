import type { BusSubscriber } from '@sluice/shared/bus/bus.ts';
import { isAddress } from '@sluice/shared/solana/base58.ts';
import type { Position, SubscribeCommand, UnsubscribeCommand } from '@sluice/shared/wire/commands.ts';
import { candleIntervalNames } from '@sluice/shared/wire/intervals.ts';
import { streamLimits } from '@sluice/shared/wire/limits.ts';
import type {
  ErrorReply,
  Gap,
  JoinPosition,
  RejectedKey,
  SnapshotFrame,
  SubscribedReply,
  SubscriptionsReply,
  UnsubscribedReply,
} from '@sluice/shared/wire/replies.ts';
import {
  accountTradesTopic,
  candlesTopic,
  channelNames,
  channels,
  ordersTopic,
  pricesTopic,
  readCandlesTopic,
  tradesTopic,
  type Channel,
} from '@sluice/shared/wire/topics.ts';
import { CatchUp, startFrom, type Start } from './catch-up.ts';
import type { Pauses } from './pauses.ts';
import { unseenGap, type UnseenSlots } from './unseen.ts';
import type { Wants } from './wants.ts';
import { groupOf, type Connection, type Following } from './connection.ts';
import { EventCell } from './event-cell.ts';
import { maxGroupsPerTopic, maxTopics, type BusPosition, type Fanout, type Group } from './fanout.ts';
import { compileFilter, confirmedOnly, type CompiledFilter } from './filters.ts';
import type { History } from './history.ts';
import { subscriptionsBeyond } from './key-usage.ts';
import { channelOutOfReach } from './plan-reach.ts';
import { refusal } from './protocol.ts';

/** Retained events looked at for the newest that passes a filter. */
const snapshotDepth = 256;
/** What looking at one of them counts for. */
const snapshotWork = 512;

/** What subscribing works on. */
export interface StreamParts {
  readonly fanout: Fanout;
  readonly history: History;
  readonly bus: BusPosition & Pick<BusSubscriber, 'placeOf'>;
  readonly pauses: Pauses;
  readonly unseen: UnseenSlots;
  readonly wants: Wants;
}

/** What a `subscribe` came to: the reply, and what is to follow it. */
export interface Subscribed {
  readonly reply: SubscribedReply | ErrorReply;
  readonly gaps: readonly Gap[];
  readonly replays: readonly CatchUp[];
}

interface Wanted {
  readonly key: string | null;
  readonly topic: string;
}

/** The topics of a command, and the keys that stand for none. */
function wantedTopics(
  { principal }: Connection,
  command: SubscribeCommand | UnsubscribeCommand,
): { wanted: Wanted[]; rejected: RejectedKey[] } {
  // Never by what the command says: nobody follows another key's orders.
  if (command.channel === 'orders') {
    return { wanted: principal === null ? [] : [{ key: null, topic: ordersTopic(principal.keyId) }], rejected: [] };
  }
  const mints = 'mints' in command ? command.mints : undefined;
  const accounts = 'accounts' in command ? command.accounts : undefined;
  if (mints === undefined && accounts === undefined) return { wanted: [{ key: null, topic: command.channel }], rejected: [] };
  const wanted: Wanted[] = [];
  const rejected: RejectedKey[] = [];
  const mintTopic = mintTopicOf(command);
  for (const key of new Set(mints)) {
    if (isAddress(key)) wanted.push({ key, topic: mintTopic(key) });
    else rejected.push({ key, code: 'INVALID_MINT' });
  }
  for (const key of new Set(accounts)) {
    if (isAddress(key)) wanted.push({ key, topic: accountTradesTopic(key) });
    else rejected.push({ key, code: 'INVALID_REQUEST' });
  }
  return { wanted, rejected };
}

function mintTopicOf(command: SubscribeCommand | UnsubscribeCommand): (mint: string) => string {
  if (command.channel !== 'candles') return command.channel === 'prices' ? pricesTopic : tradesTopic;
  const { interval } = command;
  return (mint) => (interval === undefined ? `candles:${mint}` : candlesTopic(mint, interval));
}

/** Carries out a `subscribe`. Frames begin after the positions of the reply, each `seq` once. */
export function subscribe(parts: StreamParts, connection: Connection, command: SubscribeCommand, nowMs: number): Subscribed {
  const id = command.id ?? null;
  const { wanted, rejected } = wantedTopics(connection, command);
  const fault = checkPlan(connection, command, wanted) ?? checkSince(command, wanted, rejected) ?? checkBounds(connection, command, wanted);
  if (fault !== null) return { reply: refusal(id, fault.code, fault.message, fault.details), gaps: [], replays: [] };
  // What a batch holds belongs before the reply for those who follow already, and to nobody who joins now.
  if (connection.batch) parts.fanout.batcher.flushAll();
  const asked = compileFilter(command.channel, 'filter' in command ? command.filter : undefined);
  const isConfirmed = 'commitment' in command && command.commitment === 'confirmed';
  const filter = isConfirmed ? confirmedOnly(asked, parts.fanout.slots) : asked;
  const accepted: string[] = [];
  const positions: Record<string, JoinPosition> = {};
  const gaps: Gap[] = [];
  const replays: CatchUp[] = [];
  for (const { key, topic } of wanted) {
    const since = sinceOf(command, topic);
    const outcome = follow(parts, connection, topic, filter, since, nowMs);
    if (outcome === null) {
      if (key === null) return { reply: refusal(id, 'RATE_LIMIT', tooMuch), gaps: [], replays: [] };
      rejected.push({ key, code: 'RATE_LIMIT' });
      continue;
    }
    if (key !== null) accepted.push(key);
    positions[topic] = { epoch: parts.bus.epoch, seq: outcome.start.after, recovered: outcome.start.recovered };
    if (outcome.start.gap !== null) gaps.push(outcome.start.gap);
    if (outcome.following instanceof CatchUp) replays.push(outcome.following);
  }
  const reply: SubscribedReply = { id, op: 'subscribed', channel: command.channel, accepted, rejected, positions };
  if (command.snapshot === true) reply.snapshot = snapshots(parts, connection, wanted, filter);
  return { reply, gaps, replays };
}

const tooMuch =
  `This gateway follows at most ${maxTopics} topics, and evaluates at most ${maxGroupsPerTopic} different filters on one, ` +
  `${streamLimits.filtersPerKeyAndTopic} of them of one key.`;

/** Why a command is refused as a whole. */
interface Fault {
  readonly code: 'INVALID_REQUEST' | 'RATE_LIMIT' | 'FORBIDDEN';
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

function checkPlan({ principal }: Connection, { channel }: SubscribeCommand, wanted: readonly Wanted[]): Fault | null {
  const all = wanted.some(({ key }) => key === null);
  const outOfReach = principal === null ? null : channelOutOfReach(principal.plan, channel, all);
  return outOfReach === null ? null : { code: 'FORBIDDEN', ...outOfReach };
}

/** Wrong topics of `since` that an answer names. */
const namedTopics = 16;

/** A position must be of a topic that the command names; that of a key which was rejected goes with the key. */
function checkSince(command: SubscribeCommand, wanted: readonly Wanted[], rejected: readonly RejectedKey[]): Fault | null {
  const { since, channel } = command;
  if (since === undefined) return null;
  if (isPosition(since)) {
    if (wanted.length <= 1) return null;
    const message = '`since` must be a map from topic to position where the command names several topics.';
    return { code: 'INVALID_REQUEST', message, details: { fields: { since: 'not a map' } } };
  }
  const named = new Set(wanted.map(({ topic }) => topic));
  const ending = command.channel === 'candles' ? `:${command.interval}` : '';
  for (const { key, code } of rejected) named.add(`${channel}:${code === 'INVALID_MINT' ? '' : '@'}${key}${ending}`);
  const fields: Record<string, string> = {};
  let wrong = 0;
  for (const topic of Object.keys(since)) {
    if (named.has(topic)) continue;
    fields[`since.${topic.slice(0, 64)}`] = 'no topic of this command';
    if (++wrong === namedTopics) break;
  }
  if (wrong === 0) return null;
  return { code: 'INVALID_REQUEST', message: '`since` names a topic that the command does not.', details: { fields } };
}

function checkBounds(connection: Connection, command: SubscribeCommand, wanted: readonly Wanted[]): Fault | null {
  if (command.snapshot === true && wanted.length > streamLimits.snapshotTopics) {
    const limit = streamLimits.snapshotTopics;
    return {
      code: 'INVALID_REQUEST',
      message: `\`snapshot\` is for at most ${limit} topics a command.`,
      details: { limit, fields: { snapshot: 'too many topics' } },
    };
  }
  const more = wanted.reduce((count, { topic }) => (connection.topics?.has(topic) === true ? count : count + 1), 0);
  const limit = streamLimits.subscriptionsPerConnection;
  if (connection.topicCount + more > limit) {
    const details = { limit, have: connection.topicCount, more };
    return { code: 'INVALID_REQUEST', message: `At most ${limit} subscriptions on one connection.`, details };
  }
  const { principal, usage } = connection;
  const beyond = principal === null || usage === null ? null : subscriptionsBeyond(principal.plan, usage, more);
  if (beyond === null) return null;
  return { code: 'RATE_LIMIT', message: beyond.message, details: { limit: beyond.limit, have: usage?.subscriptions, more } };
}

function isPosition(since: SubscribeCommand['since']): since is Position {
  return since !== undefined && typeof since['seq'] === 'number';
}

function sinceOf({ since }: SubscribeCommand, topic: string): Position | null {
  if (since === undefined) return null;
  if (isPosition(since)) return since;
  const map = since as Readonly<Record<string, Position>>;
  return Object.hasOwn(map, topic) ? map[topic]! : null;
}

/** Follows one topic from now, or from where the client stopped; null where the gateway takes no more. */
function follow(
  { fanout, history, bus, pauses, unseen, wants }: StreamParts,
  connection: Connection,
  topic: string,
  filter: CompiledFilter | null,
  since: Position | null,
  nowMs: number,
): { following: Following; start: Start } | null {
  const before = connection.topics?.get(topic);
  const isCandles = readCandlesTopic(topic) !== null;
  if (isCandles && !wants.takes(topic)) return null;
  const group = fanout.acquire(topic, connection.format, connection.batch, filter, connection.usage?.keyId ?? '');
  if (group === null) return null;
  if (isCandles) wants.add(topic);
  const current = group.topic.seq;
  if (since === null && before !== undefined && groupOf(before) === group) {
    // Followed already, the same way: nothing changes.
    fanout.release(group);
    const after = before instanceof CatchUp ? before.next - 1 : current;
    return { following: group, start: { after, recovered: false, gap: null } };
  }
  if (before !== undefined) connection.drop(topic);
  const start: Start =
    since === null
      ? { after: current, recovered: false, gap: null }
      : withUnseen(startFrom(topic, since, current, bus, history, pauses.last(topic)), topic, unseen, bus);
  const following = start.after === current ? group : new CatchUp(connection, group, start.after, nowMs);
  connection.follow(topic, following);
  return { following, start };
}

/** A client that has missed no frame may have missed to be told of what no frame tells. */
function withUnseen(start: Start, topic: string, unseen: UnseenSlots, bus: BusPosition): Start {
  const loss = start.recovered ? unseen.since(topic, start.after) : null;
  return loss === null ? start : { ...start, recovered: false, gap: unseenGap(topic, start.after + 1, loss, bus.epoch) };
}

/** The newest event of each topic that passes. What is looked at is bounded over all topics, and counts as work. */
function snapshots(
  { fanout, history, pauses }: StreamParts,
  connection: Connection,
  wanted: readonly Wanted[],
  filter: CompiledFilter | null,
): SnapshotFrame[] {
  const depth = Math.min(snapshotDepth, Math.floor(streamLimits.snapshotEvents / wanted.length));
  const found: SnapshotFrame[] = [];
  let looked = 0;
  for (const { topic } of wanted) {
    const newest = filter?.confirmed === true ? fanout.position(topic, true) : history.newest(topic);
    const after = Math.max(pauses.last(topic), newest - depth);
    for (let seq = newest; seq > after; seq--) {
      const stored = history.read(topic, seq);
      if (stored === null) break;
      looked++;
      const { event } = new EventCell(stored);
      if (filter !== null && !filter.test(event)) continue;
      found.push({ topic, seq, data: event });
      break;
    }
  }
  connection.session.charge(looked * snapshotWork);
  return found;
}

/** Carries out an `unsubscribe`: the named keys, or without keys the whole channel. */
export function unsubscribe(parts: StreamParts, connection: Connection, command: UnsubscribeCommand): UnsubscribedReply {
  if (connection.batch) parts.fanout.batcher.flushAll();
  const topics = command.channel === 'candles' ? candleTopicsOf(connection, command) : topicsToEnd(connection, command);
  const removed: string[] = [];
  const positions: Record<string, Position> = {};
  for (const topic of topics) {
    const following = connection.topics?.get(topic);
    if (following === undefined) continue;
    positions[topic] = { epoch: parts.bus.epoch, seq: following instanceof CatchUp ? following.next - 1 : following.topic.seq };
    connection.drop(topic);
    removed.push(topic);
  }
  return { id: command.id ?? null, op: 'unsubscribed', channel: command.channel, removed, positions };
}

function topicsToEnd(connection: Connection, command: UnsubscribeCommand): string[] {
  const { wanted } = wantedTopics(connection, command);
  const whole = wanted.length === 1 && wanted[0]!.key === null;
  return whole ? topicsOfChannel(connection, command.channel) : wanted.map(({ topic }) => topic);
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

function channelOf(topic: string): Channel {
  const mark = topic.indexOf(':');
  return (mark === -1 ? topic : topic.slice(0, mark)) as Channel;
}

function isOwn(channel: Channel): boolean {
  return 'own' in channels[channel];
}

type ListEntry = SubscriptionsReply['subscriptions'][number];

function emptyEntry(channel: Channel, interval: ListEntry['interval'], filter: CompiledFilter | null): ListEntry {
  const own = filter === null || Object.keys(filter.filter).length === 0 ? null : filter.filter;
  return {
    channel,
    all: false,
    mints: [],
    accounts: [],
    ...(interval === undefined ? {} : { interval }),
    filter: own,
    ...(filter?.confirmed === true ? { commitment: 'confirmed' } : {}),
  };
}

/** A page of what a connection follows, one entry for each channel, interval and filter. */
export function listOf(connection: Connection, id: SubscriptionsReply['id'], after: string | undefined): SubscriptionsReply | ErrorReply {
  const found = new Map<string, ListEntry>();
  if (after !== undefined && connection.topics?.has(after) !== true) {
    const message = '`after` must be a topic that is followed; begin again without it.';
    return refusal(id, 'INVALID_REQUEST', message, { fields: { after: 'not followed' } });
  }
  let skipping = after !== undefined;
  let listed = 0;
  let last: string | null = null;
  let next: string | null = null;
  for (const [topic, following] of connection.topics?.entries() ?? []) {
    if (skipping) {
      skipping = topic !== after;
      continue;
    }
    if (listed === streamLimits.listTopics) {
      next = last;
      break;
    }
    listed++;
    last = topic;
    const { filter }: Group = groupOf(following);
    const channel = channelOf(topic);
    const candles = readCandlesTopic(topic);
    const key = `${channel} ${candles?.interval ?? ''} ${filter?.confirmed === true} ${filter?.key ?? ''}`;
    let entry = found.get(key);
    if (entry === undefined) found.set(key, (entry = emptyEntry(channel, candles?.interval, filter)));
    const name = candles?.mint ?? topic.slice(channel.length + 1);
    if (name === '' || isOwn(channel)) entry.all = true;
    else if (name.startsWith('@')) entry.accounts.push(name.slice(1));
    else entry.mints.push(name);
  }
  const order = (channel: Channel): number => channelNames.indexOf(channel);
  const subscriptions = [...found.values()].sort((a, b) => order(a.channel) - order(b.channel));
  return { id, op: 'subscriptions', subscriptions, total: connection.topics?.size ?? 0, next };
}
