import { Type, type Static, type TProperties } from 'typebox';
import { errorTable, type ErrorCode } from '../errors.ts';
import { CommandId } from './commands.ts';
import { candleIntervalNames } from '../values/intervals.ts';
import { channelNames } from './topics.ts';
import { streamLimits } from './limits.ts';
import { Venue } from '../values/event-parts.ts';
import { venueNames } from '../venues.ts';
import { planNames, scopes } from '../values/plans.ts';
import {
  Address,
  Closed,
  Count,
  Epoch,
  FreeText,
  Group,
  KeyId,
  Message,
  Ms,
  Nullable,
  Signature,
  Slot,
  Topic,
  UnixUs,
} from '../values/values.ts';

const Code = Type.Enum(Object.keys(errorTable) as ErrorCode[]);
const Channel = Type.Enum([...channelNames]);
const Seq = Count();
const Keys = Type.Array(Address(), { maxItems: streamLimits.listTopics });

const reply = <N extends string, T extends TProperties>(name: N, description: string, fields: T) =>
  Message(name, description, { id: CommandId, op: Type.Literal(name), ...fields });
const notice = <N extends string, T extends TProperties>(name: N, description: string, fields: T) =>
  Message(name, description, { op: Type.Literal(name), ...fields });

const Position = Closed({ epoch: Epoch(), seq: Seq });
const JoinPosition = Closed({
  epoch: Epoch(),
  seq: Count('The next frame of the topic has this number plus one.'),
  recovered: Type.Boolean({ description: 'True if `since` was given and all later frames follow.' }),
  newest: Type.Optional(Count('With `last`: the newest frame when the reply was made. Frames up to this number are of the past.')),
});
const SnapshotFrame = Closed({ topic: Topic('Topic.'), seq: Seq, data: Type.Unknown() });
const RejectedKey = Closed({ key: Type.String({ maxLength: 256 }), code: Code });

export const AuthenticatedReply = reply('authenticated', 'The reply to `auth`.', {
  keyId: KeyId('The public part of the key.'),
  plan: Type.Enum([...planNames]),
  scopes: Type.Array(Type.Enum([...scopes]), { maxItems: scopes.length }),
});
/** In the earlier messages of a long reply. */
const of = Type.Optional(
  Type.Union([...CommandId.anyOf], {
    description:
      'Present in the earlier messages of a long reply: the `id` of the command. Their own `id` is null. The last message is the reply itself.',
  }),
);

export const SubscribedReply = reply('subscribed', 'The reply to `subscribe`.', {
  of,
  channel: Channel,
  accepted: Type.Array(Address(), {
    maxItems: 2 * streamLimits.keysPerCommand,
    description: 'Mints and accounts that are followed from now on; empty if the command names none.',
  }),
  rejected: Type.Array(RejectedKey, {
    maxItems: 2 * streamLimits.keysPerCommand,
    description: 'Mints and accounts that are not followed, and why.',
  }),
  positions: Type.Record(Type.String(), JoinPosition, { description: 'For each topic, the position where its frames begin.' }),
  snapshot: Type.Optional(
    Type.Array(SnapshotFrame, {
      maxItems: streamLimits.snapshotTopics,
      description: 'With `snapshot`: the newest retained event of each topic that has one.',
    }),
  ),
});
export const UnsubscribedReply = reply('unsubscribed', 'The reply to `unsubscribe`.', {
  of,
  channel: Channel,
  removed: Type.Array(Topic('Topic.'), {
    maxItems: streamLimits.subscriptionsPerConnection,
    description: 'Topics that are no longer followed. No frame of them follows.',
  }),
  positions: Type.Record(Type.String(), Position, { description: 'The last position of each topic, to resume with `since`.' }),
});
export const SubscriptionsReply = reply(
  'subscriptions',
  'The reply to `list`: one entry for each channel, interval and filter, with the topics of this page.',
  {
    subscriptions: Type.Array(
      Closed({
        channel: Channel,
        all: Type.Boolean({ description: 'Whether the whole channel is followed, without mints and accounts.' }),
        mints: Keys,
        programs: Keys,
        accounts: Keys,
        interval: Type.Optional(Type.Enum([...candleIntervalNames], { description: 'Of candles.' })),
        filter: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
        commitment: Type.Optional(Type.Literal('confirmed', { description: 'Present if it was requested.' })),
      }),
      { maxItems: streamLimits.listTopics },
    ),
    total: Count('Topics that the connection follows.'),
    next: Nullable(Topic('Topic.'), 'What to send as `after` for the next page; null on the last.'),
  },
);
const SlotAge = Nullable(
  Ms(
    'Time since ingest last saw a newer slot; null before its first report. Above 2,000, the nodes or ingest have stopped: prices may be old.',
  ),
);
export const PongReply = reply('pong', 'The reply to `ping`.', {
  ts: UnixUs("The gateway's clock, Unix microseconds."),
  slotAgeMs: SlotAge,
});
export const ErrorReply = reply('error', 'The reply to a refused command; `id` is null if the command could not be read.', {
  error: Closed({ code: Code, message: FreeText(), retryable: Type.Boolean(), details: Type.Record(Type.String(), Type.Unknown()) }),
});
export const Heartbeat = notice(
  'heartbeat',
  'Sent every second, in several messages if one would be too long: the newest `seq` of the topics of this connection (with more than 100 topics: of those that changed).',
  { ts: UnixUs("The gateway's clock, Unix microseconds."), slotAgeMs: SlotAge, positions: Type.Record(Type.String(), Position) },
);
export const Gap = notice(
  'gap',
  'A notice about the sequence of a topic. With `trimmed`, `lost` and `unwatched`, the frames `from` to `to` cannot be replayed. `reason` says what it means in the other cases.',
  {
    topic: Topic('Topic.'),
    from: Seq,
    to: Nullable(
      Seq,
      '`from` - 1: nothing is missing (`epoch`). Null: the number of missing frames is unknown (`epoch`, `ahead`, `unseen`); accept the next frame with any number.',
    ),
    reason: Type.Enum(['trimmed', 'lost', 'epoch', 'ahead', 'unwatched', 'unseen'], {
      description:
        '`trimmed`: older than the retained history. `unwatched`: no client followed these candles for five minutes, so they were not made, or too many candles were requested (then `to` is null). `lost`: the bus could not deliver the frames. `epoch`: another epoch began; if `to` is null, the end of the history or all of it was lost. `ahead`: the gateway did not reach the position in `since`, because the position belongs to another log, or because this gateway lags; the next frame is `from`. `unseen`: an event in `slots` has no frame, because no node shows it, or ingest had no room to store it until Redis accepted it; no number is missing, and the next frame is `from`.',
    }),
    epoch: Epoch('Epoch of the frames that follow.'),
    slots: Type.Optional(
      Group('Only with `unseen`: the first and the last slot in which something is missing.', { from: Slot(), to: Slot() }),
    ),
    signatures: Type.Optional(
      Type.Array(Signature(), {
        maxItems: 16,
        description: 'Only with `unseen`: up to 16 transactions that are known to be missing. They may belong to other topics.',
      }),
    ),
  },
);
export const Layout = notice(
  'layout',
  'Many events of these venues could not be decoded in the last minutes, because their programs may have changed: events of them may be missing or late. Sent when the list changes; empty: all venues are read again.',
  { venues: Type.Array(Venue, { maxItems: venueNames.length }) },
);
export const Draining = notice('draining', 'The gateway is about to restart; a close with 4012 follows.', {
  reconnectWithinMs: Ms('Reconnect after a random part of this time.'),
});
export const EventFrame = Message('frame', 'One event on one topic.', {
  topic: Topic('Topic.'),
  seq: Seq,
  prev: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Present under a filter, or with `commitment` `confirmed`: the `seq` of the previous frame that passed. Nothing is missing as long as `prev` is not higher than the last `seq` in a frame, a reply or a heartbeat.',
    }),
  ),
  data: Type.Unknown({ description: 'The event.' }),
});

export const replySchemas = {
  authenticated: AuthenticatedReply,
  subscribed: SubscribedReply,
  unsubscribed: UnsubscribedReply,
  subscriptions: SubscriptionsReply,
  pong: PongReply,
  error: ErrorReply,
} as const;
export const noticeSchemas = { heartbeat: Heartbeat, gap: Gap, layout: Layout, draining: Draining } as const;

export type AuthenticatedReply = Static<typeof AuthenticatedReply>;
export type SubscribedReply = Static<typeof SubscribedReply>;
export type UnsubscribedReply = Static<typeof UnsubscribedReply>;
export type SubscriptionsReply = Static<typeof SubscriptionsReply>;
export type PongReply = Static<typeof PongReply>;
export type ErrorReply = Static<typeof ErrorReply>;
export type Heartbeat = Static<typeof Heartbeat>;
export type Gap = Static<typeof Gap>;
export type Layout = Static<typeof Layout>;
export type Draining = Static<typeof Draining>;
export type Reply = AuthenticatedReply | SubscribedReply | UnsubscribedReply | SubscriptionsReply | PongReply | ErrorReply;
export type Notice = Heartbeat | Gap | Layout | Draining;
export type JoinPosition = Static<typeof JoinPosition>;
export type RejectedKey = Static<typeof RejectedKey>;
export type SnapshotFrame = Static<typeof SnapshotFrame>;
