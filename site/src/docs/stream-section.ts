import type { Json, JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { fieldTable, schemaLink } from './fields.ts';
import { codeBlock, html, inline, nothing, prose, table, type Html } from './html.ts';
import { at, words } from './json-at.ts';

interface Operation {
  readonly name: string;
  readonly summary: string;
  readonly messages: readonly string[];
  readonly replies: readonly string[];
}

/** The section about the stream: how to connect, commands, replies, frames, close codes, limits. */
export function streamSection(asyncApi: JsonObject): Html {
  const operations = operationsOf(asyncApi);
  const commands = operations.filter(({ replies }) => replies.length > 0);
  const sent = operations.filter(({ replies }) => replies.length === 0);
  return html`<section id="stream">
    <p><span class="method">WS</span> <code>${words(at(asyncApi, 'channels', 'stream', 'address'))}</code></p>
    ${prose(words(at(asyncApi, 'info', 'description')))}
    <h2 id="stream-connect">Connecting</h2>
    ${credentials(asyncApi)}${fieldTable(at(asyncApi, 'channels', 'stream', 'bindings', 'ws', 'query') as JsonObject)}
    <div data-console="${JSON.stringify(commandExamples(asyncApi, commands))}"></div>
    <h2 id="stream-commands">Commands</h2>
    ${commands.map((one) => operationSection(asyncApi, one))}
    <h2 id="stream-frames">What the gateway sends</h2>
    ${sent.map((one) => operationSection(asyncApi, one))}
    <h2 id="stream-closes">Close codes</h2>
    ${closeTable(asyncApi)}
    <h2 id="stream-limits">Limits</h2>
    ${limitTable(asyncApi)}
  </section>`;
}

function operationsOf(asyncApi: JsonObject): Operation[] {
  const names = (messages: Json | undefined): string[] =>
    ((messages ?? []) as readonly JsonObject[]).map(({ $ref }) => words($ref).split('/').at(-1)!);
  return Object.entries(asyncApi['operations'] as Record<string, JsonObject>).map(([name, operation]) => ({
    name,
    summary: words(operation['summary']),
    messages: names(operation['messages']),
    replies: names(at(operation, 'reply', 'messages')),
  }));
}

/** Commands for the live console. It sends `auth` itself. */
function commandExamples(asyncApi: JsonObject, commands: readonly Operation[]): JsonObject[] {
  return commands
    .flatMap(({ messages }) => messages.filter((message) => message !== 'auth'))
    .map((message) => {
      const { title, examples } = at(asyncApi, 'components', 'messages', message) as JsonObject;
      const [example] = examples as readonly JsonObject[];
      return { title: title === 'method' ? 'PumpPortal' : title!, text: JSON.stringify(example!['payload']) };
    });
}

function operationSection(asyncApi: JsonObject, { name, summary, messages, replies }: Operation): Html {
  const shown = messages.map((message) => {
    const { payload, examples, summary: about, title } = at(asyncApi, 'components', 'messages', message) as JsonObject;
    const reference = at(payload, '$ref');
    const [example] = examples as readonly JsonObject[];
    const note = about === undefined || about === summary ? nothing : html`<p>${inline(words(about))}</p>`;
    const what = typeof reference === 'string' ? html`<p>${schemaLink(reference)}</p>` : fieldTable(payload as JsonObject);
    const code = codeBlock('json', JSON.stringify(example!['payload'], null, 1));
    return html`<h4>${words(title)}</h4>
      ${note}${what} ${replies.length > 0 ? code : html`<div class="recorded">${code}</div>`}`;
  });
  const answers =
    replies.length === 0
      ? nothing
      : html`<p>Answered with ${replies.map((reply) => html`<code>${reply.replace(/Reply$/, '')}</code> `)}</p>`;
  return html`<section id="operation-${name}">
    <h3>${name}</h3>
    <p>${inline(summary)}</p>
    ${answers}${shown}
  </section>`;
}

function credentials(asyncApi: JsonObject): Html {
  const schemes = Object.entries(at(asyncApi, 'components', 'securitySchemes') as Record<string, JsonObject>);
  const rows = schemes.map(([name, scheme]) => [credentialForm(name, scheme), inline(words(scheme['description']))]);
  return table(['credential', 'for'], rows);
}

function credentialForm(name: string, scheme: JsonObject): Html {
  if (scheme['type'] === 'http') return html`header <code>Authorization: ${scheme['scheme'] === 'basic' ? 'Basic' : 'Bearer'} …</code>`;
  const given = words(scheme['name'] ?? name);
  return scheme['in'] === 'header' ? html`header <code>${given}: …</code>` : html`query <code>?${given}=…</code>`;
}

function closeTable(asyncApi: JsonObject): Html {
  const rows = (asyncApi['x-sluice-close-codes'] as readonly JsonObject[]).map(({ code, name, reconnect, meaning }) => [
    html`${Number(code)}`,
    html`<code>${words(name)}</code>`,
    html`${reconnect === true ? 'yes' : 'no'}`,
    html`${words(meaning)}`,
  ]);
  return table(['code', 'name', 'reconnect', 'meaning'], rows);
}

function limitTable(asyncApi: JsonObject): Html {
  const rows = Object.entries(asyncApi['x-sluice-limits'] as JsonObject).map(([name, value]) => [
    html`<code>${name}</code>`,
    html`${Number(value)}`,
  ]);
  return table(['limit', 'value'], rows);
}
