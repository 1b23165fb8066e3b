import type { ErrorCode } from '@sluice/shared/wire/errors.ts';
import type { Position, SubscribeCommand } from '@sluice/shared/wire/stream/commands.ts';
import { streamLimits } from '@sluice/shared/wire/stream/limits.ts';
import type { ErrorReply, Gap, JoinPosition, RejectedKey, SnapshotFrame, SubscribedReply } from '@sluice/shared/wire/stream/replies.ts';
import { readCandlesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { missingChannel } from '../../auth/plan-features.ts';
import type { StreamParts } from '../connections/stream-parts.ts';
import { maxGroupsPerTopic, maxTopics } from '../fanout/fanout.ts';
import { compileFilter, confirmedOnly, type CompiledFilter } from '../fanout/filters.ts';
import { LazyEvent } from '../history/lazy-event.ts';
import { CatchUp } from '../replay/catch-up.ts';
import { pastPoint, resumePoint, type ResumePoint } from '../replay/resume-point.ts';
import { groupOf, type Connection, type Following } from '../session/connection.ts';
import { refusal } from '../session/protocol.ts';
import { exceededSubscriptions } from '../session/usage.ts';
import type { CandleDemand } from './candle-demand.ts';
import { requestedTopics, type RequestedTopic } from './requested-topics.ts';

/** Retained events of one topic that are searched for the newest one that passes the filter. */
const maxDepth = 256;
/** Work for each event that is read. */
const workPerEvent = 512;
/** Wrong topics of `since` that a reply names. */
const namedTopics = 16;

export interface SubscribeParts extends StreamParts {
  readonly candleDemand: CandleDemand;
}

/** The result of a `subscribe`: the reply, then the gaps, then the replays. */
export interface Subscribed {
  readonly reply: SubscribedReply | ErrorReply;
  readonly gaps: readonly Gap[];
  readonly replays: readonly CatchUp[];
}

/** Carries out a `subscribe`. The first frame of each topic is the one after its position in the reply. */
export function subscribe(parts: SubscribeParts, connection: Connection, command: SubscribeCommand, nowMs: number): Subscribed {
  const id = command.id ?? null;
  const { requested, rejected } = requestedTopics(connection, command);
  const refused = refusalOf(connection, command, requested, rejected);
  if (refused !== null) return { reply: refused, gaps: [], replays: [] };
  // Frames that were collected so far must be sent before the reply, and only to connections that already follow.
  if (connection.batch) parts.fanout.batcher.flushAll();
  const filter = filterOf(parts, command);
  const accepted: string[] = [];
  const positions: Record<string, JoinPosition> = {};
  const gaps: Gap[] = [];
  const replays: CatchUp[] = [];
  for (const { key, topic } of requested) {
    const followed = follow(parts, connection, topic, filter, { since: sinceOf(command, topic), last: command.last ?? null }, nowMs);
    if (followed === null) {
      if (key === null) return { reply: refusal(id, 'RATE_LIMIT', tooMuch), gaps: [], replays: [] };
      rejected.push({ key, code: 'RATE_LIMIT' });
      continue;
    }
    const { following, start, newest } = followed;
    if (key !== null) accepted.push(key);
    positions[topic] = { epoch: start.epoch, seq: start.after, recovered: start.recovered, ...(newest !== null && { newest }) };
    if (start.gap !== null) gaps.push(start.gap);
    if (following instanceof CatchUp) replays.push(following);
  }
  if (command.last !== undefined) connection.session.charge(requested.length * streamLimits.sinceWork);
  const reply: SubscribedReply = { id, op: 'subscribed', channel: command.channel, accepted, rejected, positions };
  if (command.snapshot === true) reply.snapshot = snapshots(parts, connection, requested, filter);
  return { reply, gaps, replays };
}

/** Why the whole command is refused; null if it is not. */
function refusalOf(
  connection: Connection,
  command: SubscribeCommand,
  requested: readonly RequestedTopic[],
  rejected: readonly RejectedKey[],
): ErrorReply | null {
  const { principal, usage, topics, topicCount } = connection;
  const { channel, since, snapshot } = command;
  const refuse = (code: ErrorCode, message: string, details: Readonly<Record<string, unknown>>): ErrorReply =>
    refusal(command.id ?? null, code, message, details);
  const isWholeChannel = requested.some(({ key }) => key === null);
  const missing = principal === null ? null : missingChannel(principal, channel, isWholeChannel);
  if (missing !== null) return refuse('FORBIDDEN', missing.message, missing.details);
  if (isPosition(since) && requested.length > 1) {
    const message = '`since` must be a map from topic to position if the command names several topics.';
    return refuse('INVALID_REQUEST', message, { fields: { since: 'not a map' } });
  }
  const foreign = since === undefined || isPosition(since) ? [] : foreignTopics(command, Object.keys(since), requested, rejected);
  if (foreign.length > 0) {
    const fields = Object.fromEntries(foreign.map((topic) => [`since.${topic.slice(0, 64)}`, 'no topic of this command']));
    return refuse('INVALID_REQUEST', '`since` names a topic that the command does not.', { fields });
  }
  const { snapshotTopics, subscriptionsPerConnection: most } = streamLimits;
  if (snapshot === true && requested.length > snapshotTopics) {
    const message = `A command with \`snapshot\` may name at most ${snapshotTopics} topics.`;
    return refuse('INVALID_REQUEST', message, { limit: snapshotTopics, fields: { snapshot: 'too many topics' } });
  }
  const more = requested.filter(({ topic }) => topics?.has(topic) !== true).length;
  if (topicCount + more > most) {
    return refuse('INVALID_REQUEST', `At most ${most} subscriptions on one connection.`, { limit: most, have: topicCount, more });
  }
  const exceeded = principal === null || usage === null ? null : exceededSubscriptions(principal.plan, usage, more);
  if (exceeded === null) return null;
  return refuse('RATE_LIMIT', exceeded.message, { limit: exceeded.limit, have: usage?.subscriptions, more });
}

/** Topics in `since` that the command does not name, a few of them. A position of a rejected key is ignored. */
function foreignTopics(
  command: SubscribeCommand,
  since: readonly string[],
  requested: readonly RequestedTopic[],
  rejected: readonly RejectedKey[],
): readonly string[] {
  const topics = new Set(requested.map(({ topic }) => topic));
  const ending = command.channel === 'candles' ? `:${command.interval}` : '';
  for (const { key, code } of rejected) topics.add(`${command.channel}:${code === 'INVALID_MINT' ? '' : '@'}${key}${ending}`);
  return since.filter((topic) => !topics.has(topic)).slice(0, namedTopics);
}

/** The client's position in a topic; null if the command names none. */
function sinceOf({ since }: SubscribeCommand, topic: string): Position | null {
  if (since === undefined) return null;
  if (isPosition(since)) return since;
  const map = since as Readonly<Record<string, Position>>;
  return Object.hasOwn(map, topic) ? map[topic]! : null;
}

function isPosition(since: SubscribeCommand['since']): since is Position {
  return since !== undefined && typeof since['seq'] === 'number';
}

const tooMuch =
  `This gateway follows at most ${maxTopics} topics, and evaluates at most ${maxGroupsPerTopic} different filters on one, ` +
  `${streamLimits.filtersPerKeyAndTopic} of them of one key.`;

function filterOf({ fanout }: SubscribeParts, command: SubscribeCommand): CompiledFilter | null {
  const filter = compileFilter(command.channel, 'filter' in command ? command.filter : undefined);
  const isConfirmed = 'commitment' in command && command.commitment === 'confirmed';
  return isConfirmed ? confirmedOnly(filter, fanout.slots) : filter;
}

/** Where a client wants to begin: after its position, or with the last frames. Both are null: now. */
interface Beginning {
  readonly since: Position | null;
  readonly last: number | null;
}

/** `newest` is the newest frame if the client requested the last frames. */
interface Followed {
  readonly following: Following;
  readonly start: ResumePoint;
  readonly newest: number | null;
}

/** Follows one topic. Null if the gateway cannot follow more topics. */
function follow(
  parts: SubscribeParts,
  connection: Connection,
  topic: string,
  filter: CompiledFilter | null,
  { since, last }: Beginning,
  nowMs: number,
): Followed | null {
  const { fanout, candleDemand } = parts;
  const { epoch } = parts.bus;
  const before = connection.topics?.get(topic);
  const isCandles = readCandlesTopic(topic) !== null;
  if (isCandles && !candleDemand.hasRoomFor(topic)) return null;
  const group = fanout.acquire(topic, connection.format, connection.batch, filter, connection.usage?.owner ?? '');
  if (group === null) return null;
  if (isCandles) candleDemand.add(topic);
  const current = group.topic.seq;
  if (since === null && last === null && before !== undefined && groupOf(before) === group) {
    // The connection already follows the topic with the same filter.
    fanout.release(group);
    const replay = before instanceof CatchUp ? before : null;
    const [after, of] = replay === null ? [current, epoch] : [replay.next - 1, replay.awaitedEpoch ?? epoch];
    return { following: group, start: { after, epoch: of, recovered: false, gap: null }, newest: null };
  }
  if (before !== undefined) connection.unfollow(topic);
  const isPast = since === null && last !== null;
  const after = isPast ? pastPoint(parts, topic, last, current) : current;
  const start = since === null ? { after, epoch, recovered: false, gap: null } : resumePoint(parts, topic, since, current);
  const awaitedEpoch = start.epoch === epoch ? null : start.epoch;
  const isLive = start.after === current && awaitedEpoch === null;
  const following = isLive ? group : new CatchUp(connection, group, start.after, awaitedEpoch, nowMs);
  connection.follow(topic, following);
  return { following, start, newest: isPast ? current : null };
}

/** The newest event of each topic that passes the filter. The number of events read is bounded over all topics, and counts as work. */
function snapshots(
  { fanout, history }: StreamParts,
  connection: Connection,
  requested: readonly RequestedTopic[],
  filter: CompiledFilter | null,
): SnapshotFrame[] {
  const depth = Math.min(maxDepth, Math.floor(streamLimits.snapshotEvents / requested.length));
  const found: SnapshotFrame[] = [];
  let read = 0;
  for (const { topic } of requested) {
    const newest = filter?.confirmed === true ? fanout.position(topic, true) : history.newest(topic);
    const after = Math.max(history.lastPause(topic), newest - depth);
    for (let seq = newest; seq > after; seq--) {
      const stored = history.read(topic, seq);
      if (stored === null) break;
      read++;
      const lazy = new LazyEvent(stored);
      if (!lazy.isReadable || (filter !== null && !lazy.passes(filter))) continue;
      found.push({ topic, seq, data: lazy.event });
      break;
    }
  }
  connection.session.charge(read * workPerEvent);
  return found;
}
