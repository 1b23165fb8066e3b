import { Type, type Static, type TProperties } from 'typebox';
import { filterSchemas } from './filters.ts';
import { candleIntervalNames } from '../values/intervals.ts';
import { streamLimits } from './limits.ts';
import type { Channel } from './topics.ts';
import { addressPattern, ApiKey, Message, Titled, topicPattern } from '../values/values.ts';

export const CommandId = Type.Union(
  [Type.String({ maxLength: 128 }), Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()],
  {
    description:
      'Chosen by the client; the reply has the same `id`. A number must be an integer of at most 53 bits, because larger ones cannot be returned exactly. If it is null or absent, the reply has null.',
  },
);
export type CommandId = Static<typeof CommandId>;

export const Position = Titled('position', {
  epoch: Type.String({
    maxLength: 128,
    description: 'The epoch in which `seq` counts. A new epoch begins when Redis restarts or a replica takes over.',
  }),
  seq: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1, description: 'Number of the last frame of the topic.' }),
  recovered: Type.Optional(
    Type.Boolean({ description: 'Ignored. It is allowed so that a position from a reply can be sent back unchanged.' }),
  ),
});
export type Position = Static<typeof Position>;

const Since = Type.Union([Position, Type.Record(Type.String(), Position, { maxProperties: streamLimits.sinceTopics })], {
  description:
    'The last position that the client knows: one position if the command has one topic, or a map from topic to position. A topic that is not in the command is refused. Later frames are sent before live frames.',
});
export type Since = Position | Record<string, Position>;

const Keys = (what: string) =>
  Type.Array(Type.String({ maxLength: 256, documented: { pattern: addressPattern, maxLength: 44 } }), {
    minItems: 1,
    maxItems: streamLimits.keysPerCommand,
    description: what,
  });
const mints = Keys('Mints, base58. One of another form is listed in `rejected`.');
const accounts = Keys('Wallets whose trades are requested, base58. One of another form is listed in `rejected`.');

const programs = Keys('Programs whose records are requested, base58. One of another form is listed in `rejected`.');

const Interval = Type.Enum([...candleIntervalNames], { description: 'Length of a candle.' });

const subscribeCommon = {
  id: Type.Optional(CommandId),
  op: Type.Literal('subscribe'),
  since: Type.Optional(Since),
  last: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: streamLimits.lastFrames,
      description:
        'Begin with the newest retained frames of each topic, at most this many, before a filter. If fewer are retained, the subscription begins with those, without a `gap`. It does not apply to topics in `since`.',
    }),
  ),
  snapshot: Type.Optional(Type.Boolean({ description: 'The reply carries the newest retained event of each topic.' })),
} as const;
const commitment = Type.Optional(
  Type.Enum(['processed', 'confirmed'], {
    description:
      '`processed` (default): every event at once, followed by `retract` if its fork dies. `confirmed`: each event once its confirmed block has it, 150 to 300 ms later, with `prev`; none is ever retracted.',
  }),
);
const subscribe = <C extends Channel, T extends TProperties>(channel: C, description: string, fields: T) =>
  Message(`subscribe ${channel}`, description, { ...subscribeCommon, channel: Type.Literal(channel), ...fields });
const unsubscribe = <C extends Channel, T extends TProperties>(channel: C, description: string, fields: T) => {
  const common = { id: Type.Optional(CommandId), op: Type.Literal('unsubscribe'), channel: Type.Literal(channel) };
  return Message(`unsubscribe ${channel}`, description, { ...common, ...fields });
};
const ofTheWhole = 'Unsubscribes from the channel.';

export const subscribeSchemas = {
  newTokens: subscribe('newTokens', 'Creations of tokens.', { commitment, filter: Type.Optional(filterSchemas.newTokens) }),
  migrations: subscribe('migrations', 'Completed curves that moved to a pool.', {
    commitment,
    filter: Type.Optional(filterSchemas.migrations),
  }),
  trades: subscribe('trades', 'Trades of mints, of accounts, or of both; without them, all trades.', {
    mints: Type.Optional(mints),
    accounts: Type.Optional(accounts),
    commitment,
    filter: Type.Optional(filterSchemas.trades),
  }),
  prices: subscribe('prices', 'Price ticks of mints.', { mints, commitment, filter: Type.Optional(filterSchemas.prices) }),
  candles: subscribe('candles', 'Candles of mints: the open candle after trades, at most twice a second, and each candle when it closes.', {
    mints,
    interval: Interval,
  }),
  pools: subscribe('pools', 'New pools, and liquidity that comes and goes, of mints; without them, of all.', {
    mints: Type.Optional(mints),
    commitment,
    filter: Type.Optional(filterSchemas.pools),
  }),
  programs: subscribe('programs', 'Events, instructions and accounts of programs with an IDL in `IDL_DIR`, once they are confirmed.', {
    programs,
    filter: Type.Optional(filterSchemas.programs),
  }),
  orders: subscribe('orders', 'Changes of the orders of this API key, when they are stored.', {}),
} as const satisfies Record<Channel, unknown>;

export const unsubscribeSchemas = {
  newTokens: unsubscribe('newTokens', ofTheWhole, {}),
  migrations: unsubscribe('migrations', ofTheWhole, {}),
  trades: unsubscribe('trades', 'Unsubscribes from these mints and accounts; without them, from the whole channel.', {
    mints: Type.Optional(mints),
    accounts: Type.Optional(accounts),
  }),
  prices: unsubscribe('prices', 'Unsubscribes from these mints; without them, from the whole channel.', { mints: Type.Optional(mints) }),
  candles: unsubscribe(
    'candles',
    'Unsubscribes from these mints at this interval; without mints, from all; without an interval, at all intervals.',
    { mints: Type.Optional(mints), interval: Type.Optional(Interval) },
  ),
  pools: unsubscribe('pools', 'Unsubscribes from these mints; without them, from the whole channel.', { mints: Type.Optional(mints) }),
  programs: unsubscribe('programs', 'Unsubscribes from these programs; without them, from the whole channel.', {
    programs: Type.Optional(programs),
  }),
  orders: unsubscribe('orders', ofTheWhole, {}),
} as const satisfies Record<Channel, unknown>;

export const AuthCommand = Message('auth', 'Authenticates the connection, if the handshake did not.', {
  id: Type.Optional(CommandId),
  op: Type.Literal('auth'),
  key: ApiKey('API key.'),
});
export const PingCommand = Message('ping', 'Answered with `pong`.', { id: Type.Optional(CommandId), op: Type.Literal('ping') });
export const ListCommand = Message('list', 'Returns the subscriptions of this connection, one page at a time.', {
  id: Type.Optional(CommandId),
  op: Type.Literal('list'),
  after: Type.Optional(
    Type.String({
      maxLength: 128,
      documented: { pattern: topicPattern },
      description: '`next` of the previous page. Absent: the first page.',
    }),
  ),
});

export type AuthCommand = Static<typeof AuthCommand>;
export type PingCommand = Static<typeof PingCommand>;
export type ListCommand = Static<typeof ListCommand>;
export type SubscribeCommand = Static<(typeof subscribeSchemas)[Channel]>;
export type UnsubscribeCommand = Static<(typeof unsubscribeSchemas)[Channel]>;

export const ops = ['auth', 'subscribe', 'unsubscribe', 'list', 'ping'] as const;
export type Op = (typeof ops)[number];
