import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import proto from 'laserstream-core-proto-js';
import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { fixtureJson, fixturesFolder, fixturesPresent } from '../../golden/fixtures.ts';
import { dlmmAccounts, dlmmPairs, recorded, reportedOf, signatureOf, slots, type Block, type Item } from '../../golden/recorded-blocks.ts';
import { accountAnswers, startScriptedNode } from '../../ingest/scripted-node.ts';
import { answerUpdate, slotUpdate, status, type Answer } from '../../support/servers/grpc-updates.ts';
import { startRedis } from '../../support/servers/redis.ts';
import type { BenchRow } from '../row.ts';
import { ask, startMeasured, until } from './measured.ts';

const targetPerSecond = 20_000;
const passes = 6;
/** Each pass has every recorded transaction so many times, each time with another signature. */
const repetitions = 25;
const slotEveryMs = 400;
/** Updates of one write: a server under load sends what has gathered. */
const atOnce = 32;

interface Recording {
  readonly items: readonly Item[];
  readonly accounts: ReadonlyMap<string, unknown>;
}

/** Two whole blocks, and the transactions that were recorded for each venue: what sources report of them. */
function readRecording(): Recording {
  const folders = readdirSync(`${fixturesFolder}venues`, { withFileTypes: true }).filter((one) => one.isDirectory());
  const files = folders.flatMap(({ name }) => readdirSync(`${fixturesFolder}venues/${name}`).map((file) => `venues/${name}/${file}`));
  const answers = files
    .filter((path) => !path.includes('/account_'))
    .map((path) => (fixtureJson(path) as { readonly result: Item }).result);
  const expected = fixtureJson('venues/expected.json') as { readonly swaps?: Record<string, unknown>[] }[];
  return {
    items: [...slots.map(recorded), { transactions: answers } as unknown as Block].flatMap(reportedOf),
    accounts: new Map([...slots.map(dlmmPairs), dlmmAccounts(expected.flatMap(({ swaps = [] }) => swaps))].flatMap((pools) => [...pools])),
  };
}

/** A recorded transaction as an update, whose signature can be replaced. */
class Template {
  readonly #bytes: Buffer;
  readonly #places: readonly number[];

  constructor(item: Item, slot: number) {
    this.#bytes = Buffer.from(answerUpdate(item as unknown as Answer, slot));
    const signature = decodeBase58(signatureOf(item))!;
    const places: number[] = [];
    for (let at = this.#bytes.indexOf(signature); at !== -1; at = this.#bytes.indexOf(signature, at + 1)) places.push(at);
    this.#places = places;
  }

  next(): Buffer {
    const bytes = Buffer.from(this.#bytes);
    const signature = randomBytes(64);
    for (const at of this.#places) signature.copy(bytes, at);
    return bytes;
  }
}

/** CPU time of the process's main thread and of its others, in microseconds: Linux counts each thread's. */
function threadsUs(pid: number): readonly [main: number, others: number] {
  const tids = readdirSync(`/proc/${pid}/task`);
  const ofThread = (tid: string): number => Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
  const main = ofThread(String(pid));
  return [main, tids.reduce((sum, tid) => sum + ofThread(tid), 0) - main];
}

/** Microseconds for a message with protobuf.js alone: the reference. */
function referenceUs(messages: readonly Buffer[]): number {
  const rounds = Array.from({ length: 8 }, () => {
    const { user, system } = process.cpuUsage();
    for (const bytes of messages) proto.geyser.SubscribeUpdate.decode(bytes);
    const after = process.cpuUsage();
    return (after.user + after.system - user - system) / messages.length;
  });
  return Math.min(...rounds);
}

/** Sends updates to one client as fast as it takes them. The server of the tests waits after each message. */
class Sender {
  readonly #server = createServer();
  #stream: ServerHttp2Stream | null = null;

  async listen(): Promise<string> {
    this.#server.on('stream', (stream) => {
      stream.on('error', () => undefined).resume();
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
      this.#stream = stream;
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async send(messages: readonly Uint8Array[]): Promise<void> {
    const frames = messages.flatMap((message) => {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(message.length, 1);
      return [head, message];
    });
    if (this.#stream?.write(Buffer.concat(frames)) === false) await once(this.#stream, 'drain');
  }

  close(): void {
    this.#stream?.destroy();
    this.#server.close();
  }
}

interface Figure {
  readonly mainUs: number;
  readonly othersUs: number;
  readonly wallPerSecond: number;
  readonly events: number;
}

async function send(sender: Sender, templates: readonly Template[]): Promise<void> {
  const all = Array.from({ length: repetitions }, () => templates).flat();
  for (let at = 0; at < all.length; at += atOnce) await sender.send(all.slice(at, at + atOnce).map((one) => one.next()));
}

/** Waits until nothing was published for a while: the first pass reads accounts, and some events of the recording are lost. */
async function settled(child: ChildProcess): Promise<number> {
  for (let before = -1; ;) {
    const { published } = (await ask(child)).stats.publisher;
    if (published === before) return published;
    before = published;
    await pause(1_000);
  }
}

async function measure(child: ChildProcess, sender: Sender, templates: readonly Template[]): Promise<Figure> {
  await send(sender, templates);
  const first = await settled(child);
  await send(sender, templates);
  let published = await settled(child);
  const perPass = published - first;
  const count = templates.length * repetitions;
  const figures: Figure[] = [];
  for (let pass = 0; pass < passes; pass++) {
    const [mainBefore, othersBefore] = threadsUs(child.pid!);
    const startedMs = performance.now();
    await send(sender, templates);
    published += perPass;
    await until(child, ({ stats }) => stats.publisher.published >= published);
    const [main, others] = threadsUs(child.pid!);
    figures.push({
      mainUs: (main - mainBefore) / count,
      othersUs: (others - othersBefore) / count,
      wallPerSecond: count / ((performance.now() - startedMs) / 1000),
      events: perPass / count,
    });
  }
  return figures.toSorted((a, b) => a.mainUs + a.othersUs - b.mainUs - b.othersUs)[0]!;
}

/** Whole transactions of all venues in, published bytes out: from gRPC, through the thread that decodes and the main thread, to Redis. */
export async function run(): Promise<BenchRow[]> {
  if (!fixturesPresent) throw new Error('This benchmark needs the recorded transactions next to the repository.');
  const { items, accounts } = readRecording();
  const [node, sender, redis] = [await startScriptedNode(), new Sender(), await startRedis()];
  const grpcUrl = await sender.listen();
  let slot = slots[0];
  node.onCall = accountAnswers(accounts, slot);
  const child = startMeasured(node, { redisUrl: redis.url, keeper: 'other', grpcUrl, pinned: false });
  const clock = setInterval(() => void sender.send([slotUpdate(++slot, slot - 1, status.processed).bytes]), slotEveryMs);
  try {
    await until(child, ({ stats }) => stats.endpointsUp === 1 && stats.leads);
    const templates = items.map((item) => new Template(item, slot));
    const { mainUs, othersUs, wallPerSecond, events } = await measure(child, sender, templates);
    const perSecond = 1_000_000 / Math.max(mainUs, othersUs);
    const protobufUs = referenceUs(templates.map((one) => one.next()));
    return [
      {
        name: 'Whole transactions of all venues from gRPC, through Redis, two cores',
        figure: `${Math.round(perSecond).toLocaleString('en')} transactions/s: ${mainUs.toFixed(1)} µs of the main thread, ${othersUs.toFixed(1)} µs of the others`,
        target: `≥ ${targetPerSecond.toLocaleString('en')}`,
        pass: perSecond >= targetPerSecond,
        note: `${items.length} transactions of two blocks and of the recordings of all venues, ${events.toFixed(2)} events each, with new signatures; the rate at which the busier side has one core; best of ${passes} passes; ${Math.round(wallPerSecond).toLocaleString('en')}/s of wall-clock time with sender and Redis on the same cores; the reference: protobuf.js takes ${protobufUs.toFixed(1)} µs to read the message alone`,
      },
    ];
  } finally {
    clearInterval(clock);
    child.kill();
    sender.close();
    await node.close();
    await redis.stop();
  }
}
