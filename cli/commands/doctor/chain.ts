import type { Config } from '@sluice/shared/config/config.ts';
import { nodeTextOf } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { createRpc, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { simnetGenesisPrefix } from '@sluice/shared/solana/well-known.ts';
import { WebSocket } from 'ws';
import { fail, ok, reason, warn, type Finding } from './finding.ts';

const timeoutMs = 5_000;
/** A node is reported if it is more slots than this behind the newest one. 15 slots are about 6 s. */
const maxLagSlots = 15;
/** Block times are whole seconds and lag by a few. A larger difference means that the clock is wrong, or that the chain has stopped. */
const maxSkewSeconds = 30;

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
  readonly genesis: string;
  readonly version: string;
  readonly skewSeconds: number | null;
}

/** Asks each RPC node, then compares them: all must belong to one cluster and be near its newest slot. */
export async function checkChain(config: Config): Promise<readonly Finding[]> {
  if (config.rpc === null) return [ok('chain', 'simnet: SOLANA_RPC_URL is not set')];
  const { httpUrls, wsUrls } = config.rpc;
  const views: NodeView[] = [];
  const findings = await Promise.all(
    httpUrls.map(async (url, index) => {
      const name = httpUrls.length === 1 ? 'rpc' : `rpc ${index + 1}`;
      try {
        const view = await askNode(name, url);
        views.push(view);
        return ok(name, `${clusterOf(view.genesis)}, version ${view.version}, slot ${view.slot}`);
      } catch (error) {
        return fail(name, reason(error));
      }
    }),
  );
  const sockets = await Promise.all(wsUrls.map((url, index) => checkPubSub(wsUrls.length === 1 ? 'pubsub' : `pubsub ${index + 1}`, url)));
  return [...findings, ...sockets, ...compare(views)];
}

async function askNode(name: string, url: string): Promise<NodeView> {
  const rpc = createRpc([url], { timeoutMs });
  const textOf = nodeTextOf(url);
  await rpc.call('getHealth', []);
  const slot = Number(await rpc.call('getSlot', [{ commitment: 'processed' }]));
  const genesis = String(await rpc.call('getGenesisHash', []));
  const version = (await rpc.call('getVersion', [])) as Readonly<Record<string, unknown>>;
  return { name, slot, genesis, version: textOf(String(version['solana-core'])), skewSeconds: await clockSkew(rpc) };
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
  const [first] = views;
  if (first === undefined) return [];
  const findings: Finding[] = [];
  const otherCluster = views.filter((view) => view.genesis !== first.genesis);
  if (otherCluster.length > 0)
    findings.push(fail('chain', `${otherCluster.map((view) => view.name).join(', ')} and ${first.name} belong to different clusters`));
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
function checkPubSub(name: string, url: string): Promise<Finding> {
  return new Promise((resolve) => {
    const startedMs = performance.now();
    const socket = new WebSocket(url, { handshakeTimeout: timeoutMs });
    const finish = (finding: Finding): void => {
      clearTimeout(timer);
      socket.terminate();
      resolve(finding);
    };
    const timer = setTimeout(() => finish(fail(name, `the node reported no slot within ${(2 * timeoutMs) / 1000} s`)), 2 * timeoutMs);
    socket.on('open', () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'slotSubscribe', params: [] })));
    socket.on('message', (data) => {
      const isSlot = data instanceof Buffer && data.includes('slotNotification');
      if (isSlot) finish(ok(name, `first slot received after ${Math.round(performance.now() - startedMs)} ms`));
    });
    socket.on('error', (error) => finish(fail(name, nodeTextOf(url)(error.message))));
    socket.on('close', () => finish(fail(name, 'the node closed the connection')));
  });
}
