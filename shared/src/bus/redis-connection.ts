import { Cluster, Command, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../log/log.ts';
import { BusError, RedisFault } from './bus-error.ts';
import type { Script } from './redis-scripts.ts';

/** A command that gets no byte of an answer for this long ends its connection, which then is made anew. */
const answerTimeoutMs = 5_000;
const connectTimeoutMs = 5_000;
const backoffFirstMs = 50;
const backoffMaxMs = 1_000;

/** Error replies that pass by themselves: Redis starts, fails over, or is out of memory or disk at present. */
const passingReplies = new Set(['LOADING', 'BUSY', 'READONLY', 'OOM', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'MISCONF', 'NOREPLICAS']);

export type Argument = string | number | Buffer;

function faultOf(cause: unknown): RedisFault {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  if (error.name !== 'ReplyError') return new RedisFault('link', '', error);
  const word = error.message.split(' ', 1)[0] as string;
  return new RedisFault(passingReplies.has(word) ? 'passing' : 'refused', word, error);
}

/** Wait before attempt `attempt` (from 1), jittered so that many processes don't come back in step. */
export function backoffMs(attempt: number): number {
  const full = Math.min(backoffMaxMs, backoffFirstMs * 2 ** Math.min(attempt - 1, 10));
  return Math.round(full * (0.5 + Math.random() / 2));
}

/** One connection for commands; it makes itself anew when it is lost. Commands fail at once while it is down. */
export class RedisConnection {
  readonly #client: Redis | Cluster;

  private constructor(client: Redis | Cluster) {
    this.#client = client;
  }

  /** Rejects with `UNAVAILABLE` when Redis cannot be reached, `INCOMPATIBLE` when it is too old. */
  static async open(urls: readonly string[], role: string, log: Logger): Promise<RedisConnection> {
    const client = await connect(urls, role, log);
    const connection = new RedisConnection(client);
    try {
      await checkServer(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  get ready(): boolean {
    return this.#client.status === 'ready';
  }

  /** Calls back each time the connection is there (again); returns how to stop. */
  onReady(listener: () => void): () => void {
    this.#client.on('ready', listener);
    return () => this.#client.off('ready', listener);
  }

  /** Like all commands here: rejects with a `RedisFault`. */
  async text(command: string, ...args: Argument[]): Promise<unknown> {
    try {
      return await this.#client.call(command, args);
    } catch (error) {
      throw faultOf(error);
    }
  }

  /** Strings of the reply are Buffers. */
  async binary(command: string, args: readonly Argument[]): Promise<unknown> {
    try {
      return await this.#client.callBuffer(command, args as Argument[]);
    } catch (error) {
      throw faultOf(error);
    }
  }

  /** Runs a script from Redis' cache, or sends it whole where it is not cached. Strings of the reply are Buffers. */
  async run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    try {
      return await this.binary('evalsha', [script.sha, keys.length, ...keys, ...args]);
    } catch (error) {
      if (!(error instanceof RedisFault) || error.word !== 'NOSCRIPT') throw error;
      return this.binary('eval', [script.text, keys.length, ...keys, ...args]);
    }
  }

  /**
   * `run` for a large last argument that frames itself: the command goes out as one piece of bytes that exists already.
   * (The client would copy all arguments into a new buffer: at full load that doubles the publisher's time.) The bytes
   * must stay as they are until the promise settles.
   */
  async runFramed(script: Script, keys: readonly string[], args: readonly Argument[], last: FramedArgument): Promise<unknown> {
    const head = [script.sha, keys.length, ...keys];
    const frame = last.frame(commandFront('evalsha', [...head, ...args], last.body.length), lineEnd);
    if (frame === null) return this.run(script, keys, [...args, last.body]);
    try {
      return await this.#client.sendCommand(new FramedCommand(head, frame));
    } catch (error) {
      const fault = faultOf(error);
      if (fault.word !== 'NOSCRIPT') throw fault;
      return this.binary('eval', [script.text, keys.length, ...keys, ...args, last.body]);
    }
  }

  close(): void {
    this.#client.disconnect();
  }
}

export interface FramedArgument {
  readonly body: Buffer;
  frame(before: Buffer, after: Buffer): Buffer | null;
}

const lineEnd = Buffer.from('\r\n');

/** A command whose bytes exist already; its arguments are only what a cluster's client routes it by. */
class FramedCommand extends Command {
  readonly #frame: Buffer;

  constructor(head: readonly Argument[], frame: Buffer) {
    super('evalsha', [...head], { replyEncoding: null });
    this.#frame = frame;
  }

  override toWritable(): Buffer {
    return this.#frame;
  }
}

/** A command in Redis' protocol (RESP) up to where the bytes of its last argument, `lastBytes` long, begin. */
function commandFront(name: string, args: readonly Argument[], lastBytes: number): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${args.length + 2}\r\n$${name.length}\r\n${name}\r\n`)];
  for (const arg of args) {
    const bytes = typeof arg === 'object' ? arg : Buffer.from(String(arg));
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, lineEnd);
  }
  parts.push(Buffer.from(`$${lastBytes}\r\n`));
  return Buffer.concat(parts);
}

export interface LiveHandlers {
  onMessage(bytes: Buffer): void;
  /** Subscribed, at first or again: everything announced from now on arrives, until `onDown`. */
  onUp(): void;
  onDown(): void;
}

/** The pub/sub connection of one subscriber. */
export class LiveConnection {
  readonly #client: Redis | Cluster;
  readonly #channel: string;
  readonly #handlers: LiveHandlers;
  readonly #log: Logger;
  #closed = false;

  private constructor(client: Redis | Cluster, channel: string, handlers: LiveHandlers, log: Logger) {
    this.#client = client;
    this.#channel = channel;
    this.#handlers = handlers;
    this.#log = log;
  }

  static async open(urls: readonly string[], channel: string, handlers: LiveHandlers, log: Logger): Promise<LiveConnection> {
    const client = await connect(urls, 'live', log);
    const live = new LiveConnection(client, channel, handlers, log);
    client.on('messageBuffer', (_channel: Buffer, bytes: Buffer) => handlers.onMessage(bytes));
    client.on('close', () => handlers.onDown());
    client.on('ready', () => void live.#subscribe());
    await live.#subscribe();
    return live;
  }

  /** Makes a dead connection show: without an answer in time it is ended and made anew. */
  async ping(): Promise<void> {
    // A cluster's pub/sub connection is watched by the cluster client itself, and cannot be asked.
    if (this.#client instanceof Cluster || this.#client.status !== 'ready') return;
    try {
      await this.#client.ping();
    } catch (error) {
      if (!this.#closed) this.#log.warn({ reason: (error as Error).message }, 'bus_live_no_answer');
    }
  }

  close(): void {
    this.#closed = true;
    this.#client.removeAllListeners('messageBuffer');
    this.#client.disconnect();
  }

  async #subscribe(): Promise<void> {
    try {
      await this.#client.subscribe(this.#channel);
      if (!this.#closed) this.#handlers.onUp();
    } catch (error) {
      if (this.#closed) return;
      this.#log.warn({ reason: (error as Error).message }, 'bus_subscribe_failed');
      // Down again before it was up: the client makes the connection anew, and `ready` comes back here.
      if (this.#client instanceof Redis) this.#client.disconnect(true);
    }
  }
}

async function connect(urls: readonly string[], role: string, log: Logger): Promise<Redis | Cluster> {
  const [first] = urls;
  if (first === undefined) throw new BusError('UNAVAILABLE', 'No address of a Redis is given.');
  let started = false;
  // The first connect fails at once, so that a wrong setting stops the start; a lost one is made anew for ever.
  const retry = (attempt: number): number | null => (started ? backoffMs(attempt) : null);
  const options: RedisOptions = {
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
    retryStrategy: retry,
  };
  const client = urls.length === 1 ? new Redis(first, options) : connectCluster(urls, options, retry);
  let lastError: Error | null = null;
  client.on('error', (error: Error) => {
    // While a link is down every attempt fails; the first failure of a kind is told.
    if (lastError?.message !== error.message && started) log.warn({ reason: error.message, role }, 'bus_connection_error');
    lastError = error;
  });
  client.on('ready', () => {
    lastError = null;
  });
  try {
    await client.connect();
  } catch (error) {
    client.disconnect();
    const cause = (lastError as Error | null) ?? (error as Error);
    throw new BusError('UNAVAILABLE', `Redis at ${urls.map(addressOf).join(', ')} cannot be reached: ${cause.message}`, cause);
  }
  started = true;
  return client;
}

function connectCluster(urls: readonly string[], options: RedisOptions, retry: (attempt: number) => number | null): Cluster {
  const first = new URL(urls[0] as string);
  const { lazyConnect, retryStrategy: _, enableOfflineQueue: __, ...redisOptions } = options;
  return new Cluster([...urls], {
    lazyConnect: lazyConnect ?? true,
    clusterRetryStrategy: retry,
    enableOfflineQueue: false,
    redisOptions: {
      ...redisOptions,
      ...(first.username === '' ? {} : { username: decodeURIComponent(first.username) }),
      ...(first.password === '' ? {} : { password: decodeURIComponent(first.password) }),
      ...(first.protocol === 'rediss:' ? { tls: {} } : {}),
    },
  });
}

/** Trimming by offset (XADD MINID) came with Redis 6.2. */
async function checkServer(connection: RedisConnection): Promise<void> {
  const info = String(await connection.text('info', 'server'));
  const version = /^redis_version:(\d+)\.(\d+)/m.exec(info);
  if (version !== null && Number(version[1]) * 100 + Number(version[2]) < 602) {
    throw new BusError('INCOMPATIBLE', `Redis ${version[1]}.${version[2]} is too old; 6.2 or later is needed.`);
  }
}

/** host:port of an address, without what is secret in it. */
function addressOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address of wrong form';
}

/** The database number that an address names. */
export function databaseOf(url: string): number {
  const path = URL.canParse(url) ? new URL(url).pathname.slice(1) : '';
  return /^\d+$/.test(path) ? Number(path) : 0;
}
