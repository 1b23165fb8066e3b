import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../../runtime/log/log.ts';
import { BusError } from '../bus-error.ts';
import { addressOf, connectorBy, electPrimary, OwnerBook, PrimaryBook } from './redis-addresses.ts';
import type { Address, Server, SlotView } from './redis-addresses.ts';
import { liveChannel, redisKeys, epochsOf } from './redis-scripts.ts';

/** If a command gets no byte of an answer for this long, its connection is ended, and the client reconnects. */
const answerTimeoutMs = 5_000;
const connectTimeoutMs = 5_000;
/** The same for questions about a node's role and about the owner of a slot. */
const askTimeoutMs = 1_500;
const backoffFirstMs = 50;
const backoffMaxMs = 1_000;

/** Wait before attempt number `attempt` (from 1). It is random, so that many processes do not reconnect at the same moment. */
export function backoffMs(attempt: number): number {
  const full = Math.min(backoffMaxMs, backoffFirstMs * 2 ** Math.min(attempt - 1, 10));
  return Math.round(full * (0.5 + Math.random() / 2));
}

/**
 * What the addresses are: one server, a primary and its replicas (the primary is used), or the nodes of a cluster. If there are several
 * addresses, the servers report which of the last two it is.
 */
export type Deployment =
  | { readonly kind: 'single'; readonly urls: readonly string[] }
  | { readonly kind: 'replicated'; readonly urls: readonly string[]; readonly primary: number }
  | { readonly kind: 'cluster'; readonly urls: readonly string[] };

/** Asks the servers. Rejects with `UNAVAILABLE` if there are several URLs and none answers, or none is a primary. */
export async function deploymentOf(urls: readonly string[]): Promise<Deployment> {
  if (urls.length === 1) return { kind: 'single', urls };
  const answers = await Promise.allSettled(urls.map(askServer));
  const servers = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : null));
  if (servers.some((server) => server?.isOfCluster === true)) return { kind: 'cluster', urls };
  const primary = electPrimary(servers, null);
  if (primary !== null) return { kind: 'replicated', urls, primary };
  const failure = answers.find((answer) => answer.status === 'rejected');
  if (failure === undefined) throw new BusError('UNAVAILABLE', `None of the Redis servers at ${hostsOf(urls)} is a primary.`);
  throw unreachable(urls, failure.reason as Error);
}

/** Asks one node a few questions. Rejects if they are not all answered within `askTimeoutMs`. */
export async function ask<T>(url: string, { host, port }: Address, question: (client: Redis) => Promise<T>): Promise<T> {
  // The URL is not passed, because its host and port would replace those given here.
  const client = new Redis({
    host,
    port,
    ...loginOf(url),
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    connectionName: 'sluice-ask',
    retryStrategy: () => null,
  });
  let fault: Error | null = null;
  client.on('error', (error: Error) => (fault = error));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${host}:${port} does not answer.`)), askTimeoutMs);
  });
  try {
    return await Promise.race([client.connect().then(() => question(client)), late]);
  } catch (error) {
    throw (fault as Error | null) ?? error;
  } finally {
    clearTimeout(timer);
    client.disconnect();
  }
}

/** Asks one server about itself. */
async function askServer(url: string): Promise<Server & { readonly isOfCluster: boolean }> {
  return ask(url, addressOf(url), async (client) => {
    const info = await client.info();
    const isOfCluster = /^redis_mode:cluster/m.test(info);
    const database = databaseOf(url);
    if (database !== 0 && !isOfCluster) await client.select(database);
    // Another node of a cluster may have the log.
    const epochs = isOfCluster ? '' : ((await client.get(redisKeys.epochs)) ?? '');
    return {
      isOfCluster,
      isPrimary: /^role:master/m.test(info),
      history: /^master_replid:(\w+)/m.exec(info)?.[1] ?? '',
      // The text after the last epoch identifies the memory that writes it.
      epochs: [...epochsOf(epochs.slice(0, Math.max(0, epochs.lastIndexOf(' ')))).keys()],
    };
  });
}

type Range = readonly [first: number, last: number, ...nodes: (readonly [host: string | null, port: number, ...rest: unknown[]])[]];

async function askOwner(url: string, node: Address, channel: string): Promise<SlotView> {
  return ask(url, node, async (client) => {
    const [slot, ranges] = (await Promise.all([client.cluster('KEYSLOT', channel), client.cluster('SLOTS')])) as [number, Range[]];
    // A node that is listed without a host is on the host of the node that was asked.
    const toAddress = ([host, port]: Range[2]): Address => ({ host: host === null || host === '' ? node.host : host, port });
    const range = ranges.find(([first, last]) => first <= slot && slot <= last);
    if (range === undefined) throw new Error(`No node owns the slot of ${channel}.`);
    return { owner: toAddress(range[2] as Range[2]), nodes: ranges.flatMap(([, , ...nodes]) => nodes.map(toAddress)) };
  });
}

/** All nodes of a cluster, according to the first node that answers. */
export async function askNodes(urls: readonly string[]): Promise<readonly Address[]> {
  const views = urls.map((url) => askOwner(url, addressOf(url), liveChannel(0)));
  const nodes = (await Promise.any(views)).nodes.map((node) => [`${node.host}:${node.port}`, node] as const);
  return [...new Map(nodes).values()];
}

/** Connects for commands. Rejects with `UNAVAILABLE`. */
export function connectCommands(deployment: Deployment, role: string, log: Logger): Promise<Redis | Cluster> {
  return open(deployment, role, log, (options, retry) => {
    if (deployment.kind === 'cluster') return cluster(deployment.urls, options, retry);
    const { urls } = deployment;
    if (deployment.kind === 'single') return new Redis(urls[0] as string, options);
    const book = new PrimaryBook(urls, deployment.primary, (at) => askServer(urls[at] as string));
    return new Redis(urls[0] as string, { ...options, Connector: connectorBy(book) });
  });
}

/** Connects for announcements on a channel: in a cluster to the node that owns its slot. Rejects with `UNAVAILABLE`. */
export async function connectLive(deployment: Deployment, channel: string, log: Logger): Promise<Redis> {
  if (deployment.kind !== 'cluster') return (await connectCommands(deployment, 'live', log)) as Redis;
  const [url] = deployment.urls as readonly [string];
  const book = new OwnerBook(deployment.urls, (node) => askOwner(url, node, channel));
  return (await open(deployment, 'live', log, (options) => new Redis(url, { ...options, Connector: connectorBy(book) }))) as Redis;
}

type Retry = (attempt: number) => number | null;

async function open(
  { urls }: Deployment,
  role: string,
  log: Logger,
  make: (options: RedisOptions, retry: Retry) => Redis | Cluster,
): Promise<Redis | Cluster> {
  let started = false;
  // The first connection fails at once, so that a wrong setting prevents the start. A lost connection is retried without end.
  const retry: Retry = (attempt) => (started ? backoffMs(attempt) : null);
  const client = make(
    {
      lazyConnect: true,
      connectionName: `sluice-${role}`,
      connectTimeout: connectTimeoutMs,
      socketTimeout: answerTimeoutMs,
      // Commands that wait when a connection breaks fail at once, and their callers decide what to do. If the client repeated a batch by
      // itself, it could be stored out of order.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      autoResubscribe: false,
      // The former primary is a replica now.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
      retryStrategy: retry,
    },
    retry,
  );
  let lastError: Error | null = null;
  client.on('error', (error: Error) => {
    // While a connection is down, every attempt fails. Only the first failure of a kind is logged.
    if (lastError?.message !== error.message && started) log.warn({ reason: error.message, role }, 'bus_connection_error');
    lastError = error;
  });
  client.on('ready', () => {
    lastError = null;
  });
  // The client does not stop the timer of a lost connection, and the timer would end the next connection.
  client.on('close', () => {
    const timed = client as unknown as { socketTimeoutTimer?: NodeJS.Timeout | undefined };
    clearTimeout(timed.socketTimeoutTimer);
    timed.socketTimeoutTimer = undefined;
  });
  try {
    await client.connect();
  } catch (error) {
    client.disconnect();
    throw unreachable(urls, (lastError as Error | null) ?? (error as Error));
  }
  started = true;
  return client;
}

function cluster(urls: readonly string[], options: RedisOptions, retry: Retry): Cluster {
  const { lazyConnect, retryStrategy: _, enableOfflineQueue: __, reconnectOnError: ___, ...redisOptions } = options;
  return new Cluster([...urls], {
    lazyConnect: lazyConnect ?? true,
    clusterRetryStrategy: retry,
    enableOfflineQueue: false,
    redisOptions: { ...redisOptions, ...loginOf(urls[0] as string) },
  });
}

/** The parts of an address other than host, port and database. */
function loginOf(url: string): RedisOptions {
  const { username, password, protocol } = new URL(url);
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

function unreachable(urls: readonly string[], cause: Error): BusError {
  return new BusError('UNAVAILABLE', `Redis at ${hostsOf(urls)} cannot be reached: ${cause.message}`, cause);
}

/** host:port of each address, without its secrets. */
function hostsOf(urls: readonly string[]): string {
  return urls.map((url) => (URL.canParse(url) ? new URL(url).host : 'a malformed address')).join(', ');
}

/** The database number that an address names. */
export function databaseOf(url: string): number {
  const path = URL.canParse(url) ? new URL(url).pathname.slice(1) : '';
  return /^\d+$/.test(path) ? Number(path) : 0;
}
