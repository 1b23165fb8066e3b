import { connect, type Socket } from 'node:net';
import { sharedClockMs } from './trade-node-child.ts';

/**
 * HTTP/1.1 clients on bare sockets. They send each request at its time or, if all connections wait for the server, as soon as one is free.
 * Messages control them.
 */
export interface TradeLoadOrder {
  readonly port: number;
  readonly connections: number;
  /** Whole requests, in the bytes that are sent. */
  readonly requests: readonly string[];
  /** When they are due, milliseconds after the start, ascending. */
  readonly dueMs: readonly number[];
}

export interface TradeSent {
  /** When it was written or, if no connection was free, when it was due; milliseconds of the machine's monotonic clock. */
  readonly atMs: number;
  readonly answeredMs: number;
  readonly status: number;
  readonly body: string;
}

const headEnd = Buffer.from('\r\n\r\n');

class Client {
  readonly socket: Socket;
  #onAnswer: (status: number, body: string) => void = () => undefined;
  #pending: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (piece: Buffer) => this.#take(piece));
    socket.on('close', () => {
      throw new Error('the server closed a connection');
    });
  }

  ask(request: string, onAnswer: (status: number, body: string) => void): void {
    this.#onAnswer = onAnswer;
    this.socket.write(request);
  }

  #take(piece: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, piece]);
    const end = this.#pending.indexOf(headEnd);
    if (end === -1) return;
    const head = this.#pending.toString('latin1', 0, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    const from = end + headEnd.length;
    if (this.#pending.length < from + length) return;
    const body = this.#pending.toString('utf8', from, from + length);
    this.#pending = this.#pending.subarray(from + length);
    this.#onAnswer(Number(head.slice(9, 12)), body);
  }
}

function open(port: number): Promise<Client> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(new Client(socket)));
    socket.once('error', reject);
  });
}

async function run({ port, connections, requests, dueMs }: TradeLoadOrder): Promise<readonly TradeSent[]> {
  const clients = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const idle = [...clients];
  const waiting: { readonly index: number; readonly atMs: number }[] = [];
  const sent: TradeSent[] = [];
  let answers = 0;
  const send = (client: Client, index: number, atMs: number): void => {
    client.ask(requests[index]!, (status, body) => {
      sent[index] = { atMs, answeredMs: sharedClockMs(), status, body };
      answers++;
      const next = waiting.shift();
      if (next === undefined) idle.push(client);
      else send(client, next.index, next.atMs);
    });
  };
  const startMs = sharedClockMs();
  for (let next = 0; answers < requests.length;) {
    const nowMs = sharedClockMs();
    for (; next < requests.length && startMs + dueMs[next]! <= nowMs; next++) {
      // In turn, because the server closes a connection that is silent for ten seconds.
      const client = idle.shift();
      if (client === undefined) waiting.push({ index: next, atMs: startMs + dueMs[next]! });
      else send(client, next, sharedClockMs());
    }
    // Other processes share this core. Requests that are due within a tick are sent at its end.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  for (const { socket } of clients) socket.removeAllListeners('close').destroy();
  return sent;
}

process.on('message', (order: TradeLoadOrder) => {
  void run(order).then((sent) => process.send!(sent));
});
process.once('disconnect', () => process.exit(0));
