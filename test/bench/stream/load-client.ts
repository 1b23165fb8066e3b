import { connect, type Socket } from 'node:net';

/**
 * Many WebSocket clients in one process, on bare sockets. Opens them, sends one command on each, and counts events by a mark in their
 * bytes. A child process of the benchmark; messages control it and request its count.
 */
export interface LoadOrder {
  readonly port: number;
  readonly path: string;
  readonly sockets: number;
  /** Sent once by each socket after the handshake, `#` replaced by its number modulo `keys.length` … of `keys`. */
  readonly command: string | null;
  readonly keys: readonly string[];
  /** The first of the sockets, this many, read nothing after the handshake. */
  readonly stalled?: number;
  /** One of this many events is timed. */
  readonly sampleEvery: number;
  /** With what an event begins, and what is before the time from which its latency is measured; a trade, and the time of its publication. */
  readonly mark?: string;
  readonly timeMark?: string;
}

export type LoadReport =
  | { readonly kind: 'open' }
  | {
      readonly kind: 'count';
      readonly events: number;
      readonly bytes: number;
      readonly closed: number;
      readonly latencyMs: readonly number[];
    };

let mark = Buffer.from('{"type":"trade"');
const readBytes = 256 * 1024;
/** Each socket sends an empty ping this often; its mask is zero. */
const signEveryMs = 15_000;
const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
let events = 0;
let bytes = 0;
let closed = 0;
/** The time from `ts.published`, or another time, to the read that returned the event, for one of `sampleEvery` events since the last count. */
let sampleEvery = 1;
let timeMark = Buffer.from('"published":');
let latencyMs: number[] = [];

function sample(chunk: Buffer, from: number): void {
  const at = chunk.indexOf(timeMark, from);
  if (at === -1) return;
  const published = Number.parseInt(chunk.toString('latin1', at + timeMark.length, at + timeMark.length + 20), 10);
  // Cut by the end of the read.
  if (published > 1e15) latencyMs.push(performance.timeOrigin + performance.now() - published / 1_000);
}

/** A masked text frame. The mask is zero, so that the payload is unchanged. */
function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  const header =
    payload.length < 126
      ? Buffer.from([0x81, 0x80 | payload.length])
      : Buffer.from([0x81, 0xfe, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([header, Buffer.alloc(4), payload]);
}

/** Counts marks; one that is cut by the end of a read is counted with the next. */
function counter(): (chunk: Buffer) => void {
  let tail = Buffer.alloc(0);
  return (chunk) => {
    bytes += chunk.length;
    const head = Math.min(chunk.length, mark.length - 1);
    if (tail.length > 0 && Buffer.concat([tail, chunk.subarray(0, head)]).includes(mark)) events++;
    for (let at = chunk.indexOf(mark); at !== -1; at = chunk.indexOf(mark, at + mark.length)) {
      if (++events % sampleEvery === 0) sample(chunk, at);
    }
    const rest = chunk.length < mark.length ? Buffer.concat([tail, chunk]) : chunk;
    tail = Buffer.from(rest.subarray(Math.max(0, rest.length - mark.length + 1)));
  };
}

function open(order: LoadOrder, number: number, shared: Buffer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let upgraded = false;
    let answer = '';
    const count = counter();
    const socket: Socket = connect({
      port: order.port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (length, buffer) => {
          const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, length);
          if (upgraded) {
            count(chunk);
            resolve(socket);
          } else {
            answer += chunk.toString('latin1');
            if (!answer.includes('\r\n\r\n')) return true;
            if (!answer.startsWith('HTTP/1.1 101')) {
              socket.destroy(new Error(answer.slice(0, 200)));
              return false;
            }
            upgraded = true;
            const key = order.keys[number % Math.max(1, order.keys.length)] ?? '';
            if (order.command !== null) socket.write(frameOf(order.command.replace('#', key)));
            // With a command, it counts as open once an answer arrives.
            if (number < (order.stalled ?? 0)) socket.pause();
            else if (order.command !== null) return true;
            resolve(socket);
          }
          return true;
        },
      },
    });
    socket.on('error', reject);
    socket.on('close', () => closed++);
    socket.on('connect', () => {
      socket.write(
        `GET ${order.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      );
    });
  });
}

async function start(order: LoadOrder): Promise<void> {
  const shared = Buffer.allocUnsafeSlow(readBytes);
  ({ sampleEvery } = order);
  if (order.mark !== undefined) mark = Buffer.from(order.mark);
  if (order.timeMark !== undefined) timeMark = Buffer.from(order.timeMark);
  const perStep = 50;
  const sockets: Socket[] = [];
  for (let at = 0; at < order.sockets; at += perStep) {
    sockets.push(
      ...(await Promise.all(Array.from({ length: Math.min(perStep, order.sockets - at) }, (_, i) => open(order, at + i, shared)))),
    );
  }
  setInterval(() => {
    for (const socket of sockets) socket.write(ping);
  }, signEveryMs);
  process.send!({ kind: 'open' } satisfies LoadReport);
}

process.on('message', (message: LoadOrder | 'count') => {
  if (message === 'count') {
    process.send!({ kind: 'count', events, bytes, closed, latencyMs } satisfies LoadReport);
    latencyMs = [];
  } else void start(message);
});
process.on('disconnect', () => process.exit(0));
