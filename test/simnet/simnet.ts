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
/** A fast replay pauses between two blocks while more than this waits for any reader. */
const replayHighWaterBytes = 4 * 1024 * 1024;
/** A replay begins this long after the last subscription of its first reader. */
const subscriberSettleMs = 300;
const pollMs = 10;

export interface SimnetOptions {
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** 0 by default: a free port. */
  readonly port?: number;
  /** The whole simulation depends on it. */
  readonly seed?: number | string;
  /** What the market does; false for a chain on which nothing happens by itself. */
  readonly market?: MarketOptions | false;
  readonly slotMs?: number;
  /** How many blocks and transactions the chain stores; `defaultHistoryBounds` by default. */
  readonly history?: HistoryBounds;
  readonly log?: SimnetLog;
  /** Aborting it closes the simnet. */
  readonly signal?: AbortSignal;
  /** Another chain instead of the simulated one. `seed`, `market`, `slotMs` and `history` are then ignored. */
  readonly chain?: Chain;
  /** False: the chain waits, and each `chain.advance()` freezes a slot. */
  readonly autoStart?: boolean;
  /** How long notifications may run, in milliseconds, before requests get a turn; unlimited by default. */
  readonly turnMs?: number;
  /**
   * Called when the answer to a JSON-RPC request begins, with the `performance.now()` at which its head was read. The function that it
   * returns is called when the answer is written.
   */
  readonly onRequest?: (beganAtMs: number) => () => void;
  /** Transactions that the oracle remembers; 20,000 by default. */
  readonly oracleTransactions?: number;
}

/** One simulated node with its chain. HTTP and PubSub share the port. */
export interface Simnet {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  /** The chain as the node reports it, including faults. */
  readonly chain: Chain;
  readonly control: SimnetControl;
  /** What really happened. */
  readonly oracle: Oracle;
  stats(): ServerStats;
  /** Current subscriptions of one kind, or of all kinds. */
  subscriptions(kind?: SubscriptionKind): number;
  close(): Promise<void>;
}

/** A number from a seed of any form, for random behaviour outside the chain. */
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

/** Starts a simulated chain with a node's JSON-RPC and PubSub. Rejects if it cannot listen on the address. */
export async function startSimnet(options: SimnetOptions = {}): Promise<Simnet> {
  const { seed = defaultSeed, market, slotMs, history } = options;
  const given = { ...(market !== undefined && { market }), ...(slotMs !== undefined && { slotMs }), ...(history && { history }) };
  const chain = options.chain ?? createChain({ seed, ...given });
  const { simnet } = await serve(chain, options);
  if (options.autoStart !== false) chain.start();
  return simnet;
}

export interface ReplayFileOptions {
  /** 1 is the recorded pace; 0 or Infinity plays as fast as the readers can receive. */
  readonly speed: number;
  readonly host?: string;
  readonly port?: number;
  readonly log?: SimnetLog;
  readonly signal?: AbortSignal;
  /** When the replay begins: at the first logs subscription (the default), at once, or at `chain.start()`. */
  readonly begin?: 'at-subscription' | 'at-once' | 'at-start';
}

export interface ReplayNode extends Simnet {
  readonly recording: Recording;
  /** Resolves when everything was played, or at `close`. */
  readonly finished: Promise<ReplayReport>;
}

async function waitUntil(condition: () => boolean, stopped: () => boolean): Promise<void> {
  while (!stopped() && !condition()) await new Promise((resolve) => setTimeout(resolve, pollMs));
}

/** Waits until the number of logs subscriptions has not grown for a while, because a reader subscribes to several programs. */
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

/** Plays a recording on a node of its own. Rejects if the file cannot be read or if it cannot listen on the address. */
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
  const chain = createReplayChain(recording.records, { speed, accounts: recording.accounts, throttle });
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
