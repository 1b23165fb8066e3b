import { cleanText } from '@sluice/shared/metadata/clean-text.ts';
import { SchemaBook } from '@sluice/shared/wire/documents/openapi/schema-book.ts';
import { SluiceError, type Sluice } from '@sluice/client';
import { toolFaults, toolInputs } from '@sluice/shared/wire/documents/agent-tools.ts';
import { RpcRefusal, type Handle } from './json-rpc.ts';
import type { Tool } from './tools.ts';

/** Revisions of the protocol that this server speaks; for what it offers they are the same. The newest first. */
const revisions = ['2025-11-25', '2025-06-18', '2024-11-05'] as const;
/** Longest answer of a tool, characters: a model cannot read more. */
const maxAnswerChars = 262_144;

export interface McpServerOptions {
  readonly sluice: Sluice;
  readonly tools: readonly Tool[];
  readonly version: string;
  readonly instructions: string;
}

/** Answers the requests of the Model Context Protocol: tools only. A tool that fails returns a result with `isError`, which the model reads. */
export function mcpServer({ sluice, tools, version, instructions }: McpServerOptions): Handle {
  return async (method, params, signal) => {
    switch (method) {
      case 'initialize': {
        return {
          protocolVersion: revisionFor(params['protocolVersion']),
          capabilities: { tools: {} },
          serverInfo: { name: 'sluice', title: 'sluice', version },
          instructions,
        };
      }
      case 'ping':
        return {};
      case 'tools/list':
        return { tools: tools.map(shownTool) };
      case 'tools/call':
        return await callTool(params, signal);
      default:
        throw new RpcRefusal('unknownMethod', `There is no method ${JSON.stringify(method.slice(0, 64))}.`);
    }
  };

  async function callTool(params: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<object> {
    const tool = tools.find(({ name }) => name === params['name']);
    if (tool === undefined)
      throw new RpcRefusal('wrongParams', `There is no tool of that name. Tools: ${tools.map(({ name }) => name).join(', ')}.`);
    const args = params['arguments'] ?? {};
    const faults = toolFaults(tool.name, args);
    if (faults !== null) {
      return failed(
        `Wrong arguments: ${Object.entries(faults)
          .map(([field, what]) => `${field}: ${what}`)
          .join('; ')}.`,
      );
    }
    try {
      const answer = boundTexts(await tool.call(sluice, args as never, signal));
      const text = JSON.stringify(answer);
      if (text.length > maxAnswerChars)
        return failed(`The answer has ${text.length} characters, more than ${maxAnswerChars}. Ask for fewer rows.`);
      return { content: [{ type: 'text', text }], structuredContent: answer, isError: false };
    } catch (error) {
      if (error instanceof SluiceError) {
        const { code, message, retryable, details, requestId, idempotencyKey } = error;
        return failed(
          JSON.stringify({ error: { code, message, retryable, details }, requestId, ...(idempotencyKey !== null && { idempotencyKey }) }),
        );
      }
      // No gateway has answered: trading is off, no process listens at its URL, or the agent cancelled the call, which may have been sent.
      return failed(error instanceof Error ? error.message : String(error));
    }
  }
}

/** Characters of the texts that creators of tokens choose, by field. A model reads all of them. */
const maxChars: ReadonlyMap<string, number> = new Map([
  ['name', 64],
  ['symbol', 32],
  ['description', 280],
]);
/** Links that creators choose. A shortened link leads to another page, so a link that is too long becomes null. */
const links: ReadonlySet<string> = new Set(['uri', 'image', 'twitter', 'telegram', 'website']);
const maxLinkChars = 256;

/** The answer of a tool with the texts of strangers cleaned and shortened. */
function boundTexts<T>(answer: T): T {
  return bounded(answer, '') as T;
}

function bounded(value: unknown, field: string): unknown {
  if (typeof value === 'string') {
    const max = maxChars.get(field);
    if (max !== undefined) return cleanText(value, max);
    return links.has(field) && value.length > maxLinkChars ? null : value;
  }
  if (Array.isArray(value)) return value.map((each) => bounded(each, field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, bounded(each, name)]));
}

/**
 * The revision 2025-03-26 is not served, because it obliges a server to accept batches. A client that asks for it gets an older one, which it
 * probably has. For any other revision, the client gets the newest one that is not newer than
 * the requested one; if there is none, the newest of all.
 */
function revisionFor(asked: unknown): string {
  return revisions.find((one) => typeof asked === 'string' && one <= asked) ?? revisions[0];
}

function failed(text: string): object {
  return { content: [{ type: 'text', text }], isError: true };
}

function shownTool({ name, title, description, spends }: Tool): object {
  const annotations = { title, readOnlyHint: !spends, destructiveHint: spends, idempotentHint: !spends, openWorldHint: true };
  return { name, title, description, inputSchema: new SchemaBook().of(toolInputs[name]), annotations };
}
