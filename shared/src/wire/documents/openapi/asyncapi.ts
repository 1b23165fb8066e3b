import type { TSchema } from 'typebox';
import { closeCodes } from '../../stream/close-codes.ts';
import { AuthCommand, ListCommand, PingCommand, subscribeSchemas, unsubscribeSchemas } from '../../stream/commands.ts';
import { eventSchemas } from '../../events/events.ts';
import { formats } from '../../stream/frames.ts';
import { streamLimits } from '../../stream/limits.ts';
import { DialectCommand, dialectSchemas } from '../../stream/pumpportal.ts';
import { EventFrame, noticeSchemas, replySchemas } from '../../stream/replies.ts';
import { exampleOf } from './example.ts';
import type { Json, JsonObject } from './json.ts';
import { errorList, securitySchemes, type DocumentOptions, type Recorded } from './openapi.ts';
import { componentName, SchemaBook } from './schema-book.ts';
import { Closed, type SchemaShape } from '../../values/values.ts';

const about = `One WebSocket delivers all events of the token market as they happen. Messages are JSON in text frames, or with \`?format=msgpack\` MessagePack in binary frames. With \`?batch=1\`, every message of the server is an array of messages. No message of the server has more than ${streamLimits.frameBytes} bytes, unless one event alone is longer.

Every command has exactly one reply, with the same \`id\`; a long one is preceded by messages with \`of\`. The \`seq\` of a topic counts up by one with each frame, the same on every gateway. After a frame comes the next one, a \`gap\`, or a close. A client that resumes with \`since\` gets the frames that it missed. A refused handshake is a plain HTTP 400, 401, 403, 429 or 503 with the error body. After a close code from 4000 to 4499, reconnect; after 4500 to 4999, do not. Clients of PumpPortal use the same socket in their own dialect.

The actions in this document are those of the server: it receives commands, and sends replies, frames and notices.`;

type Reply = keyof typeof replySchemas;
const titleOf = (schema: TSchema): string => (schema as SchemaShape).title ?? '';

const commands: readonly { readonly schema: TSchema; readonly reply: Reply }[] = [
  { schema: AuthCommand, reply: 'authenticated' },
  ...Object.values(subscribeSchemas).map((schema) => ({ schema, reply: 'subscribed' as const })),
  ...Object.values(unsubscribeSchemas).map((schema) => ({ schema, reply: 'unsubscribed' as const })),
  { schema: ListCommand, reply: 'subscriptions' },
  { schema: PingCommand, reply: 'pong' },
];

/** The AsyncAPI 3.0 document of the stream. It depends on the schemas only. */
export function asyncApiDocument({ version, recorded }: Pick<DocumentOptions, 'version' | 'recorded'>): JsonObject {
  const book = new SchemaBook();
  const messages = messagesOf(book, recorded?.messages ?? {});
  return {
    asyncapi: '3.0.0',
    info: { title: 'sluice stream', version, description: about, license: { name: 'Apache-2.0' } },
    defaultContentType: 'application/json',
    servers: { plain: server('ws', 'Without TLS: on this machine, or behind a proxy.'), tls: server('wss', 'With TLS.') },
    channels: {
      stream: {
        address: '/api/data',
        title: 'The stream',
        description: 'Also at `/data`.',
        messages: Object.fromEntries(Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }])),
        bindings: { ws: handshake() },
      },
    },
    operations: operations(),
    components: { messages, schemas: book.components, securitySchemes: credentials },
    'x-sluice-errors': errorList(),
    'x-sluice-close-codes': closeCodes().map(({ code, name, meaning }) => ({ code, name, meaning, reconnect: code < 4500 })),
    'x-sluice-limits': { ...streamLimits },
  };
}

const credentials: JsonObject = {
  ...securitySchemes('httpApiKey', 'An API key with the scope `stream`, in the handshake.'),
  ticket: {
    type: 'httpApiKey',
    in: 'query',
    name: 'ticket',
    description:
      'For browsers: a ticket from `POST /api/ws-ticket`, for one connection within 30 s. Alternatively, offer `sluice` and the ticket or the key as subprotocols, or send the command `auth` as the first message.',
  },
};

function server(protocol: 'ws' | 'wss', description: string): JsonObject {
  return {
    host: '{host}',
    protocol,
    description,
    variables: { host: { default: '127.0.0.1:8080', description: 'Host and port of the gateway.' } },
    security: Object.keys(credentials).map((name) => ({ $ref: `#/components/securitySchemes/${name}` })),
  };
}

/** Parameters of the handshake. */
function handshake(): JsonObject {
  return {
    method: 'GET',
    query: {
      type: 'object',
      properties: {
        format: { type: 'string', enum: [...formats], default: 'json', description: 'Format of all messages of the server.' },
        batch: { type: 'string', enum: ['0', '1'], default: '0', description: 'With `1` every message is an array of messages.' },
        compress: {
          type: 'string',
          enum: ['0', '1'],
          default: '0',
          description: 'With `1` messages are compressed (permessage-deflate), if the client offers it and the gateway has room.',
        },
      },
    },
    bindingVersion: '0.1.0',
  };
}

function messagesOf(book: SchemaBook, recorded: Recorded['messages']): JsonObject {
  const messages: Record<string, Json> = {};
  const add = (name: string, schema: TSchema, { title = '', description }: SchemaShape = schema): void => {
    messages[name] = {
      name,
      title,
      ...(description === undefined ? {} : { summary: description }),
      payload: book.of(schema),
      examples: [{ payload: recorded[name] ?? exampleOf(schema) }],
    };
  };
  for (const { schema } of commands) add(componentName(titleOf(schema)), schema);
  for (const [name, schema] of Object.entries(replySchemas)) add(replyName(name), schema);
  for (const [name, schema] of Object.entries(noticeSchemas)) add(name, schema);
  for (const [type, event] of Object.entries(eventSchemas)) {
    const { description = '' } = event as SchemaShape;
    add(frameName(type), Closed({ ...EventFrame.properties, data: event }), { title: `frame with a ${type}`, description });
  }
  add('dialectCommand', DialectCommand);
  for (const [name, schema] of Object.entries(dialectSchemas)) add(dialectName(name), schema);
  return messages;
}

const replyName = (name: string): string => `${name}Reply`;
const frameName = (type: string): string => `${type}Frame`;
const dialectName = (name: string): string => `dialect${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const inChannel = (names: readonly string[]): Json => names.map((name) => ({ $ref: `#/channels/stream/messages/${name}` }));
const channel: JsonObject = { $ref: '#/channels/stream' };

function operations(): JsonObject {
  const received = commands.map(({ schema, reply }): [string, Json] => {
    const name = componentName(titleOf(schema));
    const { description = '' } = schema as SchemaShape;
    return [
      name,
      {
        action: 'receive',
        channel,
        summary: description,
        messages: inChannel([name]),
        reply: { channel, messages: inChannel([replyName(reply), replyName('error')]) },
      },
    ];
  });
  return {
    ...Object.fromEntries(received),
    frames: {
      action: 'send',
      channel,
      summary: 'Events of the topics that the connection follows.',
      messages: inChannel(Object.keys(eventSchemas).map(frameName)),
    },
    notices: {
      action: 'send',
      channel,
      summary: 'Messages that the gateway sends without a command.',
      messages: inChannel(Object.keys(noticeSchemas)),
    },
    dialectCommands: {
      action: 'receive',
      channel,
      summary: "A command of PumpPortal's protocol.",
      messages: inChannel(['dialectCommand']),
      reply: { channel, messages: inChannel([dialectName('message')]) },
    },
    dialectEvents: {
      action: 'send',
      channel,
      summary: "Events of PumpPortal's protocol: bare objects.",
      messages: inChannel(['create', 'trade', 'migrate', 'liquidity'].map(dialectName)),
    },
  };
}
