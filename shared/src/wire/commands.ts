import { Type, type Static } from 'typebox';
import { filterSchemas } from './filters.ts';
import { candleIntervalNames } from './intervals.ts';
import { streamLimits } from './limits.ts';
import type { Channel } from './topics.ts';

export const CommandId = Type.Union(
  [Type.String({ maxLength: 128 }), Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()],
  {
    description:
      'Chosen by the client; the reply carries it. A number is an integer of at most 53 bits, as others cannot be given back exactly. Null or absent: the reply carries null.',
  },
);
export type CommandId = Static<typeof CommandId>;

export const Position = Type.Object(
  {
    epoch: Type.String({
      maxLength: 128,
      description: 'The run of numbers that `seq` counts in; a new one begins when Redis starts again or another server takes its place.',
    }),
    seq: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1, description: 'Number of the last frame of the topic.' }),
    recovered: Type.Optional(Type.Boolean({ description: 'Let pass, so that a position of a reply can be sent back as it came.' })),
  },
  { additionalProperties: false, title: 'position' },
);
export type Position = Static<typeof Position>;

const Since = Type.Union([Position, Type.Record(Type.String(), Position, { maxProperties: streamLimits.sinceTopics })], {
  description:
    'Where the client stopped: one position where the command names one topic, or a map from topic to position; a topic that the command does not name is refused. What came after it is sent before live frames.',
});
export type Since = Position | Record<string, Position>;

const Keys = (what: string) =>
  Type.Array(Type.String({ maxLength: 256 }), { minItems: 1, maxItems: streamLimits.keysPerCommand, description: what });
const mints = Keys('Mints, base58.');
const accounts = Keys('Wallets whose trades are requested, base58.');

const Interval = Type.Enum([...candleIntervalNames], { description: 'Length of a candle.' });

const subscribeCommon = {
  id: Type.Optional(CommandId),
  op: Type.Literal('subscribe'),
  since: Type.Optional(Since),
  snapshot: Type.Optional(Type.Boolean({ description: 'The reply carries the newest retained event of each topic.' })),
} as const;
const commitment = Type.Optional(
  Type.Enum(['processed', 'confirmed'], {
    description:
      '`processed`, as where it is left out: every event at once, followed by `retract` where its fork dies. `confirmed`: events come once their slot is confirmed, a second or two later, with `prev`, and none is ever taken back.',
  }),
);
const unsubscribeCommon = { id: Type.Optional(CommandId), op: Type.Literal('unsubscribe') } as const;
const closed = (title: string, description: string) => ({ additionalProperties: false, title, description }) as const;

export const subscribeSchemas = {
  newTokens: Type.Object(
    { ...subscribeCommon, channel: Type.Literal('newTokens'), commitment, filter: Type.Optional(filterSchemas.newTokens) },
    closed('subscribe newTokens', 'Creations of tokens.'),
  ),
  migrations: Type.Object(
    { ...subscribeCommon, channel: Type.Literal('migrations'), commitment, filter: Type.Optional(filterSchemas.migrations) },
    closed('subscribe migrations', 'Completed curves that moved to a pool.'),
  ),
  trades: Type.Object(
    {
      ...subscribeCommon,
      channel: Type.Literal('trades'),
      mints: Type.Optional(mints),
      accounts: Type.Optional(accounts),
      commitment,
      filter: Type.Optional(filterSchemas.trades),
    },
    closed('subscribe trades', 'Trades of mints, of accounts, of both, or (with neither) all.'),
  ),
  prices: Type.Object(
    { ...subscribeCommon, channel: Type.Literal('prices'), mints, commitment, filter: Type.Optional(filterSchemas.prices) },
    closed('subscribe prices', 'Price ticks of mints.'),
  ),
  candles: Type.Object(
    { ...subscribeCommon, channel: Type.Literal('candles'), mints, interval: Interval },
    closed('subscribe candles', 'Candles of mints: the present one as trades come, at most twice a second, and each once it is over.'),
  ),
  orders: Type.Object(
    { ...subscribeCommon, channel: Type.Literal('orders') },
    closed('subscribe orders', "Changes of the orders of the key's own, as they are stored."),
  ),
} as const satisfies Record<Channel, unknown>;

export const unsubscribeSchemas = {
  newTokens: Type.Object(
    { ...unsubscribeCommon, channel: Type.Literal('newTokens') },
    closed('unsubscribe newTokens', 'Ends the channel.'),
  ),
  migrations: Type.Object(
    { ...unsubscribeCommon, channel: Type.Literal('migrations') },
    closed('unsubscribe migrations', 'Ends the channel.'),
  ),
  trades: Type.Object(
    { ...unsubscribeCommon, channel: Type.Literal('trades'), mints: Type.Optional(mints), accounts: Type.Optional(accounts) },
    closed('unsubscribe trades', 'Ends these keys, or without keys the whole channel.'),
  ),
  prices: Type.Object(
    { ...unsubscribeCommon, channel: Type.Literal('prices'), mints: Type.Optional(mints) },
    closed('unsubscribe prices', 'Ends these mints, or without keys the whole channel.'),
  ),
  candles: Type.Object(
    { ...unsubscribeCommon, channel: Type.Literal('candles'), mints: Type.Optional(mints), interval: Type.Optional(Interval) },
    closed('unsubscribe candles', 'Ends these mints (without: all) at this interval (without: at every one).'),
  ),
  orders: Type.Object({ ...unsubscribeCommon, channel: Type.Literal('orders') }, closed('unsubscribe orders', 'Ends the channel.')),
} as const satisfies Record<Channel, unknown>;

export const AuthCommand = Type.Object(
  { id: Type.Optional(CommandId), op: Type.Literal('auth'), key: Type.String({ minLength: 1, maxLength: 512, description: 'API key.' }) },
  closed('auth', 'Authenticates a connection whose handshake did not.'),
);
export const PingCommand = Type.Object({ id: Type.Optional(CommandId), op: Type.Literal('ping') }, closed('ping', 'Answered with `pong`.'));
export const ListCommand = Type.Object(
  {
    id: Type.Optional(CommandId),
    op: Type.Literal('list'),
    after: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'The topic after which to go on: `next` of the page before. Absent: from the beginning.',
      }),
    ),
  },
  closed('list', 'Answered with the subscriptions of this connection, a page at a time.'),
);

export type AuthCommand = Static<typeof AuthCommand>;
export type PingCommand = Static<typeof PingCommand>;
export type ListCommand = Static<typeof ListCommand>;
export type SubscribeCommand = Static<(typeof subscribeSchemas)[Channel]>;
export type UnsubscribeCommand = Static<(typeof unsubscribeSchemas)[Channel]>;

export const ops = ['auth', 'subscribe', 'unsubscribe', 'list', 'ping'] as const;
export type Op = (typeof ops)[number];
