import type { JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { at, words } from '../json-at.ts';
import type { SampleRequest } from './request.ts';
import { idOf, type ShownEndpoint } from '../shown-endpoint.ts';
import { spendsOf } from '../try-form.ts';

/** The request of the endpoint's samples: its example, and only the parameters that are required. What spends is a dry run where there is one. */
export function sampleRequest({ method, paths, operation }: ShownEndpoint, origin: string): SampleRequest {
  const parameters = operation['parameters'] as readonly JsonObject[];
  const inPath = parameters.filter((one) => one['in'] === 'path');
  const inQuery = parameters.filter((one) => one['in'] === 'query' && one['required'] === true);
  const path = inPath.reduce(
    (text, { name, example }) => text.replace(`{${words(name)}}`, encodeURIComponent(words(example))),
    paths.at(-1)!,
  );
  const search = new URLSearchParams(inQuery.map(({ name, example }): [string, string] => [words(name), words(example)])).toString();
  const content = at(operation, 'requestBody', 'content', 'application/json') as JsonObject | undefined;
  const isDryRun = spendsOf(operation) === 'dryRun';
  const [type = ''] = Object.keys(at(operation, 'responses', '200', 'content') as JsonObject);
  return {
    id: idOf(operation),
    method,
    origin,
    url: `${origin}${path}${search === '' ? '' : `?${search}`}`,
    params: inPath.map(({ example }) => words(example)),
    query: Object.fromEntries(inQuery.map(({ name, example }) => [words(name), example!])),
    needsKey: operation['x-sluice-access'] !== 'open',
    body: content === undefined ? null : { ...(content['example'] as JsonObject), ...(isDryRun && { dryRun: true }) },
    answers: type === 'application/json' ? 'json' : type.startsWith('text/') ? 'text' : 'bytes',
  };
}
