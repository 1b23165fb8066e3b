import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { startMarketGateway, type MarketGateway } from '../support/market-gateway.ts';
import { askOnce, requestBytes } from '../support/clients/raw-http.ts';

/** Clients that disconnect at one time. */
const together = 32;
const key = 'sluice_leaves';

/** How a client disconnects: with a reset, orderly, or with a reset at the first byte of the answer. */
type Way = 'reset' | 'end' | 'first byte';

describe.each(['uws', 'node'] as const)('clients over %s that disconnect', (transport) => {
  let market: MarketGateway;
  beforeAll(async () => {
    market = await startMarketGateway({ seed: 3, slots: 60, transport });
    const plan = { ...defaultPlans.enterprise, requestsPerMinute: 600_000, burst: 100_000 };
    market.server.keys.add(key, { plan, scopes: ['stream', 'read', 'trade'] });
  }, 120_000);
  afterAll(() => market.close());

  function request(spec: EndpointSpec): Buffer {
    // A wallet or mint that was never requested before makes its answer wait for the chain.
    const target = spec.path.replaceAll(/\{\w+\}/g, () => market.mints[0] ?? '');
    const body = spec.method === 'GET' ? undefined : JSON.stringify({ side: 'buy', mint: market.mints[0], amount: 0.5, slippage: 10 });
    const headers = { Authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) };
    return requestBytes({ method: spec.method, target, headers, ...(body === undefined ? {} : { body }) });
  }

  function leave(bytes: Buffer, way: Way): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect(market.server.gateway.port, '127.0.0.1');
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => resolve());
      socket.on('connect', () => {
        if (way === 'end') socket.end(bytes);
        else if (way === 'reset') socket.write(bytes, () => socket.resetAndDestroy());
        else socket.write(bytes);
      });
      socket.on('data', () => (way === 'first byte' ? socket.resetAndDestroy() : undefined));
    });
  }

  it.each(endpoints.map((spec) => [spec.id, spec] as const))('%s survives them at every byte', async (_id, spec) => {
    const bytes = request(spec);
    const cuts = Array.from({ length: bytes.length }, (_, i) => i + 1);
    for (const way of ['reset', 'end'] as const) {
      for (let at = 0; at < cuts.length; at += together) {
        await Promise.all(cuts.slice(at, at + together).map((cut) => leave(bytes.subarray(0, cut), way)));
      }
    }
    await Promise.all(Array.from({ length: together }, () => leave(bytes, 'first byte')));
    const { port } = market.server.gateway;
    expect((await askOnce(port, { method: 'GET', target: '/livez' }))?.status).toBe(200);
  });

  it('leaves no open connection or request', async () => {
    const { port } = market.server.gateway;
    const info = await askOnce(port, {
      method: 'GET',
      target: `/token/info/${market.mints[0]}`,
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(info?.status).toBe(200);
    const status = (await askOnce(port, { method: 'GET', target: '/status' }))?.json() as { stream: { connections: number } };
    expect(status.stream.connections).toBe(0);
  });
});
