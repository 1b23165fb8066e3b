import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { addressOf, entryOf, tradeEvent } from '../../support/events/stream-events.ts';
import type { BenchRow } from '../row.ts';
import { cpuUs, pace, residentBytes } from './stream-rig.ts';
import { onStage, type Stage } from './stream-stage.ts';

const sockets = 400;
const eventsPerSecond = 20;
const turnMs = 3_000;
const turns = 6;
const arrivalMs = 20_000;

/** Clients of one gateway that follow one mint. */
class Followers {
  readonly mint: string;
  readonly #sockets: WebSocket[] = [];
  messages = 0;
  expected = 0;

  constructor(mint: string) {
    this.mint = mint;
  }

  async open(url: string): Promise<void> {
    for (let count = 0; count < sockets; count++) {
      const socket = new WebSocket(url);
      await once(socket, 'open');
      socket.on('message', (data: Buffer) => {
        if (data.includes('"data":')) this.messages++;
      });
      socket.send(JSON.stringify({ id: 1, op: 'subscribe', channel: 'trades', mints: [this.mint] }));
      this.#sockets.push(socket);
    }
    await delay(2_000);
  }

  /** Bytes on the wire, with those of handshakes and heartbeats. */
  get bytes(): number {
    return this.#sockets.reduce((sum, socket) => sum + streamOf(socket).bytesRead, 0);
  }

  async arrived(): Promise<void> {
    for (const endMs = performance.now() + arrivalMs; this.messages < this.expected; await delay(20)) {
      if (performance.now() > endMs) throw new Error(`${this.messages} of ${this.expected} events arrived`);
    }
  }
}

const streamOf = (socket: WebSocket): { readonly bytesRead: number } => Reflect.get(socket, '_socket') as { readonly bytesRead: number };

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

async function measure(stage: Stage): Promise<BenchRow[]> {
  const { server, path, publish, stop } = await stage.startGateway(undefined, { COMPRESSED_CONNECTIONS: String(sockets) });
  const pid = server.process.pid!;
  const sides = { plain: new Followers(addressOf(1)), compressed: new Followers(addressOf(2)) };
  const costs = { plain: [] as number[], compressed: [] as number[] };
  const bytes = { plain: 0, compressed: 0 };
  const grown = { plain: 0, compressed: 0 };
  const turn = async (side: keyof typeof sides): Promise<void> => {
    const followers = sides[side];
    const before = { cpuUs: cpuUs(pid), bytes: followers.bytes };
    const events = await pace(turnMs, eventsPerSecond, () => publish([entryOf(tradeEvent(followers.mint))]));
    followers.expected += events * sockets;
    await followers.arrived();
    costs[side].push((cpuUs(pid) - before.cpuUs) / (events * sockets));
    bytes[side] = (followers.bytes - before.bytes) / (events * sockets);
  };
  try {
    for (const side of ['plain', 'compressed'] as const) {
      const before = residentBytes(pid);
      await sides[side].open(`ws://127.0.0.1:${server.port}${path}${side === 'compressed' ? '&compress=1' : ''}`);
      await turn(side);
      grown[side] = (residentBytes(pid) - before) / sockets;
      costs[side] = [];
    }
    for (let round = 0; round < turns; round++) for (const side of ['plain', 'compressed'] as const) await turn(side);
  } finally {
    await stop();
  }
  const own = median(costs.compressed) - median(costs.plain);
  return [
    {
      name: 'Compressed stream (`?compress=1`), CPU time for each delivered event',
      figure: `${median(costs.compressed).toFixed(1)} µs, uncompressed ${median(costs.plain).toFixed(1)} µs; ${Math.round(bytes.compressed)} bytes on the wire, uncompressed ${Math.round(bytes.plain)}`,
      target: '≤ 60 µs for the compression',
      pass: own <= 60,
      note: `${sockets} sockets of each kind on one gateway, which follow one mint each, ${eventsPerSecond} events/s, median of ${turns} turns of ${turnMs / 1_000} s; bytes with heartbeats and frame headers; resident memory that a connection adds with its first events: ${Math.round(grown.compressed)} bytes, uncompressed ${Math.round(grown.plain)} bytes`,
    },
  ];
}

/** What the compression of the stream costs and saves. */
export function run(): Promise<BenchRow[]> {
  return onStage(measure);
}
