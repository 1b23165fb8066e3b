import { on, once } from 'node:events';
import { grpcFaultText } from '@sluice/ingest/sources/grpc/grpc-stream.ts';
import { readUpdate, slotsRequest, subscribePath } from '@sluice/ingest/sources/grpc/messages.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { GrpcCall, GrpcFault } from '@sluice/shared/solana/grpc/call.ts';
import { nodeTextOf } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { createRpc, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { simnetGenesisPrefix } from '@sluice/shared/solana/well-known.ts';
import { WebSocket } from 'ws';
import { fail, ok, reason, tried, warn, type Finding } from './finding.ts';

const timeoutMs = 5_000;
/** A node is reported if it is more slots than this behind the newest one. 15 slots are about 6 s. */
const maxLagSlots = 15;
/** Block times are whole seconds and lag by a few. A larger difference means that the clock is wrong, or that the chain has stopped. */
const maxSkewSeconds = 30;

const noSlot = `the node reported no slot within ${(2 * timeoutMs) / 1000} s`;
/** Status of gRPC: permission denied, unauthenticated. */
const refusals: ReadonlySet<number> = new Set([7, 16]);

/** Clusters by `getGenesisHash`. */
const clusters: Readonly<Record<string, string>> = {
  '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d': 'mainnet-beta',
  EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG: 'devnet',
  '4uhcVJyU9pJkvQyS88uRDiswHXSGkQPq4XDyMQZ7LH1Z': 'testnet',
};

function clusterOf(genesis: string): string {
  return clusters[genesis] ?? (genesis.startsWith(simnetGenesisPrefix) ? 'simnet' : 'an unknown cluster');
}

interface NodeView {
  readonly name: string;
  readonly slot: number;
  /** Null if the interface does not tell it. */
  readonly genesis: string | null;
  readonly skewSeconds: number | null;
  readonly detail: string;
}

/** Asks each node, then compares them: all must belong to one cluster and be near its newest slot. */
export async function checkChain({ rpc, grpc }: Config): Promise<readonly Finding[]> {
  if (rpc === null) return [ok('chain', 'simnet: SOLANA_RPC_URL is not set')];
  const views: NodeView[] = [];
  const ofEach = (kind: string, urls: readonly string[], ask: (name: string, url: string) => Promise<NodeView | Finding>) =>
    urls.map((url, index) => {
      const name = urls.length === 1 ? kind : `${kind} ${index + 1}`;
      return tried(name, async () => {
        const found = await ask(name, url);
        if ('state' in found) return [found];
        views.push(found);
        return [ok(name, `${found.detail}slot ${found.slot}`)];
      });
    });
  const findings = await Promise.all([
    ...ofEach('rpc', rpc.httpUrls, askNode),
    ...ofEach('pubsub', rpc.wsUrls, checkPubSub),
    ...ofEach('grpc', grpc?.urls ?? [], (name, url) => askGrpc(name, { url, token: grpc?.token ?? null })),
  ]);
  return [...findings.flat(), ...compare(views)];
}

async function askNode(name: string, url: string): Promise<NodeView> {
  const rpc = createRpc([url], { timeoutMs });
  await rpc.call('getHealth', []);
  const slot = Number(await rpc.call('getSlot', [{ commitment: 'processed' }]));
  const genesis = String(await rpc.call('getGenesisHash', []));
  const version = (await rpc.call('getVersion', [])) as Readonly<Record<string, unknown>>;
  const detail = `${clusterOf(genesis)}, version ${nodeTextOf(url)(String(version['solana-core']))}, `;
  return { name, slot, genesis, detail, skewSeconds: await clockSkew(rpc) };
}

/** Subscribes to slots with the token, and waits for the first one. */
async function askGrpc(name: string, endpoint: { readonly url: string; readonly token: string | null }): Promise<NodeView> {
  const call = new GrpcCall({ ...endpoint, path: subscribePath });
  const timer = setTimeout(() => call.close(new GrpcFault('ended', noSlot)), 2 * timeoutMs);
  try {
    call.send(slotsRequest);
    for await (const messages of call.messages()) {
      const update = messages.map(readUpdate).find((one) => one !== 'malformed' && one.kind === 'slot');
      if (update !== undefined) return { name, slot: update.slot, genesis: null, detail: '', skewSeconds: null };
    }
    throw new GrpcFault('ended', noSlot);
  } catch (error) {
    const isRefused = error instanceof GrpcFault && error.status !== null && refusals.has(error.status);
    throw new Error(`${isRefused ? 'SOLANA_GRPC_TOKEN is not accepted: ' : ''}${grpcFaultText(error, endpoint)}`, { cause: error });
  } finally {
    clearTimeout(timer);
    call.close();
  }
}

/** This machine's clock minus the chain's, in seconds; null if the node has no block time. */
async function clockSkew(rpc: Rpc): Promise<number | null> {
  try {
    const slot = Number(await rpc.call('getSlot', [{ commitment: 'confirmed' }]));
    const time = await rpc.call('getBlockTime', [slot]);
    return typeof time === 'number' ? Math.round(Date.now() / 1000 - time) : null;
  } catch {
    // Skipped slots have no time, and some nodes do not store times. Another node may have one.
    return null;
  }
}

function compare(views: readonly NodeView[]): readonly Finding[] {
  if (views.length === 0) return [];
  const findings: Finding[] = [];
  const [first, ...others] = views.filter(({ genesis }) => genesis !== null);
  const otherCluster = others.filter(({ genesis }) => genesis !== first!.genesis).map(({ name }) => name);
  if (otherCluster.length > 0) findings.push(fail('chain', `${otherCluster.join(', ')} and ${first!.name} belong to different clusters`));
  const head = Math.max(...views.map((view) => view.slot));
  const behind = views.filter((view) => head - view.slot > maxLagSlots);
  for (const view of behind) findings.push(warn('lag', `${view.name} is ${head - view.slot} slots behind`));
  if (behind.length === 0 && views.length > 1) findings.push(ok('lag', `all nodes are within ${maxLagSlots} slots of the newest one`));
  const skews = views.flatMap((view) => (view.skewSeconds === null ? [] : [view.skewSeconds]));
  if (skews.length === 0) return [...findings, warn('clock', 'no node reported the time of a block')];
  const skew = skews.reduce((best, one) => (Math.abs(one) < Math.abs(best) ? one : best));
  const detail = `this machine is ${Math.abs(skew)} s ${skew < 0 ? 'behind' : 'ahead of'} the newest block`;
  return [
    ...findings,
    Math.abs(skew) > maxSkewSeconds ? warn('clock', `${detail}: the clock is wrong, or the chain has stopped`) : ok('clock', detail),
  ];
}

/** Connects, subscribes to slots and waits for the first one. */
async function checkPubSub(name: string, url: string): Promise<Finding> {
  const startedMs = performance.now();
  const signal = AbortSignal.timeout(2 * timeoutMs);
  const socket = new WebSocket(url, { handshakeTimeout: timeoutMs });
  try {
    await once(socket, 'open', { signal });
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'slotSubscribe', params: [] }));
    for await (const [data] of on(socket, 'message', { signal, close: ['close'] })) {
      const isSlot = data instanceof Buffer && data.includes('slotNotification');
      if (isSlot) return ok(name, `first slot received after ${Math.round(performance.now() - startedMs)} ms`);
    }
    return fail(name, 'the node closed the connection');
  } catch (error) {
    return fail(name, signal.aborted ? noSlot : nodeTextOf(url)(reason(error)));
  } finally {
    socket.on('error', () => undefined).terminate();
  }
}
