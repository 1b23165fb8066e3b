import type { Redis } from 'ioredis';
import type { Logger } from '../../runtime/log/log.ts';
import { connectLive, type Deployment } from './redis-connect.ts';

export interface LiveHandlers {
  onMessage(bytes: Buffer): void;
  /** Subscribed, for the first time or again. From now on every announcement arrives, until `onDown`. */
  onUp(): void;
  onDown(): void;
}

/** The Pub/Sub connection of one subscriber. In a cluster, it uses sharded Pub/Sub on the node that owns the channel's slot. */
export class LiveConnection {
  readonly #client: Redis;
  readonly #channel: string;
  readonly #isSharded: boolean;
  readonly #handlers: LiveHandlers;
  readonly #log: Logger;
  #closed = false;

  private constructor(client: Redis, channel: string, isSharded: boolean, handlers: LiveHandlers, log: Logger) {
    this.#client = client;
    this.#channel = channel;
    this.#isSharded = isSharded;
    this.#handlers = handlers;
    this.#log = log;
  }

  static async open(deployment: Deployment, channel: string, handlers: LiveHandlers, log: Logger): Promise<LiveConnection> {
    const client = await connectLive(deployment, channel, log);
    const isSharded = deployment.kind === 'cluster';
    const live = new LiveConnection(client, channel, isSharded, handlers, log);
    client.on(isSharded ? 'smessageBuffer' : 'messageBuffer', (_channel: Buffer, bytes: Buffer) => handlers.onMessage(bytes));
    client.on('close', () => handlers.onDown());
    client.on('ready', () => void live.#subscribe());
    // A node that no longer owns the slot never answers. The client emits an event instead.
    const moved = new Promise<void>((resolve) => {
      client.on('moved', () => {
        live.#onFailed(new Error('The slot has moved.'), 'bus_live_moved');
        resolve();
      });
    });
    await Promise.race([live.#subscribe(), moved]);
    return live;
  }

  /** Detects a dead connection: if no answer comes in time, it is ended, and the client reconnects. In a cluster, this also detects that the slot has moved. */
  async ping(): Promise<void> {
    if (this.#client.status !== 'ready') return;
    try {
      if (this.#isSharded) await this.#client.ssubscribe(this.#channel);
      else await this.#client.ping();
    } catch (error) {
      this.#onFailed(error as Error, 'bus_live_no_answer');
    }
  }

  /** Reconnects. Used if fewer messages arrive than are announced: the server may be a replica that is cut off from its primary. */
  renew(): void {
    if (this.#client.status === 'ready') this.#client.disconnect(true);
  }

  close(): void {
    this.#closed = true;
    this.#client.removeAllListeners('messageBuffer');
    this.#client.removeAllListeners('smessageBuffer');
    this.#client.disconnect();
  }

  async #subscribe(): Promise<void> {
    try {
      await (this.#isSharded ? this.#client.ssubscribe(this.#channel) : this.#client.subscribe(this.#channel));
      if (!this.#closed) this.#handlers.onUp();
    } catch (error) {
      this.#onFailed(error as Error, 'bus_subscribe_failed');
    }
  }

  /** Ends the connection. The client reconnects, and `ready` calls `#subscribe` again. */
  #onFailed(error: Error, event: string): void {
    if (this.#closed) return;
    this.#log.warn({ reason: error.message }, event);
    if (this.#client.status === 'ready') this.#client.disconnect(true);
  }
}
