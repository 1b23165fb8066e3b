import { errorTable, type ErrorCode } from '@sluice/shared/wire/errors.ts';
import { fieldTable, nameOf, typeOf } from './fields.ts';
import { localUrl } from '../text/local-url.ts';
import { blocks, code, codeBlock, prose, table } from '../text/markdown.ts';
import { sampleRequest } from './samples/request.ts';
import { samplesOf } from './samples/samples.ts';
import type { ShownEndpoint } from './shown-endpoint.ts';

export const errorCodes = Object.keys(errorTable) as ErrorCode[];
const noun: Readonly<Record<string, string>> = { open: 'open to all', key: 'any API key' };

/** An endpoint as Markdown. A comment marks where the page has its form. */
export function endpointSection(endpoint: ShownEndpoint): string {
  const { id, method, paths, operation } = endpoint;
  const { summary, description = '', responses, requestBody, 'x-sluice-access': access, 'x-sluice-deprecation': deprecation } = operation;
  const [[type, { schema, example }] = ['', { schema: {} }]] = Object.entries(responses['200']!.content);
  const codes = Object.values(responses).flatMap((response) => response['x-sluice-codes'] ?? []);
  const facts = [
    `Access: ${noun[access] ?? `API key with the scope ${code(access)}`}`,
    ...(access === 'open' ? [] : [`Plans: ${operation['x-sluice-plans'].join(', ') || 'none'}`]),
    ...paths.slice(1).map((path) => `Also at ${code(path)}`),
  ];
  const successor = deprecation?.successor == null ? '' : ` Use ${code(deprecation.successor)}.`;
  const body = requestBody?.content['application/json'].schema;
  return blocks(
    `## ${method} ${code(paths[0]!)} <!-- #${id} -->`,
    deprecation === undefined ? '' : `**Deprecated; works until ${deprecation.sunset}.**${successor}`,
    prose(summary),
    prose(description),
    facts.map((fact) => `- ${fact}`).join('\n'),
    titled('Parameters', parameterTable(endpoint)),
    titled('Body', body === undefined ? '' : blocks(body.properties === undefined ? typeOf(body) : '', fieldTable(body))),
    '### Example',
    ...samplesOf(sampleRequest(endpoint, localUrl)).map(({ title, language, text }) =>
      codeBlock(`${language} sample ${id} ${title}`, text),
    ),
    `<!-- try ${id} -->`,
    '### Answer',
    `200, ${code(type)}${type === 'application/json' ? `: ${typeOf(schema)}` : ''}`,
    fieldTable(schema),
    example === undefined ? '' : codeBlock('json recorded', JSON.stringify(example, null, 1)),
    '### Errors',
    errorRows(errorCodes.filter((name) => codes.includes(name))),
  );
}

const titled = (title: string, text: string): string => (text === '' ? '' : `### ${title}\n\n${text}`);

export function errorRows(codes: readonly ErrorCode[]): string {
  const rows = codes.map((name) => {
    const { status, retryable, message, closeCode } = errorTable[name];
    return [String(status), code(name), retryable ? 'yes' : 'no', String(closeCode ?? '–'), prose(message)];
  });
  return table(['status', 'code', 'retryable', 'close code', 'meaning'], rows);
}

function parameterTable({ operation }: ShownEndpoint): string {
  const rows = operation.parameters.map(({ name, in: place, required, schema, description = '' }) => [
    nameOf(name, required),
    place,
    typeOf(schema),
    prose(description),
  ]);
  return table(['parameter', 'in', 'type', 'meaning'], rows);
}
