import { Command, type Cluster, type Redis } from 'ioredis';
import type { Logger } from '../log/log.ts';
import { BusError, RedisFault } from './bus-error.ts';
import { connectCommands, deploymentOf, type Deployment } from './redis-connect.ts';
import type { Script } from './redis-scripts.ts';

/** Error replies that pass by themselves: Redis starts, fails over, or is out of memory or disk at present. */
const passingReplies = new Set(['LOADING', 'BUSY', 'READONLY', 'OOM', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'MISCONF', 'NOREPLICAS']);

export type Argument = string | number | Buffer;

function faultOf(cause: unknown): RedisFault {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  if (error.name !== 'ReplyError') return new RedisFault('link', '', error);
  const word = error.message.split(' ', 1)[0] as string;
  return new RedisFault(passingReplies.has(word) ? 'passing' : 'refused', word, error);
}

/** One connection for commands. It reconnects when it is lost. Commands fail at once while it is down. */
export class RedisConnection {
  readonly #client: Redis | Cluster;
  readonly deployment: Deployment;

  private constructor(client: Redis | Cluster, deployment: Deployment) {
    this.#client = client;
    this.deployment = deployment;
  }

  /** Rejects with `UNAVAILABLE` when Redis cannot be reached, `INCOMPATIBLE` when it is too old. */
  static async open(urls: readonly string[], role: string, log: Logger): Promise<RedisConnection> {
    if (urls.length === 0) throw new BusError('UNAVAILABLE', 'No address of a Redis is given.');
    const deployment = await deploymentOf(urls);
    const connection = new RedisConnection(await connectCommands(deployment, role, log), deployment);
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

/** Trimming by offset (XADD MINID) came with Redis 6.2, sharded announcements with 7.0. */
async function checkServer(connection: RedisConnection): Promise<void> {
  const info = String(await connection.text('info', 'server'));
  const version = /^redis_version:(\d+)\.(\d+)/m.exec(info);
  const needed = connection.deployment.kind === 'cluster' ? 700 : 602;
  if (version !== null && Number(version[1]) * 100 + Number(version[2]) < needed) {
    const what = needed === 700 ? '7.0 or later is needed in a cluster' : '6.2 or later is needed';
    throw new BusError('INCOMPATIBLE', `Redis ${version[1]}.${version[2]} is too old; ${what}.`);
  }
}
