import { connect, type Socket } from 'node:net';

/**
 * HTTP/1.1 clients in one process, on bare sockets. `closed`: every connection always has `depth` open requests. `open`: requests are due
 * at fixed times, even if the server is slow. Latency counts from when a request was sent. If all connections were waiting for the server, it
 * counts from when the request was due. Messages control the clients.
 */
export interface HttpLoadOrder {
  readonly port: number;
  /** One whole GET in the bytes that are sent. */
  readonly request: string;
  readonly connections: number;
  readonly durationMs: number;
  readonly load: { readonly kind: 'closed'; readonly depth: number } | { readonly kind: 'open'; readonly perSecond: number };
}

export interface HttpLoadReport {
  readonly answers: number;
  /** Answers with a status other than 200. */
  readonly refused: number;
  readonly elapsedMs: number;
  /** For the open load, sorted. */
  readonly latenciesMs: readonly number[];
  /** How late requests were sent because these clients were late, sorted. */
  readonly lateMs: readonly number[];
}

const headEnd = Buffer.from('\r\n\r\n');
const lengthMark = Buffer.from('\r\nContent-Length: ');
const ok = Buffer.from('HTTP/1.1 200');
/** Precision of the times of the open load. */
const tickMs = 1;
/** Most bytes of an incomplete answer. */
const maxPendingBytes = 16 * 1024 * 1024;

/** Calls back for each complete answer. */
function answerReader(onAnswer: (isOk: boolean) => void): (chunk: Buffer) => void {
  let pending = Buffer.alloc(0);
  return (chunk) => {
    const bytes = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    let at = 0;
    for (;;) {
      const end = bytes.indexOf(headEnd, at);
      if (end === -1) break;
      const mark = bytes.indexOf(lengthMark, at);
      if (mark === -1 || mark > end) throw new Error('an answer without a length');
      let length = 0;
      for (let i = mark + lengthMark.length; bytes[i]! >= 0x30 && bytes[i]! <= 0x39; i++) length = length * 10 + bytes[i]! - 0x30;
      const next = end + headEnd.length + length;
      if (next > bytes.length) break;
      onAnswer(bytes.compare(ok, 0, ok.length, at, at + ok.length) === 0);
      at = next;
    }
    // A copy, because it outlives the buffer that it was read into.
    pending = Buffer.from(bytes.subarray(at));
    if (pending.length > maxPendingBytes) throw new Error('an answer without an end');
  };
}

interface Client {
  readonly socket: Socket;
  onAnswer: (isOk: boolean) => void;
}

function onClose(): never {
  throw new Error('the server closed a connection');
}

function open(port: number): Promise<Client> {
  return new Promise((resolve, reject) => {
    const client: { socket: Socket; onAnswer: (isOk: boolean) => void } = { socket: undefined as never, onAnswer: () => undefined };
    const read = answerReader((isOk) => client.onAnswer(isOk));
    client.socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(256 * 1024),
        callback: (length, buffer) => {
          read(Buffer.from(buffer.buffer, buffer.byteOffset, length));
          return true;
        },
      },
    });
    client.socket.on('error', reject);
    client.socket.on('connect', () => resolve(client));
    client.socket.on('close', onClose);
  });
}

async function closedLoop({ request, durationMs }: HttpLoadOrder, depth: number, clients: readonly Client[]): Promise<HttpLoadReport> {
  let answers = 0;
  let refused = 0;
  let underWay = 0;
  const startMs = performance.now();
  const batch = Buffer.from(request.repeat(depth));
  await new Promise<void>((resolve) => {
    let ending = false;
    setTimeout(() => (ending = true), durationMs);
    for (const client of clients) {
      let left = depth;
      underWay += depth;
      client.onAnswer = (isOk) => {
        answers++;
        if (!isOk) refused++;
        underWay--;
        if (--left > 0) return;
        left = depth;
        if (!ending) {
          underWay += depth;
          client.socket.write(batch);
        } else if (underWay === 0) resolve();
      };
      client.socket.write(batch);
    }
  });
  return { answers, refused, elapsedMs: performance.now() - startMs, latenciesMs: [], lateMs: [] };
}

async function openLoop({ request, durationMs }: HttpLoadOrder, perSecond: number, clients: readonly Client[]): Promise<HttpLoadReport> {
  const latenciesMs: number[] = [];
  const lateMs: number[] = [];
  let refused = 0;
  const idle = [...clients];
  /** Requests that are due and wait for a free connection. */
  const waiting: number[] = [];
  const startMs = performance.now();
  const due = Math.floor((durationMs / 1_000) * perSecond);
  const bytes = Buffer.from(request);
  const send = (client: Client, sinceMs: number): void => {
    client.onAnswer = (isOk) => {
      latenciesMs.push(performance.now() - sinceMs);
      if (!isOk) refused++;
      const next = waiting.shift();
      if (next === undefined) idle.push(client);
      else send(client, next);
    };
    client.socket.write(bytes);
  };
  let sent = 0;
  while (latenciesMs.length < due) {
    const nowMs = performance.now();
    for (; sent < due && startMs + (sent * 1_000) / perSecond <= nowMs; sent++) {
      const dueMs = startMs + (sent * 1_000) / perSecond;
      // In turn, because the server closes a connection that is silent for ten seconds.
      const client = idle.shift();
      if (client === undefined) waiting.push(dueMs);
      else {
        const sentMs = performance.now();
        lateMs.push(sentMs - dueMs);
        send(client, sentMs);
      }
    }
    // A loop that never sleeps would take the core from Redis. Requests that are due within a tick are sent at its end.
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  return {
    answers: latenciesMs.length,
    refused,
    elapsedMs: performance.now() - startMs,
    latenciesMs: latenciesMs.toSorted((a, b) => a - b),
    lateMs: lateMs.toSorted((a, b) => a - b),
  };
}

async function run(order: HttpLoadOrder): Promise<HttpLoadReport> {
  const clients = await Promise.all(Array.from({ length: order.connections }, () => open(order.port)));
  const { load } = order;
  const report = load.kind === 'closed' ? await closedLoop(order, load.depth, clients) : await openLoop(order, load.perSecond, clients);
  for (const { socket } of clients) socket.off('close', onClose).destroy();
  return report;
}

process.on('message', (order: HttpLoadOrder) => {
  void run(order).then((report) => process.send!(report));
});
process.on('disconnect', () => process.exit(0));
