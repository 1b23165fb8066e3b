import { connect, type Socket } from 'node:net';

/** One answer as received; header names in lower case, repeated ones joined with `, `. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  json(): unknown;
}

/** One request, in the bytes that are sent. */
export interface RawRequest {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array;
}

const headEnd = Buffer.from('\r\n\r\n');

/** Adds `Host`, and `Content-Length` if there is a body without other framing. */
export function requestBytes({ method, target, headers = {}, body }: RawRequest): Buffer {
  const pairs = Array.isArray(headers) ? (headers as readonly (readonly [string, string])[]) : Object.entries(headers);
  const has = (name: string): boolean => pairs.some(([given]) => given.toLowerCase() === name);
  const framed = has('content-length') || has('transfer-encoding') || body === undefined;
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...(has('host') ? [] : ['Host: 127.0.0.1']),
    ...pairs.map(([name, value]) => `${name}: ${value}`),
    ...(framed ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body ?? '')]);
}

/**
 * A persistent connection: requests are sent unchanged, answers arrive in order. Requests without an answer when the connection ends get
 * null.
 */
export class RawConnection {
  readonly #socket: Socket;
  readonly #due: { readonly hasBody: boolean; readonly settle: (answer: RawAnswer | null) => void }[] = [];
  #pending: Buffer = Buffer.alloc(0);
  #closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#closed = true;
      for (const { settle } of this.#due.splice(0)) settle(null);
    });
  }

  static open(port: number): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Null if the connection ended without a complete answer. */
  ask(request: RawRequest): Promise<RawAnswer | null> {
    return this.exchange(requestBytes(request), request.method);
  }

  exchange(bytes: Uint8Array, method: string): Promise<RawAnswer | null> {
    if (this.#closed) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#due.push({ hasBody: method !== 'HEAD', settle: resolve });
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    for (;;) {
      const end = this.#pending.indexOf(headEnd);
      const [next] = this.#due;
      if (end === -1 || next === undefined) return;
      const head = readHead(this.#pending.toString('latin1', 0, end));
      const start = end + headEnd.length;
      const length = head.status >= 200 && head.status !== 204 && next.hasBody ? Number(head.headers.get('content-length') ?? 0) : 0;
      if (this.#pending.length < start + length) return;
      const body = Buffer.from(this.#pending.subarray(start, start + length));
      this.#pending = this.#pending.subarray(start + length);
      // 100 Continue precedes the answer.
      if (head.status === 100) continue;
      this.#due.shift();
      next.settle({ ...head, body, json: () => JSON.parse(body.toString('utf8')) });
    }
  }
}

function readHead(text: string): { readonly status: number; readonly headers: ReadonlyMap<string, string> } {
  const [line = '', ...lines] = text.split('\r\n');
  const headers = new Map<string, string>();
  for (const header of lines) {
    const colon = header.indexOf(':');
    const name = header.slice(0, colon).toLowerCase();
    const value = header.slice(colon + 1).trim();
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value);
  }
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1] ?? 0), headers };
}

/** One request on a connection of its own. */
export async function askOnce(port: number, request: RawRequest): Promise<RawAnswer | null> {
  const connection = await RawConnection.open(port);
  try {
    return await connection.ask(request);
  } finally {
    connection.close();
  }
}
