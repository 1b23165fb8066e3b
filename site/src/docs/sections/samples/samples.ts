import type { Json, JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import type { SampleRequest } from './request.ts';

export interface Sample {
  readonly title: string;
  /** As in the fences of Markdown. */
  readonly language: string;
  readonly text: string;
}

/** Methods of the client libraries by the id of their endpoint. Python writes them with underscores. */
const clientMethods: Readonly<Record<string, string>> = {
  quote: 'quote',
  tradeBuy: 'buy',
  tradeSell: 'sell',
  tradeBatch: 'batch',
  tradeOrder: 'order',
  tradeOrders: 'orders',
  armTrigger: 'triggers.arm',
  trigger: 'triggers.get',
  triggers: 'triggers.list',
  cancelTrigger: 'triggers.cancel',
  cancelTriggers: 'triggers.cancelAll',
  tokenInfo: 'tokenInfo',
  tokenSearch: 'searchTokens',
  tokenCandles: 'candles',
  tokenTrades: 'trades',
  tokenHolders: 'holders',
  portfolio: 'portfolio',
  positions: 'positions',
  explain: 'explain',
};

/** The request in each language: with the client library if it has a method, otherwise with the usual HTTP client. */
export function samplesOf(request: SampleRequest): readonly Sample[] {
  const method = clientMethods[request.id];
  return [
    { title: 'curl', language: 'sh', text: curlOf(request) },
    { title: 'TypeScript', language: 'ts', text: method === undefined ? fetched(request) : typescriptCall(request, method) },
    { title: 'Python', language: 'python', text: method === undefined ? httpx(request) : pythonCall(request, method) },
  ];
}

/** The request as a curl command, with a key if the endpoint requires one. */
export function curlOf({ method, url, needsKey, body, answers }: SampleRequest): string {
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`];
  if (needsKey) parts.push(`-H "Authorization: Bearer $SLUICE_API_KEY"`);
  if (body !== null) parts.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`);
  if (answers === 'bytes') parts.push('-o answer.bin');
  return parts.join(' \\\n  ');
}

/** JSON without quotes around the names of fields. */
const typescriptOf = (value: Json): string => JSON.stringify(value, null, 2).replaceAll(/^( *)"(\w+)":/gm, '$1$2:');

function typescriptCall({ origin, params, query, body }: SampleRequest, method: string): string {
  const options: JsonObject = { ...query, ...body };
  const values = [...params, ...(Object.keys(options).length === 0 ? [] : [options])].map(typescriptOf);
  return `import { Sluice } from '@sluice/client';

const sluice = new Sluice({ url: '${origin}', apiKey: process.env.SLUICE_API_KEY });
console.log(await sluice.${method}(${values.join(', ')}));`;
}

function fetched({ method, url, needsKey, body, answers }: SampleRequest): string {
  const reads = { json: 'await answer.json()', text: 'await answer.text()', bytes: '(await answer.arrayBuffer()).byteLength' };
  const headers = [
    ...(needsKey ? ['Authorization: `Bearer ${process.env.SLUICE_API_KEY}`'] : []),
    ...(body === null ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(body === null ? [] : [`body: JSON.stringify(${typescriptOf(body)})`]),
  ];
  return `const answer = await fetch('${url}'${options.length === 0 ? '' : `, { ${options.join(', ')} }`});
console.log(answer.status, ${reads[answers]});`;
}

const pythonWords: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
/** JSON on lines, where each word that Python writes otherwise ends one. */
const pythonOf = (value: Json): string =>
  JSON.stringify(value, null, 4).replaceAll(/(?<=^|: )(?:true|false|null)(?=,?$)/gm, (word) => pythonWords[word]!);

/** One argument is on the line of the call, several are on a line each. */
function pythonArguments(values: readonly string[]): string {
  if (values.length < 2) return values.join('');
  return `\n${values.map((value) => `    ${value.replaceAll('\n', '\n    ')},\n`).join('')}`;
}

function pythonCall({ origin, params, query, body }: SampleRequest, method: string): string {
  const named = Object.entries({ ...query, ...body }).map(([name, value]) => `${name}=${pythonOf(value)}`);
  const name = method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const call = `answer = await sluice.${name}(${pythonArguments([...params.map(pythonOf), ...named])})`;
  return `import asyncio, os
from sluice_client import Sluice

async def main() -> None:
    async with Sluice("${origin}", os.environ["SLUICE_API_KEY"]) as sluice:
        ${call.replaceAll('\n', '\n        ')}
        print(answer)

asyncio.run(main())`;
}

function httpx({ method, url, needsKey, body, answers }: SampleRequest): string {
  const reads = { json: 'answer.json()', text: 'answer.text', bytes: 'len(answer.content)' };
  const values = [
    `"${url}"`,
    ...(needsKey ? ['headers={"Authorization": f"Bearer {os.environ[\'SLUICE_API_KEY\']}"}'] : []),
    ...(body === null ? [] : [`json=${pythonOf(body)}`]),
  ];
  return `import ${needsKey ? 'os, httpx' : 'httpx'}

answer = httpx.${method.toLowerCase()}(${pythonArguments(values)})
print(answer.status_code, ${reads[answers]})`;
}
