import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { addressOf, entryOf, tradeEvent } from '../../support/events/stream-events.ts';
import type { BenchRow } from '../row.ts';
import { cpuUs, pace, residentBytes } from './stream-rig.ts';
import { onStage, type Stage, type Subject } from './stream-stage.ts';

const sockets = 400;
const eventsPerSecond = 20;
const turnMs = 3_000;
const turns = 6;
const arrivalMs = 20_000;
const memorySockets = 1_000;
const memoryTimes = 3;

/** Clients of one gateway that follow one mint. */
class Followers {
  readonly mint: string;
  readonly #sockets: WebSocket[] = [];
  messages = 0;
  expected = 0;

  constructor(mint: string) {
    this.mint = mint;
  }

  async open(url: string, count = sockets): Promise<void> {
    while (this.#sockets.length < count) {
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

  get count(): number {
    return this.#sockets.length;
  }

  /** Bytes on the wire, with those of handshakes and heartbeats. */
  get bytes(): number {
    return this.#sockets.reduce((sum, socket) => sum + streamOf(socket).bytesRead, 0);
  }

  close(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  async arrived(): Promise<void> {
    for (const endMs = performance.now() + arrivalMs; this.messages < this.expected; await delay(20)) {
      if (performance.now() > endMs) throw new Error(`${this.messages} of ${this.expected} events arrived`);
    }
  }
}

const streamOf = (socket: WebSocket): { readonly bytesRead: number } => Reflect.get(socket, '_socket') as { readonly bytesRead: number };

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

type Side = 'plain' | 'compressed';
const bothSides: readonly Side[] = ['plain', 'compressed'];

/** Publishes for a while, and waits until each of these sockets has received each event. Returns the number of events. */
async function follow(followers: Followers, publish: Subject['publish']): Promise<number> {
  const events = await pace(turnMs, eventsPerSecond, () => publish([entryOf(tradeEvent(followers.mint))]));
  followers.expected += events * followers.count;
  await followers.arrived();
  return events;
}

/** Resident memory that a connection adds to a gateway on which as many others of the same kind have received events before. */
async function memoryOf(stage: Stage, side: Side): Promise<number> {
  const { server, path, publish, stop } = await stage.startGateway(undefined, { COMPRESSED_CONNECTIONS: String(2 * memorySockets) });
  const url = `ws://127.0.0.1:${server.port}${path}${side === 'compressed' ? '&compress=1' : ''}`;
  const [first, second] = [new Followers(addressOf(1)), new Followers(addressOf(2))];
  try {
    await first.open(url, memorySockets);
    await follow(first, publish);
    const before = residentBytes(server.process.pid!);
    await second.open(url, memorySockets);
    await follow(second, publish);
    return (residentBytes(server.process.pid!) - before) / memorySockets;
  } finally {
    first.close();
    second.close();
    await stop();
  }
}

async function measureMemory(stage: Stage): Promise<BenchRow> {
  const grown = { plain: [] as number[], compressed: [] as number[] };
  for (let time = 0; time < memoryTimes; time++) for (const side of bothSides) grown[side].push(await memoryOf(stage, side));
  const own = median(grown.compressed) - median(grown.plain);
  const list = (values: readonly number[]): string => values.map((value) => Math.round(value).toLocaleString('en')).join(', ');
  return {
    name: 'Compressed stream (`?compress=1`), memory of a connection that has received events',
    figure: `${list([median(grown.compressed)])} bytes, uncompressed ${list([median(grown.plain)])} bytes`,
    target: '≤ 4096 bytes for the compression',
    pass: own <= 4_096,
    note: `increase of resident memory with ${memorySockets} further connections; median of ${memoryTimes} gateways for each (${list(grown.compressed)}; uncompressed ${list(grown.plain)})`,
  };
}

async function measureCpu(stage: Stage): Promise<BenchRow> {
  const { server, path, publish, stop } = await stage.startGateway(undefined, { COMPRESSED_CONNECTIONS: String(sockets) });
  const pid = server.process.pid!;
  const sides = { plain: new Followers(addressOf(1)), compressed: new Followers(addressOf(2)) };
  const costs = { plain: [] as number[], compressed: [] as number[] };
  const bytes = { plain: 0, compressed: 0 };
  const turn = async (side: Side): Promise<void> => {
    const followers = sides[side];
    const before = { cpuUs: cpuUs(pid), bytes: followers.bytes };
    const events = await follow(followers, publish);
    costs[side].push((cpuUs(pid) - before.cpuUs) / (events * sockets));
    bytes[side] = (followers.bytes - before.bytes) / (events * sockets);
  };
  try {
    for (const side of bothSides) {
      await sides[side].open(`ws://127.0.0.1:${server.port}${path}${side === 'compressed' ? '&compress=1' : ''}`);
      await turn(side);
      costs[side] = [];
    }
    for (let round = 0; round < turns; round++) for (const side of bothSides) await turn(side);
  } finally {
    for (const side of bothSides) sides[side].close();
    await stop();
  }
  const own = median(costs.compressed) - median(costs.plain);
  return {
    name: 'Compressed stream (`?compress=1`), CPU time for each delivered event',
    figure: `${median(costs.compressed).toFixed(1)} µs, uncompressed ${median(costs.plain).toFixed(1)} µs; ${Math.round(bytes.compressed)} bytes on the wire, uncompressed ${Math.round(bytes.plain)}`,
    target: '≤ 60 µs for the compression',
    pass: own <= 60,
    note: `${sockets} sockets of each kind on one gateway, which follow one mint each, ${eventsPerSecond} events/s, median of ${turns} turns of ${turnMs / 1_000} s; bytes with heartbeats and frame headers`,
  };
}

/** What the compression of the stream costs and saves. */
export function run(): Promise<BenchRow[]> {
  return onStage(async (stage) => [await measureCpu(stage), await measureMemory(stage)]);
}
