import type { Chain } from './chain.ts';
import { runCommand } from './control/commands.ts';
import { Misbehaving, type SimnetControl } from './control/control.ts';
import type { MarketOptions } from './market/market.ts';
import type { HistoryBounds } from './ledger/history.ts';
import { createOracle, type Oracle } from './oracle.ts';
import { readRecording, type Recording } from './replay/read-recording.ts';
import { createReplayChain, type ReplayReport } from './replay/replay-chain.ts';
import { simnetVersion } from './rpc/context.ts';
import { startRpcServer, type RpcServer, type ServerStats } from './rpc/server.ts';
import type { SubscriptionKind } from './rpc/pubsub/subscription.ts';
import type { SimnetLog } from './rpc/simnet-log.ts';
import { createChain } from './sim-chain.ts';

export type { SimnetControl } from './control/control.ts';
export type { Oracle } from './oracle.ts';

const defaultSeed = 1;
/** A fast replay waits between two blocks while more than this waits for any reader. */
const replayHighWaterBytes = 4 * 1024 * 1024;
/** A replay begins this long after the last subscription of its first reader. */
const subscriberSettleMs = 300;
const pollMs = 10;

export interface SimnetOptions {
  /** 127.0.0.1 where not given. */
  readonly host?: string;
  /** 0, a free port, where not given. */
  readonly port?: number;
  /** The whole world follows from it. */
  readonly seed?: number | string;
  /** What the market does; false for a chain on which nothing happens by itself. */
  readonly market?: MarketOptions | false;
  readonly slotMs?: number;
  /** Blocks and transactions that the chain keeps; `defaultHistoryBounds` where not given. */
  readonly history?: HistoryBounds;
  readonly log?: SimnetLog;
  /** Closes the simnet. */
  readonly signal?: AbortSignal;
  /** Another chain in place of the simulated one; `seed`, `market`, `slotMs` and `history` are then not its. */
  readonly chain?: Chain;
  /** False leaves the chain standing still: `chain.advance()` freezes each slot. */
  readonly autoStart?: boolean;
  /** How long notifications may take at a stretch, in milliseconds, before requests get their turn; endless where not given. */
  readonly turnMs?: number;
  /** Called when a JSON-RPC request begins to be answered, with the `performance.now()` at which its head was read; what it answers, when that is written. */
  readonly onRequest?: (beganAtMs: number) => () => void;
  /** Transactions that the oracle remembers; 20,000 where not given. */
  readonly oracleTransactions?: number;
}

/** One simulated node with its chain. HTTP and PubSub share the port. */
export interface Simnet {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  /** The chain as the node shows it, misbehaviour included. */
  readonly chain: Chain;
  readonly control: SimnetControl;
  /** What truly happened. */
  readonly oracle: Oracle;
  stats(): ServerStats;
  /** Subscriptions of one kind, or all, that are held now. */
  subscriptions(kind?: SubscriptionKind): number;
  close(): Promise<void>;
}

/** A number from a seed of any form, for what is random outside the chain. */
function numericSeed(seed: number | string): number {
  if (typeof seed === 'number') return seed >>> 0;
  let hash = 0;
  for (const char of seed) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) >>> 0;
  return hash;
}

function urlHost(host: string): string {
  const named = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return named.includes(':') ? `[${named}]` : named;
}

interface Running {
  readonly simnet: Simnet;
  readonly server: RpcServer;
}

async function serve(base: Chain, options: SimnetOptions): Promise<Running> {
  const { host = '127.0.0.1', port = 0, seed = defaultSeed, log, signal } = options;
  const oracle = createOracle(base, options.oracleTransactions);
  const misbehaving = new Misbehaving(base, numericSeed(seed));
  const behaviour = misbehaving.behaviour((body) => runCommand(misbehaving, body));
  const given = {
    ...(log && { log }),
    ...(options.history && { blockTransactions: options.history.transactions }),
    ...(options.turnMs && { turnMs: options.turnMs }),
    ...(options.onRequest && { onRequest: options.onRequest }),
  };
  const server = await startRpcServer({ chain: misbehaving.chain, host, port, behaviour, ...given });
  misbehaving.onCut = () => server.cut();
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      base.stop();
      misbehaving.close();
      oracle.close();
      await server.close();
      log?.info({ simulated: true }, 'simnet_closed');
    })();
    return closing;
  };
  signal?.addEventListener('abort', () => void close(), { once: true });
  if (signal?.aborted === true) void close();
  const address = `${urlHost(host)}:${server.port}`;
  const simnet: Simnet = {
    rpcUrl: `http://${address}`,
    wsUrl: `ws://${address}`,
    port: server.port,
    chain: misbehaving.chain,
    control: misbehaving,
    oracle,
    stats: () => server.stats(),
    subscriptions: (kind) => server.subscriptions(kind),
    close,
  };
  log?.info({ simulated: true, rpcUrl: simnet.rpcUrl, wsUrl: simnet.wsUrl, version: simnetVersion, marketSeed: seed }, 'simnet_started');
  return { simnet, server };
}

/** Starts a simulated chain behind a node's JSON-RPC and PubSub. Rejects when the address cannot be listened on. */
export async function startSimnet(options: SimnetOptions = {}): Promise<Simnet> {
  const { seed = defaultSeed, market, slotMs, history } = options;
  const given = { ...(market !== undefined && { market }), ...(slotMs !== undefined && { slotMs }), ...(history && { history }) };
  const chain = options.chain ?? createChain({ seed, ...given });
  const { simnet } = await serve(chain, options);
  if (options.autoStart !== false) chain.start();
  return simnet;
}

export interface ReplayFileOptions {
  /** 1 is the recorded pace; 0 or Infinity as fast as the readers take it. */
  readonly speed: number;
  readonly host?: string;
  readonly port?: number;
  readonly log?: SimnetLog;
  readonly signal?: AbortSignal;
  /** When the replay begins: at the first logs subscription, which is the default, at once, or at `chain.start()`. */
  readonly begin?: 'at-subscription' | 'at-once' | 'at-start';
}

export interface ReplayNode extends Simnet {
  readonly recording: Recording;
  /** Resolves when all was played, or at `close`. */
  readonly finished: Promise<ReplayReport>;
}

async function waitUntil(condition: () => boolean, stopped: () => boolean): Promise<void> {
  while (!stopped() && !condition()) await new Promise((resolve) => setTimeout(resolve, pollMs));
}

/** Waits for logs subscriptions that have not become more for a while, as a reader subscribes to several programs. */
async function waitForSubscriber(server: RpcServer, stopped: () => boolean): Promise<void> {
  let count = 0;
  let sinceMs = performance.now();
  await waitUntil(() => {
    const now = server.subscriptions('logs');
    if (now !== count) {
      count = now;
      sinceMs = performance.now();
    }
    return count > 0 && performance.now() - sinceMs >= subscriberSettleMs;
  }, stopped);
}

/** Plays a recording out on a node of its own. Rejects when the file cannot be read or the address not be listened on. */
export async function replayFile(files: string | readonly string[], options: ReplayFileOptions): Promise<ReplayNode> {
  const recording = await readRecording(...(typeof files === 'string' ? [files] : files));
  const { speed, log } = options;
  let running: Running | null = null;
  let stopped = false;
  const throttle = (): Promise<void> =>
    waitUntil(
      () => (running?.server.bufferedBytes() ?? 0) <= replayHighWaterBytes,
      () => stopped,
    );
  const chain = createReplayChain(recording.records, { speed, throttle });
  running = await serve(chain, { ...options, chain });
  const { simnet, server } = running;
  const finished = chain.finished.then((report) => {
    stopped = true;
    log?.info({ simulated: true, ...report, refused: recording.refused }, 'simnet_replay_finished');
    return report;
  });
  if (recording.refused > 0) log?.warn({ refused: recording.refused, reasons: recording.reasons }, 'simnet_recording_refused');
  const { begin = 'at-subscription' } = options;
  if (begin === 'at-once') chain.start();
  else if (begin === 'at-subscription') void waitForSubscriber(server, () => stopped).then(() => (stopped ? undefined : chain.start()));
  return { ...simnet, recording, finished };
}
