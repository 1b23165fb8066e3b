import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import type { ShownEndpoint } from '../shown-endpoint.ts';

/** The example request of an endpoint. The samples of all languages are made from it. */
export interface SampleRequest {
  /** Of the endpoint. */
  readonly id: string;
  readonly method: string;
  /** `http://127.0.0.1:8080` */
  readonly origin: string;
  readonly url: string;
  /** Values in the path. */
  readonly params: readonly string[];
  /** Parameters in the query that are required. */
  readonly query: JsonObject;
  readonly needsKey: boolean;
  readonly body: JsonObject | null;
  readonly answers: 'json' | 'text' | 'bytes';
}

/** The request of the endpoint's samples: its example, and only the parameters that are required. What spends is a dry run where there is one. */
export function sampleRequest({ id, method, paths, operation, spends }: ShownEndpoint, origin: string): SampleRequest {
  const { parameters, requestBody, responses } = operation;
  const inPath = parameters.filter((one) => one.in === 'path');
  const inQuery = parameters.filter((one) => one.in === 'query' && one.required);
  const path = inPath.reduce((text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example))), paths.at(-1)!);
  const search = new URLSearchParams(inQuery.map(({ name, example }): [string, string] => [name, String(example)])).toString();
  const body = requestBody?.content['application/json'].example;
  const [type = ''] = Object.keys(responses['200']!.content);
  return {
    id,
    method,
    origin,
    url: `${origin}${path}${search === '' ? '' : `?${search}`}`,
    params: inPath.map(({ example }) => String(example)),
    query: Object.fromEntries(inQuery.map(({ name, example }) => [name, example])),
    needsKey: operation['x-sluice-access'] !== 'open',
    body: body === undefined ? null : { ...body, ...(spends === 'dryRun' && { dryRun: true }) },
    answers: type === 'application/json' ? 'json' : type.startsWith('text/') ? 'text' : 'bytes',
  };
}
