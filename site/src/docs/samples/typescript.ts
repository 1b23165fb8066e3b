import { bracketed, fields, literal, type Notation } from './literal.ts';
import { clientMethods, type SampleRequest } from './request.ts';

const notation: Notation = {
  quote: "'",
  words: { true: 'true', false: 'false', null: 'null' },
  field: (name, value) => `${/^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`}: ${value}`,
  braces: ['{ ', ' }'],
};
const indent = '  ';
const reads = { json: 'await answer.json()', text: 'await answer.text()', bytes: '(await answer.arrayBuffer()).byteLength' } as const;

/** The request in TypeScript: with the client library if it has a method, otherwise with `fetch`. */
export function typescriptOf(request: SampleRequest): string {
  const method = clientMethods[request.id];
  return method === undefined ? fetched(request) : called(request, method);
}

function called({ origin, params, query, body }: SampleRequest, method: string): string {
  const values = params.map((value) => literal(value, notation));
  const options = body ?? (Object.keys(query).length > 0 ? query : null);
  const open = `console.log(await sluice.${method}(`;
  const argument = options === null ? '' : bracketed('{ ', fields(options, notation), ' }', indent);
  return `import { Sluice } from '@sluice/client';

const sluice = new Sluice({ url: '${origin}', apiKey: process.env.SLUICE_API_KEY });
${open}${[...values, argument].filter((one) => one !== '').join(', ')}));`;
}

function fetched({ method, url, needsKey, body, answers }: SampleRequest): string {
  const headers = [
    ...(needsKey ? ['Authorization: `Bearer ${process.env.SLUICE_API_KEY}`'] : []),
    ...(body === null ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(body === null ? [] : [`body: JSON.stringify(${bracketed('{ ', fields(body, notation), ' }', indent)})`]),
  ];
  const init = options.length === 0 ? '' : `, ${bracketed('{ ', options, ' }', indent)}`;
  return `const answer = await fetch('${url}'${init});
console.log(answer.status, ${reads[answers]});`;
}
