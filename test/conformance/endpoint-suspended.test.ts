import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { startScriptedNode, type ScriptedNode } from '../ingest/scripted-node.ts';
import { startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { addressOf } from '../support/events/stream-events.ts';

let liar: Server;
let honest: ScriptedNode;
let server: TestGateway;
afterEach(async () => {
  await server.close();
  await honest.close();
  liar.closeAllConnections();
  liar.close();
});

it('the status shows which endpoint is suspended after an impossible answer, without its address', async () => {
  liar = createServer((request, response) => {
    request.resume().on('end', () => response.end(`{"jsonrpc":"2.0","id":1,"result":${'['.repeat(1_000)}${']'.repeat(1_000)}}`));
  });
  await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve));
  honest = await startScriptedNode();
  const { port } = liar.address() as AddressInfo;
  const httpUrls = [honest.httpUrl, `http://127.0.0.1:${port}/?api-key=secret-of-the-node`];
  server = await startTestGateway({ config: { ...testConfig, rpc: { httpUrls, wsUrls: [] } } });
  server.keys.add('sluice_reader', { scopes: ['read'] });
  const status = async (): Promise<string> => await (await fetch(`http://${server.host}/status`)).text();
  const well = { host: null, impossibleAnswers: 0, suspended: false, suspendedForMs: 0 };
  expect(JSON.parse(await status())).toMatchObject({
    endpoints: [
      { endpoint: 1, ...well },
      { endpoint: 2, ...well },
    ],
  });

  const asked = fetch(`http://${server.host}/quote`, {
    method: 'POST',
    headers: { Authorization: 'Bearer sluice_reader', 'content-type': 'application/json' },
    body: JSON.stringify({ mint: addressOf(1), side: 'buy', amount: 1 }),
  });
  const text = await until('the rest', async () => {
    const now = await status();
    return now.includes('"suspended":true') ? now : undefined;
  });
  const { endpoints } = JSON.parse(text) as { readonly endpoints: readonly { readonly suspendedForMs: number }[] };
  expect(endpoints).toEqual([
    { endpoint: 1, ...well },
    { endpoint: 2, host: null, impossibleAnswers: 1, suspended: true, suspendedForMs: expect.any(Number) as number },
  ]);
  expect(endpoints[1]!.suspendedForMs).toBeGreaterThan(0);
  expect(endpoints[1]!.suspendedForMs).toBeLessThanOrEqual(2_000);
  for (const hidden of ['secret-of-the-node', '127.0.0.1', 'http:']) expect(text).not.toContain(hidden);
  await asked;
});
