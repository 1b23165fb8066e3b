import { bracketed, fields, literal, type Notation } from './literal.ts';
import { clientMethods, type SampleRequest } from './request.ts';

const notation: Notation = {
  quote: '"',
  words: { true: 'True', false: 'False', null: 'None' },
  field: (name, value) => `"${name}": ${value}`,
  braces: ['{', '}'],
};
const keywords: Notation = { ...notation, field: (name, value) => `${name}=${value}` };
const indent = '    ';
const reads = { json: 'answer.json()', text: 'answer.text', bytes: 'len(answer.content)' } as const;

/** The request in Python: with the client library if it has a method, otherwise with httpx. */
export function pythonOf(request: SampleRequest): string {
  const method = clientMethods[request.id];
  return method === undefined ? sent(request) : called(request, method);
}

function called({ origin, params, query, body }: SampleRequest, method: string): string {
  const values = [...params.map((value) => literal(value, notation)), ...fields({ ...query, ...body }, keywords)];
  const name = method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const call = `answer = ${bracketed(`await sluice.${name}(`, values, ')', indent)}`;
  return `import asyncio, os
from sluice_client import Sluice

async def main() -> None:
    async with Sluice("${origin}", os.environ["SLUICE_API_KEY"]) as sluice:
        ${call.replaceAll('\n', `\n${indent}${indent}`)}
        print(answer)

asyncio.run(main())`;
}

function sent({ method, url, needsKey, body, answers }: SampleRequest): string {
  const values = [
    `"${url}"`,
    ...(needsKey ? ['headers={"Authorization": f"Bearer {os.environ[\'SLUICE_API_KEY\']}"}'] : []),
    ...(body === null ? [] : [`json=${bracketed('{', fields(body, notation), '}', indent)}`]),
  ];
  return `import ${needsKey ? 'os, httpx' : 'httpx'}

answer = ${bracketed(`httpx.${method.toLowerCase()}(`, values, ')', indent)}
print(answer.status_code, ${reads[answers]})`;
}
