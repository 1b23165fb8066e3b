import { Command, type Cluster, type Redis } from 'ioredis';
import type { Logger } from '../../runtime/log/log.ts';
import { BusError, fencedError, RedisFault } from '../bus-error.ts';
import { formatVersion } from '../message.ts';
import { connectCommands, deploymentOf, type Deployment } from './redis-connect.ts';
import { fenced, redisKeys, versionMismatch, type Script } from './redis-scripts.ts';

/** Temporary error replies: Redis is starting, fails over, or has no memory or disk space at the moment. */
const temporaryReplies = new Set(['LOADING', 'BUSY', 'READONLY', 'OOM', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'MISCONF', 'NOREPLICAS']);

export type Argument = string | number | Buffer;

/** Also `INCOMPATIBLE` or `FENCED`, if a script refused the version of the log or the term of a lease. */
function faultOf(cause: unknown): BusError {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  if (error.name !== 'ReplyError') return new RedisFault('link', '', error);
  const [word = '', key = ''] = error.message.split(' ');
  if (word === fenced) return fencedError(key.slice(redisKeys.lease('').length));
  if (word === versionMismatch) {
    const what = `The version of the log in Redis differs from that of this program (${formatVersion}).`;
    return new BusError('INCOMPATIBLE', `${what} Run all programs in the same version, or delete the keys {sluice}:*.`, error);
  }
  return new RedisFault(temporaryReplies.has(word) ? 'temporary' : 'refused', word, error);
}

/** One connection for commands. It reconnects by itself. While it is down, commands fail at once. */
export class RedisConnection {
  readonly #client: Redis | Cluster;
  readonly deployment: Deployment;

  private constructor(client: Redis | Cluster, deployment: Deployment) {
    this.#client = client;
    this.deployment = deployment;
  }

  /** Rejects with `UNAVAILABLE` if Redis cannot be reached, and with `INCOMPATIBLE` if it is too old. */
  static async open(urls: readonly string[], role: string, log: Logger): Promise<RedisConnection> {
    if (urls.length === 0) throw new BusError('UNAVAILABLE', 'There is no address of Redis.');
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

  /** Calls the listener each time the connection is established; returns a function that removes the listener. */
  onReady(listener: () => void): () => void {
    this.#client.on('ready', listener);
    return () => this.#client.off('ready', listener);
  }

  /** Runs a command. Strings in the reply are strings. Rejects with a `BusError`, like all methods here. */
  async text(command: string, ...args: Argument[]): Promise<unknown> {
    try {
      return await this.#client.call(command, args);
    } catch (error) {
      throw faultOf(error);
    }
  }

  /** Runs a command. Strings in the reply are Buffers. */
  async binary(command: string, args: readonly Argument[]): Promise<unknown> {
    try {
      return await this.#client.callBuffer(command, args as Argument[]);
    } catch (error) {
      throw faultOf(error);
    }
  }

  /** Runs a script by its hash, or sends the whole script if Redis does not have it. Strings in the reply are Buffers. */
  async run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    try {
      return await this.binary('evalsha', [script.sha, keys.length, ...keys, ...args]);
    } catch (error) {
      if (!(error instanceof RedisFault) || error.word !== 'NOSCRIPT') throw error;
      return this.binary('eval', [script.text, keys.length, ...keys, ...args]);
    }
  }

  /**
   * Like `run`, for a large last argument. Its buffer has free space before the argument, into which the head of the command is written, so
   * that the argument is not copied. (The client would copy all arguments into a new buffer, which doubles the publisher's time at full
   * load.) The bytes must not change until the promise settles.
   */
  async runFramed(script: Script, keys: readonly string[], args: readonly Argument[], last: FramedArgument): Promise<unknown> {
    const head = [script.sha, keys.length, ...keys];
    const frame = last.frame(commandFront('evalsha', [...head, ...args], last.body.length), lineEnd);
    if (frame === null) return this.run(script, keys, [...args, last.body]);
    try {
      return await this.#client.sendCommand(new FramedCommand(head, frame));
    } catch (error) {
      const fault = faultOf(error);
      if (!(fault instanceof RedisFault) || fault.word !== 'NOSCRIPT') throw fault;
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

/** A command whose bytes are already encoded. Its arguments are needed only to choose the node of a cluster. */
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

/** A command in Redis' protocol (RESP) up to the beginning of its last argument, which has `lastBytes` bytes. */
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
    const what = needed === 700 ? 'a cluster requires 7.0 or later' : '6.2 or later is required';
    throw new BusError('INCOMPATIBLE', `Redis ${version[1]}.${version[2]} is too old; ${what}.`);
  }
}
