import { WebSocket } from 'ws';
import { until } from '../gateway.ts';
import { unpack } from './msgpack.ts';

/** A message of the stream for a client without types. */
export interface Message {
  readonly op?: string;
  readonly id?: unknown;
  readonly topic?: string;
  readonly seq?: number;
  readonly prev?: number;
  readonly data?: { readonly type: string; readonly id: string; readonly [field: string]: unknown };
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly details: Record<string, unknown>;
  };
  readonly accepted?: readonly string[];
  readonly rejected?: readonly { readonly key: string; readonly code: string }[];
  readonly removed?: readonly string[];
  readonly positions?: Readonly<Record<string, { readonly epoch: string; readonly seq: number; readonly recovered?: boolean }>>;
  readonly snapshot?: readonly { readonly topic: string; readonly seq: number; readonly data: { readonly id: string } }[];
  readonly [field: string]: unknown;
}

/** A raw client of the stream for tests of the protocol; stores every message in order. Tests that need no raw messages can use `@sluice/client`. */
export class StreamClient {
  readonly socket: WebSocket;
  readonly messages: Message[] = [];
  /** The same messages in their original grouping: one element for each WebSocket message. */
  readonly raw: unknown[] = [];
  readonly binary: boolean[] = [];
  /** Bytes of the longest message. */
  longest = 0;
  closed: { code: number; reason: string } | null = null;
  /** A handshake that was refused. */
  refused: { status: number; body: { error: { code: string }; requestId: string }; headers: NodeJS.Dict<string | string[]> } | null = null;
  #id = 0;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(url, { headers, rejectUnauthorized: false });
    this.socket.on('message', (data: Buffer, binary) => {
      this.longest = Math.max(this.longest, data.length);
      const whole: unknown = binary ? unpack(data) : JSON.parse(data.toString('utf8'));
      this.raw.push(whole);
      this.binary.push(binary);
      if (Array.isArray(whole)) this.messages.push(...(whole as Message[]));
      else this.messages.push(whole as Message);
    });
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    this.socket.on('error', (error) => {
      this.closed ??= { code: 0, reason: error.message };
    });
    this.socket.on('unexpected-response', (request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        this.refused = { status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()), headers: response.headers };
        request.destroy();
      });
    });
  }

  async open(): Promise<this> {
    await until('the socket to open', () => this.socket.readyState === WebSocket.OPEN || this.closed !== null);
    if (this.closed !== null) throw new Error(`the socket did not open: ${this.closed.code} ${this.closed.reason}`);
    return this;
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message));
  }

  /** Sends a command with an id and waits for its reply. */
  async ask(command: Record<string, unknown>): Promise<Message> {
    const id = `q${++this.#id}`;
    this.send({ id, ...command });
    return await this.reply(id);
  }

  /** The reply to a command; a long one as if it were one message. */
  async reply(id: unknown): Promise<Message> {
    const last = await until(`the reply ${String(id)}`, () =>
      this.messages.find((message) => message.id === id && message.op !== undefined && message.of === undefined),
    );
    const parts = [...this.messages.filter(({ of }) => of === id), last];
    if (parts.length === 1) return last;
    return {
      ...last,
      accepted: parts.flatMap(({ accepted = [] }) => accepted),
      rejected: parts.flatMap(({ rejected = [] }) => rejected),
      removed: parts.flatMap(({ removed = [] }) => removed),
      positions: Object.assign({}, ...parts.map(({ positions }) => positions)) as NonNullable<Message['positions']>,
      snapshot: parts.flatMap(({ snapshot = [] }) => snapshot),
    };
  }

  async next(what: string, test: (message: Message) => boolean, timeoutMs?: number): Promise<Message> {
    return await until(what, () => this.messages.find(test), timeoutMs);
  }

  /** Frames of a topic so far. */
  frames(topic: string): Message[] {
    return this.messages.filter((message) => message.topic === topic && message.data !== undefined && message.op === undefined);
  }

  async framesTo(topic: string, count: number, timeoutMs?: number): Promise<Message[]> {
    return await until(
      `${count} frames of ${topic}, have ${this.frames(topic).length}`,
      () => {
        const frames = this.frames(topic);
        return frames.length >= count ? frames : undefined;
      },
      timeoutMs,
    );
  }

  async end(): Promise<{ code: number; reason: string }> {
    return await until('the close', () => this.closed ?? undefined);
  }

  close(): void {
    this.socket.terminate();
  }
}

/** The `seq` of frames, for comparison with a range. */
export const seqs = (frames: readonly Message[]): (number | undefined)[] => frames.map((frame) => frame.seq);
/** first, first + 1, … last */
export const run = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);
