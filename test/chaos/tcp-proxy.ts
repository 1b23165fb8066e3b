import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** The two directions of a link: requests go `up`, answers come `down`. */
export type Direction = 'up' | 'down';

/** The fault on every link of a proxy while it lasts. */
export interface Weather {
  /** Delays each piece by this time, and up to `jitterMs` more; the order stays. */
  readonly latencyMs?: number;
  readonly jitterMs?: number;
  /** Pieces have at most this many bytes, and each is written alone. */
  readonly sliceBytes?: number;
  readonly bytesPerSecond?: number;
  /** Nothing passes. Everything is delivered once the fault ends. */
  readonly stalled?: boolean;
  /**
   * Bytes in these directions are lost, and neither side sees the other close: a half-open link. It stays half open for its life. When the
   * fault ends, the server's side is cut, and the client must find out by itself.
   */
  readonly swallows?: readonly Direction[];
  /** New links are reset at once. */
  readonly refuses?: boolean;
}

/** A TCP proxy between two parts. Its own port stays the same even if the target is gone. */
export interface TcpProxy {
  readonly port: number;
  /** Open links. */
  readonly links: number;
  /** The target of new links. */
  readonly target: (port: number) => void;
  readonly set: (weather: Weather) => void;
  readonly clear: () => void;
  /** Resets all links, both sides. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
}

/** Bytes on their way in one direction. With more, reading pauses. */
const maxOnTheWay = 1024 * 1024;

interface Piece {
  readonly bytes: Buffer;
  readonly dueMs: number;
}

interface Surroundings {
  readonly weather: () => Weather;
  /** Resolves when the fault changes or the link ends. */
  changed(): Promise<void>;
  readonly isOver: () => boolean;
  readonly isSwallowed: () => boolean;
}

/** One direction of a link: a queue in which pieces wait for their time. */
class Way {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #around: Surroundings;
  readonly #line: Piece[] = [];
  #bytes = 0;
  #ended = false;
  #lastDueMs = 0;
  #wake: (() => void) | null = null;

  constructor(from: Socket, to: Socket, around: Surroundings) {
    this.#from = from;
    this.#to = to;
    this.#around = around;
    from.on('data', (bytes: Buffer) => this.#take(bytes));
    from.on('end', () => {
      this.#ended = true;
      this.wake();
    });
  }

  wake(): void {
    this.#wake?.();
  }

  async run(): Promise<void> {
    while (!this.#around.isOver()) {
      const piece = this.#line[0];
      if (piece === undefined) {
        if (this.#ended) break;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const waitMs = piece.dueMs - performance.now();
      if (waitMs > 0) await delay(waitMs);
      while (this.#around.weather().stalled === true && !this.#around.isOver()) await this.#around.changed();
      await this.#hand(piece.bytes);
      this.#line.shift();
      this.#bytes -= piece.bytes.length;
      if (this.#bytes < maxOnTheWay) this.#from.resume();
    }
    if (!this.#around.isSwallowed() && this.#to.writable) this.#to.end();
  }

  #take(bytes: Buffer): void {
    if (this.#around.isSwallowed()) return;
    const { latencyMs = 0, jitterMs = 0 } = this.#around.weather();
    // Never before the previous piece.
    this.#lastDueMs = Math.max(this.#lastDueMs, performance.now() + latencyMs + Math.random() * jitterMs);
    this.#line.push({ bytes, dueMs: this.#lastDueMs });
    this.#bytes += bytes.length;
    if (this.#bytes >= maxOnTheWay) this.#from.pause();
    this.wake();
  }

  async #hand(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length && this.#to.writable && !this.#around.isSwallowed();) {
      const { sliceBytes, bytesPerSecond } = this.#around.weather();
      const end = Math.min(
        bytes.length,
        at + (sliceBytes ?? bytes.length),
        at + (bytesPerSecond === undefined ? bytes.length : bytesPerSecond / 20),
      );
      const isTaken = this.#to.write(bytes.subarray(at, end));
      if (bytesPerSecond !== undefined) await delay(((end - at) * 1_000) / bytesPerSecond);
      else if (sliceBytes !== undefined) await new Promise((resolve) => setImmediate(resolve));
      if (!isTaken) await this.#drained();
      at = end;
    }
  }

  #drained(): Promise<void> {
    if (!this.#to.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      this.#to.once('drain', resolve);
      this.#to.once('close', resolve);
    });
  }
}

/** One connection through the proxy. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #ways: readonly Way[];
  readonly #weather: () => Weather;
  readonly #swallowed = new Set<Direction>();
  readonly #waiting = new Set<() => void>();
  #over = false;

  constructor(client: Socket, server: Socket, weather: () => Weather, onOver: () => void) {
    this.#client = client;
    this.#server = server;
    this.#weather = weather;
    this.onWeather();
    const around = (direction: Direction): Surroundings => ({
      weather,
      changed: () => new Promise((resolve) => this.#waiting.add(resolve)),
      isOver: () => this.#over,
      isSwallowed: () => this.#swallowed.has(direction),
    });
    this.#ways = [new Way(client, server, around('up')), new Way(server, client, around('down'))];
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.setNoDelay(true);
      // The close that follows shows what an error means.
      socket.on('error', () => undefined);
      socket.on('close', (hadError) => {
        if (this.#swallowed.size > 0 && !other.destroyed) return;
        if (hadError) other.resetAndDestroy();
        else if (!other.destroyed && !socket.readableEnded) other.destroy();
        if (client.destroyed && server.destroyed) this.#end(onOver);
      });
    }
    for (const way of this.#ways) void way.run();
  }

  onWeather(): void {
    const { swallows = [] } = this.#weather();
    for (const direction of swallows) this.#swallowed.add(direction);
    if (swallows.length === 0 && this.#swallowed.size > 0) this.#server.resetAndDestroy();
    this.#notify();
  }

  cut(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  /** Without a reset, because a reset waits for a connect in progress. */
  destroy(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  #end(onOver: () => void): void {
    if (this.#over) return;
    this.#over = true;
    this.#notify();
    for (const way of this.#ways) way.wake();
    onOver();
  }

  #notify(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Starts a proxy before a port of the loopback. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  let weather: Weather = {};
  let target = targetPort;
  const server = createServer({ pauseOnConnect: false }, (client) => {
    if (weather.refuses === true) {
      client.resetAndDestroy();
      return;
    }
    const link: Link = new Link(
      client,
      connect(target, '127.0.0.1'),
      () => weather,
      () => links.delete(link),
    );
    links.add(link);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const change = (next: Weather): void => {
    weather = next;
    for (const link of links) link.onWeather();
  };
  const cut = (): void => {
    for (const link of links) link.cut();
  };
  return {
    port: (server.address() as AddressInfo).port,
    get links() {
      return links.size;
    },
    target: (port) => {
      target = port;
    },
    set: change,
    clear: () => change({}),
    cut,
    close: async () => {
      change({});
      for (const link of links) link.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
