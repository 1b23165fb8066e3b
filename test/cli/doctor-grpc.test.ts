import type { Config } from '@sluice/shared/config/config.ts';
import { afterEach, expect, it } from 'vitest';
import { checkChain } from '../../cli/commands/doctor/chain.ts';
import { GrpcNode } from '../support/servers/grpc.ts';
import { slotUpdate, status } from '../support/servers/grpc-updates.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
});

/** A server that reports this slot again and again. */
async function serverAt(slot: number, token: string | null = null): Promise<GrpcNode> {
  const node = await GrpcNode.start();
  node.token = token;
  const timer = setInterval(() => node.send(slotUpdate(slot, slot - 1, status.processed)), 20);
  cleanups.push(() => (clearInterval(timer), node.close()));
  return node;
}

async function lines(urls: readonly string[], token: string | null): Promise<readonly string[]> {
  const config = { rpc: { httpUrls: [], wsUrls: [] }, grpc: { urls, token } } as unknown as Config;
  return (await checkChain(config)).map(({ state, name, detail }) => `${state} ${name}: ${detail}`);
}

it('says that a gRPC source is reached and how far behind it is', async () => {
  const [head, behind] = [await serverAt(200), await serverAt(100)];
  expect(await lines([head.url, behind.url], null)).toEqual([
    'ok grpc 1: slot 200',
    'ok grpc 2: slot 100',
    'warn lag: grpc 2 is 100 slots behind',
    'warn clock: no node reported the time of a block',
  ]);
});

it('says that the token is not accepted, or that nothing answers, and shows no token', async () => {
  const node = await serverAt(1, 'the right token');
  expect(await lines([node.url], 'the right token')).toContain('ok grpc: slot 1');
  const [refused] = await lines([node.url], 'a wrong token');
  expect(refused).toMatch(/^fail grpc: SOLANA_GRPC_TOKEN is not accepted: gRPC status 16/);
  expect(refused).not.toContain('a wrong token');
  expect(await lines(['http://127.0.0.1:1'], null)).toEqual([expect.stringMatching(/^fail grpc: .*ECONNREFUSED/)]);
});
