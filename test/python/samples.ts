import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sampleRequest } from '@sluice/site/docs/sections/samples/request.ts';
import { samplesOf } from '@sluice/site/docs/sections/samples/samples.ts';
import { endpointsOf } from '@sluice/site/docs/sections/shown-endpoint.ts';
import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { run } from '../pumpportal/install.ts';

const withinMs = 120_000;
const apiKey = 'sluice_a_key';
const driver = `import json
for sample in json.load(open("samples.json")):
    exec(compile(sample, "sample", "exec"), {"__name__": "__main__"})
`;

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly key: string | null;
  readonly body: unknown;
}

/** Runs the Python sample of each endpoint against a server that records requests. Returns those that differ from the documented request. */
export async function sampleFaults(python: string, folder: string): Promise<readonly string[]> {
  const received: Sent[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const sent = await read(request);
    received.push(sent);
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answerTo(sent)));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const shown = endpointsOf(openApiDocument(endpoints, { version: '1.0.0', plans: [] }));
    const requests = shown.map((endpoint) => sampleRequest(endpoint, origin));
    const samples = requests.map((request) => samplesOf(request).find(({ language }) => language === 'python')!.text);
    writeFileSync(join(folder, 'samples.json'), JSON.stringify(samples));
    const env = { SLUICE_API_KEY: apiKey, NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' };
    const ran = await run(python, ['-c', driver], folder, withinMs, env);
    if (ran.code !== 0) return [ran.output];
    const expected = requests.map(({ method, url, needsKey, body }): Sent => ({
      method,
      path: url.slice(origin.length),
      key: needsKey ? `Bearer ${apiKey}` : null,
      body,
    }));
    return expected.flatMap((one, at) => {
      const [documented, sent] = [one, received[at]].map((each) => JSON.stringify(each));
      return documented === sent ? [] : [`${requests[at]!.id}: sent ${sent}, documented ${documented}`];
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** The fields that the clients check. */
export function answerTo({ path, body }: Pick<Sent, 'path' | 'body'>): object {
  const name = decodeURIComponent(path.split('?')[0]!.split('/').at(-1)!);
  const fields = body as { readonly dryRun?: boolean; readonly orders?: readonly unknown[] } | null;
  const asked = {
    side: name,
    mint: name,
    publicKey: name,
    orderId: fields?.dryRun === true ? null : name,
    triggerId: name,
    signature: name,
    cancelled: 0,
    firing: 0,
    ...fields,
  };
  const lists = { results: fields?.orders ?? [], orders: [], positions: [], triggers: [], candles: [], trades: [], tokens: [] };
  return { ...asked, status: 'submitted', quote: {}, sol: {}, ...lists };
}

async function read(request: IncomingMessage): Promise<Sent> {
  const body = await text(request);
  const { method = '', url = '', headers } = request;
  return { method, path: url, key: headers.authorization ?? null, body: body === '' ? null : (JSON.parse(body) as unknown) };
}
