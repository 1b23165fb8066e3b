import type { TSchema } from 'typebox';
import { boundsOf, readablePattern } from '../values/bounds.ts';
import { closeCodes } from '../stream/close-codes.ts';
import { AuthCommand, ListCommand, PingCommand, Position, subscribeSchemas, unsubscribeSchemas } from '../stream/commands.ts';
import { eventSchemas } from '../events/events.ts';
import { filterSchemas } from '../stream/filters.ts';
import { streamLimits } from '../stream/limits.ts';
import { dialectAcks, dialectSchemas } from '../stream/pumpportal.ts';
import { EventFrame, noticeSchemas, replySchemas } from '../stream/replies.ts';
import { channelNames, channels } from '../stream/topics.ts';
import { errorTable, type ErrorCode } from '../../runtime/errors/codes.ts';
import type { SchemaShape } from '../values/values.ts';

const limitMeanings: Readonly<Record<keyof typeof streamLimits, string>> = {
  authTimeoutMs: 'Time for the first message to authenticate (ms)',
  messageBytes: 'Bytes of one message from a client',
  frameBytes: 'Bytes of one message from the gateway, unless it is a single larger event',
  cutMessageBytes: 'Bytes of one message above which the connection is cut without a reply (1006)',
  keysPerCommand: 'Keys in one list of a command',
  sinceTopics: 'Topics in the map `since` of a command',
  lastFrames: 'Frames of the past of each topic that a command requests with `last`',
  listTopics: 'Topics in one page of `list`; fewer if long filters would make it too long',
  subscriptionsPerConnection: 'Topics of one connection',
  snapshotTopics: 'Topics of a command with `snapshot`',
  snapshotEvents: 'Retained events that a command with `snapshot` searches',
  workBurst: 'Work of a connection, burst: bytes of commands and replies',
  workPerSecond: 'Work of a connection, per second',
  keyWorkBurst: 'Work of all connections of one key, burst',
  keyWorkPerSecond: 'Work of all connections of one key, per second',
  unauthenticatedWork: 'Work of a connection that has not authenticated',
  unauthenticatedCommands: 'Commands of such a connection: burst, and per second after it',
  dialectCommands: 'Commands per second of a PumpPortal client, if its plan allows fewer; the gateway queues further ones',
  delayedBytes: 'Bytes of the queued commands of all keys, and as much again of all addresses without a key',
  delayedKeyBytes: 'The same of one key; at most as much as is still free',
  delayedAddressBytes: 'The same of one address without a key; at most as much as is still free',
  commandWork: 'Work of a command in addition to its bytes',
  sinceWork: 'Work of a topic in `since` in addition to its bytes, and of a topic of a command with `last`',
  refusedIdBytes: 'Largest command (bytes) whose `id` is read if it is refused for its rate',
  rateRefusals: 'Refused commands in a row after which the connection is closed',
  filtersPerKeyAndTopic: 'Different filters of one key on one topic of one gateway',
  unauthenticatedConnections: 'Connections of one gateway that have not authenticated',
  keylessConnections: 'Connections of one address without a key (`PUMPPORTAL_KEYLESS`), on one gateway',
  keylessMints: 'Mints of all connections of one address without a key',
  keylessAccounts: 'Accounts of all connections of one address without a key',
  filterValues: 'Values in one list of a filter',
  heartbeatTopics: 'Topics up to which a heartbeat lists all of them',
  heartbeatMs: 'Time between heartbeats (ms)',
  pingAfterMs: 'Silence after which the client is pinged (ms)',
  silentMs: 'Silence after which the client is disconnected (ms)',
  softBufferBytes: 'Bytes waiting for a client above which it is disconnected',
  batchMs: 'Time for which events are collected into a batch (ms)',
  batchPauseMs: 'After a pause of this time in its topic, a batch is sent at once (ms)',
  batchEvents: 'Events of one batch',
};

/**
 * The tables of REFERENCE.md as Markdown, made from the schemas that the gateway checks requests with. The output depends on the schemas
 * only, so a comparison finds a stale document.
 */
export function generateProtocolTables(): string {
  return [
    section('Channels', channelTable()),
    section(
      'Commands',
      messages([AuthCommand, ...Object.values(subscribeSchemas), ...Object.values(unsubscribeSchemas), ListCommand, PingCommand, Position]),
    ),
    section(
      'Filters',
      Object.values(filterSchemas)
        .map((schema) => `**${titleOf(schema)}**\n\n${fieldTable(schema)}`)
        .join('\n\n'),
    ),
    section('Replies', messages(Object.values(replySchemas))),
    section('Frames and notices', messages([EventFrame, ...Object.values(noticeSchemas)])),
    section('Events', messages(Object.values(eventSchemas))),
    section('Error codes', errorTableText()),
    section('Close codes', closeTable()),
    section('Limits', limitTable()),
    section("Answers of PumpPortal's protocol", dialectTable()),
  ].join('\n\n');
}

function section(title: string, text: string): string {
  return `### ${title}\n\n${text}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function titleOf(schema: TSchema): string {
  return `\`${(schema as SchemaShape).title ?? ''}\``;
}

function messages(schemas: readonly TSchema[]): string {
  return schemas
    .map((schema) => {
      const { description } = schema as SchemaShape;
      return `**${titleOf(schema)}**${description === undefined ? '' : `: ${description}`}\n\n${fieldTable(schema)}`;
    })
    .join('\n\n');
}

function fieldTable(schema: TSchema): string {
  const { properties = {}, required = [] } = schema as SchemaShape;
  const rows = Object.entries(properties).map(([name, field]) => [
    `\`${name}\`${required.includes(name) ? '' : ' (optional)'}`,
    typeOf(field),
    descriptionOf(field),
  ]);
  return table(['field', 'type', 'meaning'], rows);
}

/** The type of a value. A schema with a title has a table of its own. */
function typeOf({ documented = {}, ...checked }: SchemaShape): string {
  const schema: SchemaShape = { ...checked, ...documented };
  if (schema.title !== undefined) return schema.title;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(' ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.type === 'array')
    return [`list of ${schema.items === undefined ? 'anything' : typeOf(schema.items)}`, boundsOf(schema)].join(' ').trim();
  if (schema.type === 'object') return objectType(schema);
  const pattern = readablePattern(schema);
  return [schema.type ?? 'anything', boundsOf(schema), pattern === null ? '' : `\`${pattern}\``].filter((part) => part !== '').join(' ');
}

function objectType({ properties, patternProperties }: SchemaShape): string {
  if (properties !== undefined) return `{${Object.keys(properties).join(', ')}}`;
  const [value] = Object.values(patternProperties ?? {});
  return value === undefined ? 'object' : `map to ${typeOf(value)}`;
}

/** The description of a field and of its parts. */
function descriptionOf(schema: SchemaShape): string {
  if (schema.title !== undefined) return '';
  const own = schema.description ?? '';
  const parts = Object.entries(schema.properties ?? {}).flatMap(([name, part]) =>
    part.description === undefined ? [] : [`\`${name}\`: ${part.description}`],
  );
  const alternatives = schema.anyOf?.map(descriptionOf).filter((text) => text !== '' && text !== own) ?? [];
  return [own, ...alternatives, ...parts].filter((text) => text !== '').join(' ');
}

function channelTable(): string {
  const rows = channelNames.map((name) => {
    const channel: { readonly keys: readonly string[]; readonly all?: boolean; readonly interval?: boolean; readonly own?: boolean } =
      channels[name];
    const own = channel.own === true;
    const topics: string[] = own ? [`\`${name}:<key id>\``] : channel.keys.length === 0 || channel.all === true ? [`\`${name}\``] : [];
    if (channel.keys.includes('mints')) topics.push(`\`${name}:<mint>${channel.interval === true ? ':<interval>' : ''}\``);
    if (channel.keys.includes('accounts')) topics.push(`\`${name}:@<account>\``);
    const keys = [...channel.keys, ...(channel.interval === true ? ['interval'] : [])].map((key) => `\`${key}\``).join(', ');
    return [
      `\`${name}\``,
      own ? '– (of this API key)' : keys === '' ? '–' : `${keys}${channel.all === true ? ', or none for all' : ''}`,
      topics.join(', '),
    ];
  });
  return table(['channel', 'keys', 'topics of its frames'], rows);
}

function errorTableText(): string {
  const rows = (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const { status, retryable, message, closeCode } = errorTable[code];
    return [`\`${code}\``, String(status), closeCode === undefined ? '–' : String(closeCode), retryable ? 'yes' : 'no', message];
  });
  return table(['code', 'HTTP status', 'close code', 'retryable', 'meaning'], rows);
}

function closeTable(): string {
  const rows = closeCodes().map(({ code, name, meaning }) => [String(code), `\`${name}\``, code >= 4500 ? 'no' : 'yes', meaning]);
  return table(['code', 'name', 'reconnect', 'meaning'], rows);
}

function limitTable(): string {
  const names = Object.keys(streamLimits) as (keyof typeof streamLimits)[];
  return table(
    ['limit', 'value'],
    names.map((name) => [limitMeanings[name], String(streamLimits[name])]),
  );
}

function dialectTable(): string {
  const acks = Object.entries(dialectAcks).map(([method, text]) => [`\`${method}\``, `\`${JSON.stringify({ message: text })}\``]);
  const objects = [dialectSchemas.create, dialectSchemas.trade, dialectSchemas.migrate].map(
    (schema) => `**${titleOf(schema)}**\n\n${fieldTable(schema)}`,
  );
  return [table(['method', 'answer'], acks), ...objects].join('\n\n');
}
