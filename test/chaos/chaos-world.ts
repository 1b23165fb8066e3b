import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodedVenueNames, venuesByLogs } from '@sluice/shared/wire/venues.ts';
import type { Chain } from '../simnet/chain.ts';
import { createChain } from '../simnet/sim-chain.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { until } from '../support/gateway.ts';
import { happenedIn } from '../support/events/chain-events.ts';
import { makeKey, openEmbeddedStore } from '../support/keys.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { GrpcNode } from '../support/servers/grpc.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import type { Emitted } from './judge.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

const ingestCount = 2;
const gatewayCount = 2;
/** Nodes that each ingest process reads. */
const endpointCount = 2;
const readyWithinMs = 60_000;
const slotMs = 100;
/** More than three minutes of transactions, so that a slow process on a busy machine still finds what it missed, as on real nodes. */
const history = { transactions: 50_000, blocks: 20_000 };
/** The setting `SOURCES` of the ingest processes; empty: the default. */
const sources = process.env['SOURCES'] ?? '';
const reads = (source: string): boolean => sources.split(',').includes(source);
const topics = { trade: 'trades', newToken: 'newTokens', migration: 'migrations' } as const;

/** One process that is killed and started again, with its links. */
export interface Part {
  readonly name: string;
  /** The link to Redis. */
  readonly redis: TcpProxy;
  /** The links to the nodes, also by gRPC; none for a gateway. */
  readonly nodes: readonly TcpProxy[];
  /** The link from the clients; null for an ingest process. */
  readonly clients: TcpProxy | null;
  /** Sends SIGKILL, and starts it again. Resolves when it works again. */
  readonly crash: () => Promise<void>;
  readonly pause: () => void;
  readonly resume: () => void;
}

/** A chain, a Redis, two ingest processes and two gateways, with a proxy on every link between them. */
export interface ChaosWorld {
  readonly simnet: Simnet;
  readonly redis: TestRedis;
  readonly ingests: readonly Part[];
  readonly gateways: readonly Part[];
  readonly apiKey: string;
  /** What the chain has emitted and not retracted: topic to `<type> <id>`, and when (as `performance.now()`). */
  readonly emitted: Emitted;
  /** Traders stop until the returned function is called. Slots continue, so that everything that happened is confirmed. */
  readonly rest: () => () => void;
  /** What each process logged since its last start and before it, as far as it is stored. */
  readonly journal: () => readonly string[];
  /** One sentence for each process that ended by itself while it worked. */
  readonly deaths: readonly string[];
  /** Resolves when both ingest processes are subscribed at both of their nodes, and at both of their gRPC nodes if there are any. */
  readonly sighted: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface ChaosWorldOptions {
  readonly seed: string;
  readonly tradesPerSecond: number;
  /** `REDIS_URL` of a part, by its name, if it is not the world's own Redis. */
  readonly redisUrlOf?: (part: string) => string;
}

/** Names of all parts, the arguments of `redisUrlOf`. */
export const partNames: readonly string[] = [...namesOf('ingest', ingestCount), ...namesOf('gateway', gatewayCount)];

function namesOf(kind: 'ingest' | 'gateway', count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${kind} ${at}`);
}

type Closers = (() => unknown)[];

interface Program {
  readonly path: string;
  readonly ready: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs one program. If it ends before it works (for example because Redis is unavailable), it is started again. */
class Process {
  readonly #folder: string;
  readonly #program: Program;
  readonly #onReady: (line: Readonly<Record<string, unknown>>) => void;
  readonly #onDeath: (what: string) => void;
  #running: RunningProgram | null = null;
  #shouldRun = true;
  readonly #logs: RunningProgram['log'][] = [];

  constructor(
    folder: string,
    program: Program,
    onReady: (line: Readonly<Record<string, unknown>>) => void,
    onDeath: (what: string) => void,
  ) {
    this.#folder = folder;
    this.#program = program;
    this.#onReady = onReady;
    this.#onDeath = onDeath;
  }

  async start(): Promise<void> {
    const { path, ready, env } = this.#program;
    const endMs = performance.now() + readyWithinMs;
    for (;;) {
      const running = runProgram(path, { folder: this.#folder, env });
      this.#running = running;
      this.#logs.push(running.log);
      const line = await running.logged(ready, endMs - performance.now()).catch((error: unknown) => {
        running.child.kill('SIGKILL');
        if (performance.now() > endMs) throw error;
        return null;
      });
      if (!this.#shouldRun) return;
      if (line === null) continue;
      this.#onReady(line);
      running.child.once('exit', (code, signal) => {
        if (this.#running === running && this.#shouldRun)
          this.#onDeath(`${path} ended with ${code ?? signal}: ${JSON.stringify(running.log.slice(-5))}`);
      });
      return;
    }
  }

  async crash(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    running?.child.kill('SIGKILL');
    await this.start();
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#running?.child.kill(name);
  }

  /** Everything that it logged, one start after the other. */
  journal(): string[] {
    return this.#logs.flatMap((lines) => lines.map((line) => JSON.stringify(line)));
  }

  end(): void {
    this.#shouldRun = false;
    this.#running?.child.kill('SIGKILL');
  }
}

async function openPart(
  name: string,
  { redis, redisUrlOf, simnet, grpc, folder, env, deaths, closers }: Common,
  kind: 'ingest' | 'gateway',
): Promise<Part & { start(): Promise<void>; journal(): string[] }> {
  const toRedis = await startTcpProxy(redis.port);
  const isIngest = kind === 'ingest';
  const linksTo = (port: number): Promise<TcpProxy[]> => Promise.all(Array.from({ length: endpointCount }, () => startTcpProxy(port)));
  const [nodes, grpcLinks] = [isIngest ? await linksTo(simnet.port) : [], isIngest && grpc !== null ? await linksTo(grpc.port) : []];
  const urlsOf = (links: readonly TcpProxy[]): string => links.map(({ port }) => `http://127.0.0.1:${port}`).join(',');
  const clients = isIngest ? null : await startTcpProxy(1);
  const own: Record<string, string> = { REDIS_URL: redisUrlOf?.(name) ?? `redis://127.0.0.1:${toRedis.port}` };
  if (isIngest) [own['SOLANA_RPC_URL'], own['SOURCES']] = [urlsOf(nodes), sources];
  if (grpcLinks.length > 0) own['SOLANA_GRPC_URL'] = urlsOf(grpcLinks);
  const program: Program = isIngest
    ? { path: 'ingest/src/main.ts', ready: 'ingest_started', env: { ...env, ...own } }
    : { path: 'cli/gateway.ts', ready: 'listening', env: { ...env, ...own } };
  const process = new Process(
    folder,
    program,
    (line) => clients?.target(Number(new URL(String(line['url'])).port)),
    (what) => deaths.push(`${name}: ${what}`),
  );
  closers.push(async () => {
    process.end();
    await Promise.all([toRedis, ...nodes, ...grpcLinks, ...(clients === null ? [] : [clients])].map((proxy) => proxy.close()));
  });
  return {
    name,
    redis: toRedis,
    nodes: [...nodes, ...grpcLinks],
    clients,
    start: () => process.start(),
    journal: () => process.journal(),
    crash: () => process.crash(),
    pause: () => process.signal('SIGSTOP'),
    resume: () => process.signal('SIGCONT'),
  };
}

/** Stores what every block emitted, and removes what a dead block emitted. */
function recordEmitted(chain: Chain, emitted: ReadonlyMap<string, Map<string, number>>): void {
  const undecided = new Map<number, readonly (readonly [topic: string, key: string])[]>();
  chain.listen({
    onFrozen: ({ slot, transactions }) => {
      const events = transactions.flatMap(happenedIn).map(({ id, kind }) => [topics[kind], `${kind} ${id}`] as const);
      for (const [topic, key] of events) emitted.get(topic)!.set(key, performance.now());
      undecided.set(slot, events);
    },
    onDead: (slots) => {
      for (const slot of slots) for (const [topic, key] of undecided.get(slot) ?? []) emitted.get(topic)!.delete(key);
    },
    onFinalized: (slot) => {
      for (const decided of undecided.keys()) if (decided <= slot) undecided.delete(decided);
    },
  });
}

interface Common {
  readonly redis: TestRedis;
  readonly simnet: Simnet;
  /** Follows the same chain; null if `SOURCES` does not name it. */
  readonly grpc: GrpcNode | null;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly deaths: string[];
  readonly closers: Closers;
  readonly redisUrlOf: ChaosWorldOptions['redisUrlOf'];
}

/** Starts all parts; the chain waits for `simnet.chain.start()`. */
export async function openChaosWorld({ seed, tradesPerSecond, redisUrlOf }: ChaosWorldOptions): Promise<ChaosWorld> {
  const closers: Closers = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    return await open();
  } catch (error) {
    await close();
    throw error;
  }

  async function open(): Promise<ChaosWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-chaos-'));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const rests = new Set<symbol>();
    const market = { tradesPerSecond, newTokensPerSecond: 1, completeEverySeconds: 10, isAtRest: () => rests.size > 0 };
    const chain = createChain({ seed, slotMs, market, history });
    const emitted = new Map<string, Map<string, number>>(Object.values(topics).map((topic) => [topic, new Map()]));
    recordEmitted(chain, emitted);
    const simnet = await startSimnet({ chain, autoStart: false, seed });
    closers.push(() => simnet.close());
    const grpc = reads('grpc') ? await GrpcNode.start() : null;
    closers.push(() => grpc?.close());
    const stopFollowing = grpc?.follow(chain);
    closers.push(() => stopFollowing?.());
    const redis = await startRedis({ appendOnly: true });
    closers.push(() => redis.stop());
    const store = await openEmbeddedStore(folder);
    const { key: apiKey } = await makeKey(store, { plan: 'enterprise', scopes: ['stream'] });
    await store.close();
    const deaths: string[] = [];
    const env = {
      DATA_DIR: folder,
      HOST: '127.0.0.1',
      PORT: '0',
      TRADING: 'off',
      LOG_LEVEL: 'info',
    };
    const common = { redis, redisUrlOf, simnet, grpc, folder, env, deaths, closers };
    const parts = (kind: 'ingest' | 'gateway', count: number): ReturnType<typeof openPart>[] =>
      namesOf(kind, count).map((name) => openPart(name, common, kind));
    const ingests = await Promise.all(parts('ingest', ingestCount));
    const gateways = await Promise.all(parts('gateway', gatewayCount));
    await Promise.all([...ingests, ...gateways].map((part) => part.start()));
    const streams = ingestCount * endpointCount;
    const subscriptions = sources === '' || reads('logs') ? streams * (sources === 'logs' ? venuesByLogs : decodedVenueNames).length : 0;
    const sighted = async (): Promise<void> => {
      await until('both ingest processes to see the chain', () => simnet.subscriptions('logs') === subscriptions, readyWithinMs);
      // A call whose connection has died counts until the server notices.
      await until('both ingest processes to subscribe', () => grpc === null || grpc.subscribers >= streams, readyWithinMs);
    };
    await sighted();
    const rest = (): (() => void) => {
      const mine = Symbol('a rest');
      rests.add(mine);
      return () => void rests.delete(mine);
    };
    const journal = (): string[] => [...ingests, ...gateways].flatMap((part) => part.journal().map((line) => `${part.name} ${line}`));
    return { simnet, redis, ingests, gateways, apiKey, emitted, rest, journal, deaths, sighted, close };
  }
}
