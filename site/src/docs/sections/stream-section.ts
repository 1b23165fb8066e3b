import type { Json, JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { closeCodes } from '@sluice/shared/wire/stream/close-codes.ts';
import { streamLimitTable } from '@sluice/shared/wire/stream/limits.ts';
import { dialectAcks } from '@sluice/shared/wire/stream/pumpportal.ts';
import { channels } from '@sluice/shared/wire/stream/topics.ts';
import { errorCodes, errorRows } from './endpoint-section.ts';
import { fieldTable, schemaLink, type Schema } from './fields.ts';
import { blocks, code, codeBlock, prose, table } from '../text/markdown.ts';

interface Reference {
  readonly $ref: string;
}

/** The AsyncAPI document, as far as the pages show it. */
export interface StreamDocument {
  readonly info: { readonly description: string };
  readonly channels: { readonly stream: { readonly address: string; readonly bindings: { readonly ws: { readonly query: Schema } } } };
  readonly operations: Readonly<Record<string, Operation>>;
  readonly components: {
    readonly messages: Readonly<Record<string, Message>>;
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, Credential>>;
  };
}

interface Operation {
  readonly summary: string;
  readonly messages: readonly Reference[];
  readonly reply?: { readonly messages: readonly Reference[] };
}

interface Message {
  readonly title: string;
  readonly summary?: string;
  readonly payload: Schema;
  readonly examples: readonly [{ readonly payload: Json }];
}

interface Credential {
  readonly type: string;
  readonly scheme?: string;
  readonly in?: string;
  readonly name?: string;
  readonly description: string;
}

const lastOf = ({ $ref }: Reference): string => $ref.split('/').at(-1)!;

/** The page about the stream: how to connect, channels, commands, replies, frames, close codes, limits. A comment marks the place of the console. */
export function streamPage(document: StreamDocument): string {
  const { address, bindings } = document.channels.stream;
  const operations = Object.entries(document.operations);
  const sections = (are: 'received' | 'sent'): string[] =>
    operations.filter(([, { reply }]) => (reply !== undefined) === (are === 'received')).map((one) => operationSection(document, ...one));
  return blocks(
    '# The stream',
    'Live events over one WebSocket: commands, frames, close codes.',
    `WS ${code(address)}`,
    prose(document.info.description),
    '## Connecting <!-- #stream-connect -->',
    table(['credential', 'for'], Object.entries(document.components.securitySchemes).map(credentialRow)),
    fieldTable(bindings.ws.query),
    '<!-- console -->',
    '## Channels <!-- #stream-channels -->',
    channelTable(),
    '## Commands <!-- #stream-commands -->',
    ...sections('received'),
    '## What the gateway sends <!-- #stream-frames -->',
    ...sections('sent'),
    "## Acknowledgements of PumpPortal's protocol <!-- #stream-acks -->",
    dialectTable(),
    '## Close codes <!-- #stream-closes -->',
    closeTable(),
    '## Limits <!-- #stream-limits -->',
    limitTable(),
  );
}

/** The tables about the stream in REFERENCE.md, which has no examples. `schemas`: the schemas of all messages. */
export function streamReference(document: StreamDocument, schemas: string): string {
  return blocks(
    '### Channels',
    channelTable(),
    '### Frames',
    fieldTable(document.components.messages['tradeFrame']!.payload),
    '### Error codes',
    errorRows(errorCodes),
    '### Close codes',
    closeTable(),
    '### Limits',
    limitTable(),
    "### Acknowledgements of PumpPortal's protocol",
    dialectTable(),
    schemas.replaceAll(/^## (.*) <!-- .* -->$/gm, '### $1'),
  ).replaceAll(/\(\/docs\/schemas#schema-(\w+)\)/g, (_, name: string) => `(#${name.toLowerCase()})`);
}

/** Commands for the live console. It sends `auth` itself. */
export function commandExamples({ operations, components }: StreamDocument): readonly JsonObject[] {
  return Object.values(operations)
    .flatMap(({ messages, reply }) => (reply === undefined ? [] : messages.map(lastOf)))
    .filter((name) => name !== 'auth')
    .map((name) => {
      const { title, examples } = components.messages[name]!;
      return { title: title === 'method' ? 'PumpPortal' : title, text: JSON.stringify(examples[0].payload) };
    });
}

function operationSection({ components }: StreamDocument, name: string, { summary, messages, reply }: Operation): string {
  const replies = (reply?.messages ?? []).map((one) => code(lastOf(one).replace(/Reply$/, '')));
  return blocks(
    `### ${name} <!-- #operation-${name} -->`,
    prose(summary),
    reply === undefined ? '' : `Answered with ${replies.join(' or ')}`,
    ...messages.map((message) => {
      const { title, summary: about = summary, payload, examples } = components.messages[lastOf(message)]!;
      return blocks(
        `#### ${title}`,
        about === summary ? '' : prose(about),
        payload.$ref === undefined ? fieldTable(payload) : schemaLink(payload.$ref),
        codeBlock(reply === undefined ? 'json recorded' : 'json', JSON.stringify(examples[0].payload, null, 1)),
      );
    }),
  );
}

function credentialRow([id, { type, scheme, in: place, name = id, description }]: [string, Credential]): string[] {
  const form = place === 'header' ? `header ${code(`${name}: …`)}` : `query ${code(`?${name}=…`)}`;
  return [type === 'http' ? `header ${code(`Authorization: ${scheme === 'basic' ? 'Basic' : 'Bearer'} …`)}` : form, prose(description)];
}

function channelTable(): string {
  const shown: Readonly<Record<string, { keys: readonly string[]; all?: boolean; interval?: boolean; own?: boolean }>> = channels;
  const rows = Object.entries(shown).map(([name, { keys, all, interval, own }]) => {
    const topics = [
      ...(own === true ? [`${name}:<key id>`] : keys.length === 0 || all === true ? [name] : []),
      ...(keys.includes('mints') ? [`${name}:<mint>${interval === true ? ':<interval>' : ''}`] : []),
      ...(keys.includes('programs') ? [`${name}:<program>`] : []),
      ...(keys.includes('accounts') ? [`${name}:@<account>`] : []),
    ];
    const names = [...keys, ...(interval === true ? ['interval'] : [])].map(code).join(', ');
    const given = own === true ? '– (of this API key)' : names === '' ? '–' : `${names}${all === true ? ', or none for all' : ''}`;
    return [code(name), given, topics.map(code).join(', ')];
  });
  return table(['channel', 'keys', 'topics of its frames'], rows);
}

function closeTable(): string {
  const rows = closeCodes().map(({ code: number, name, meaning }) => [
    String(number),
    code(name),
    number < 4500 ? 'yes' : 'no',
    prose(meaning),
  ]);
  return table(['code', 'name', 'reconnect', 'meaning'], rows);
}

function limitTable(): string {
  const rows = Object.entries(streamLimitTable).map(([name, [value, meaning]]) => [code(name), String(value), prose(meaning)]);
  return table(['limit', 'value', 'meaning'], rows);
}

function dialectTable(): string {
  const rows = Object.entries(dialectAcks).map(([method, message]) => [code(method), message]);
  return table(['method', 'message'], rows);
}
