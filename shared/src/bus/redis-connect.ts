import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../log/log.ts';
import { BusError } from './bus-error.ts';
import {
  addressOf,
  connectorBy,
  electPrimary,
  OwnerBook,
  PrimaryBook,
  type Address,
  type Server,
  type SlotView,
} from './redis-addresses.ts';
import { liveChannel, redisKeys, epochsOf } from './redis-scripts.ts';

/** A command that gets no byte of an answer for this long ends its connection, and the client reconnects. */
const answerTimeoutMs = 5_000;
const connectTimeoutMs = 5_000;
/** The same for a node that is only asked who it is, or who owns a slot. */
const askTimeoutMs = 1_500;
const backoffFirstMs = 50;
const backoffMaxMs = 1_000;

/** Wait before attempt `attempt` (from 1), jittered so that many processes don't come back in step. */
export function backoffMs(attempt: number): number {
  const full = Math.min(backoffMaxMs, backoffFirstMs * 2 ** Math.min(attempt - 1, 10));
  return Math.round(full * (0.5 + Math.random() / 2));
}

/**
 * How the addresses are meant: one server; a primary and its replicas, of which the primary is used whichever it is; or nodes of
 * one cluster. Of several addresses the servers themselves say which of the two they are.
 */
export type Deployment =
  | { readonly kind: 'single'; readonly urls: readonly string[] }
  | { readonly kind: 'replicated'; readonly urls: readonly string[]; readonly primary: number }
  | { readonly kind: 'cluster'; readonly urls: readonly string[] };

/** Asks the servers. Rejects with `UNAVAILABLE` where none of several answers, or none of them is a primary. */
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

/** A few questions to one node, all of them answered within `askTimeoutMs`. */
export async function ask<T>(url: string, { host, port }: Address, question: (client: Redis) => Promise<T>): Promise<T> {
  // Without the URL: its host and port would count before those given here.
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
    timer = setTimeout(() => reject(new Error(`${host}:${port} gives no answer.`)), askTimeoutMs);
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

/** Has one server say what it is. */
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
      // What follows the last epoch is the memory that writes it.
      epochs: [...epochsOf(epochs.slice(0, Math.max(0, epochs.lastIndexOf(' ')))).keys()],
    };
  });
}

type Range = readonly [first: number, last: number, ...nodes: (readonly [host: string | null, port: number, ...rest: unknown[]])[]];

/** Has one node say who owns the slot of a channel. */
async function askOwner(url: string, node: Address, channel: string): Promise<SlotView> {
  return ask(url, node, async (client) => {
    const [slot, ranges] = (await Promise.all([client.cluster('KEYSLOT', channel), client.cluster('SLOTS')])) as [number, Range[]];
    // A node without a name of its own is the one that was asked, or on the same host.
    const toAddress = ([host, port]: Range[2]): Address => ({ host: host === null || host === '' ? node.host : host, port });
    const range = ranges.find(([first, last]) => first <= slot && slot <= last);
    if (range === undefined) throw new Error(`The slot of ${channel} is nobody's.`);
    return { owner: toAddress(range[2] as Range[2]), nodes: ranges.flatMap(([, , ...nodes]) => nodes.map(toAddress)) };
  });
}

/** All nodes of a cluster, as the first of them that answers knows them. */
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
  // The first connect fails at once, so that a wrong setting stops the start. A lost connection is retried for ever.
  const retry: Retry = (attempt) => (started ? backoffMs(attempt) : null);
  const client = make(
    {
      lazyConnect: true,
      connectionName: `sluice-${role}`,
      connectTimeout: connectTimeoutMs,
      socketTimeout: answerTimeoutMs,
      // What was under way when a connection broke fails at once and is decided upon by its caller: a batch sent twice
      // by the client itself would be stored out of order.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      autoResubscribe: false,
      // What was the primary is a replica now.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
      retryStrategy: retry,
    },
    retry,
  );
  let lastError: Error | null = null;
  client.on('error', (error: Error) => {
    // While a link is down every attempt fails; only the first failure of a kind is logged.
    if (lastError?.message !== error.message && started) log.warn({ reason: error.message, role }, 'bus_connection_error');
    lastError = error;
  });
  client.on('ready', () => {
    lastError = null;
  });
  // The client leaves the timer of the lost connection running, which then ends the next one.
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

/** What an address says beside host, port and database. */
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

/** host:port of each address, without what is secret in it. */
function hostsOf(urls: readonly string[]): string {
  return urls.map((url) => (URL.canParse(url) ? new URL(url).host : 'an address of wrong form')).join(', ');
}

/** The database number that an address names. */
export function databaseOf(url: string): number {
  const path = URL.canParse(url) ? new URL(url).pathname.slice(1) : '';
  return /^\d+$/.test(path) ? Number(path) : 0;
}
