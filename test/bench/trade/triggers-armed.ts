import { fork, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BusEntry } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { encodeTrade } from '@sluice/shared/codec/encode-event.ts';
import { verdictEntry } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { topicsOf } from '../../../ingest/src/publisher/outgoing.ts';
import { silentLog } from '../../contract/bus-harness.ts';
import { addressOf, priceEvent, tradeEvent } from '../../support/events/stream-events.ts';
import { nodeFlags } from '../../support/command-line.ts';
import { startRedis } from '../../support/servers/redis.ts';
import { end } from '../children.ts';
import type { BenchRow } from '../row.ts';
import { cpuUs } from '../stream/stream-rig.ts';

/** The children run with its settings of the heap. */
const gateway = 'cli/gateway.ts';
const armed = 100_000;
const mints = 10_000;
const ticksPerSecond = 2_000;
const stepMs = 25;
const warmUpMs = 5_000;
const measuredMs = 20_000;
const targetShare = 0.2;
const targetBytes = 200 * 1024 * 1024;
const firstSlot = 380_146_923;
const sol = 1_000_000_000;

interface Report {
  readonly entries: number;
  readonly fired: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

/** The cost of armed triggers, for the process that watches them, next to one that only decodes the same entries. */
export async function run(): Promise<BenchRow[]> {
  const redis = await startRedis();
  const bus = await createBus({ redisUrls: [redis.url], log: silentLog });
  const children = [await start('watch', redis.url), await start('decode', redis.url)] as const;
  try {
    const publisher = await bus.publisher();
    const market = new Market();
    await play(warmUpMs, (entries) => publisher.publish(entries), market);
    const before = children.map(({ pid }) => cpuUs(pid!));
    const startMs = performance.now();
    await play(measuredMs, (entries) => publisher.publish(entries), market);
    const tookUs = (performance.now() - startMs) * 1_000;
    const [watching, decoding] = children.map(({ pid }, at) => (cpuUs(pid!) - before[at]!) / tookUs) as [number, number];
    const [report, other] = await Promise.all([reportOf(children[0]), reportOf(children[1])]);
    const perSecond = Math.round((market.ticks * 1_000) / (warmUpMs + measuredMs));
    const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
    const mega = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;
    const load = `${armed.toLocaleString('en-US')} triggers over ${mints.toLocaleString('en-US')} coins, ${perSecond} trades with their ticks a second`;
    return [
      {
        name: 'Armed triggers: CPU time of their process',
        figure: `${percent(watching)} of a core`,
        target: `≤ ${percent(targetShare)}`,
        pass: watching <= targetShare && perSecond >= 0.95 * ticksPerSecond && report.fired > 0,
        note: `${load}, of which ${report.fired} fired; a process that only decodes the same ticks: ${percent(decoding)}`,
      },
      {
        name: 'Armed triggers: memory of their process',
        figure: mega(report.heapUsed + report.external),
        target: `≤ ${mega(targetBytes)}`,
        pass: report.heapUsed + report.external <= targetBytes,
        note: `in use after a collection, all of the process; the one that only decodes: ${mega(other.heapUsed + other.external)}. Resident, with the compiler of the tests: ${mega(report.rss)} and ${mega(other.rss)}`,
      },
    ];
  } finally {
    for (const child of children) await end(child);
    await bus.close();
    await redis.stop();
  }
}

/** Prices that wander. Slots of 400 ms, each confirmed two slots later. */
class Market {
  ticks = 0;
  readonly #prices = new Float64Array(mints).fill(1);
  #slot = firstSlot;
  #slotAtMs = performance.now();

  next(count: number): BusEntry[] {
    const entries: BusEntry[] = [];
    if (performance.now() - this.#slotAtMs > 400) {
      this.#slotAtMs = performance.now();
      entries.push(verdictEntry({ alive: [this.#slot - 2], dead: [], decidedTo: this.#slot - 2 }));
      this.#slot++;
    }
    for (let left = count; left > 0; left--) entries.push(this.#trade());
    return entries;
  }

  #trade(): BusEntry {
    // Few coins have most trades.
    const index = Math.floor(mints ** ((this.ticks++ * 0.618_033_988_749) % 1));
    const price = (this.#prices[index]! *= 1 + (Math.random() - 0.5) / 50);
    const mint = addressOf(index);
    const amount = String(50 * sol);
    const values = {
      priceQuote: price,
      priceSol: price,
      priceUsd: price * 150,
      reserves: { virtualBase: '1', virtualQuote: amount, realBase: '1', realQuote: amount },
    };
    const us = Math.round((performance.timeOrigin + performance.now()) * 1_000);
    const common = { slot: this.#slot, ts: { received: us, published: us }, ...values };
    const trade = tradeEvent(mint, { trader: addressOf(20_000 + (index % 1_000)), ...common });
    const { id, signature, poolAddress } = trade;
    const tick = priceEvent(mint, { id: `${id}.price`, signature, poolAddress, mainPool: poolAddress, ...common });
    return { topics: topicsOf(trade), tickTopics: topicsOf(tick), record: encodeTrade(trade, tick)! };
  }
}

async function play(durationMs: number, publish: (entries: readonly BusEntry[]) => Promise<void>, market: Market): Promise<void> {
  const startMs = performance.now();
  const before = market.ticks;
  for (let step = 1; performance.now() - startMs < durationMs; step++) {
    const due = Math.round(((performance.now() - startMs) * ticksPerSecond) / 1_000) - (market.ticks - before);
    if (due > 0) await publish(market.next(due));
    await delay(Math.max(0, startMs + step * stepMs - performance.now()));
  }
}

async function start(role: 'watch' | 'decode', redisUrl: string): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('triggers-armed-child.ts', import.meta.url)), [role, redisUrl, String(armed), String(mints)], {
    execArgv: ['--expose-gc', ...nodeFlags(gateway), '--import', 'tsx'],
  });
  await new Promise((resolve) => child.once('message', resolve));
  return child;
}

function reportOf(child: ChildProcess): Promise<Report> {
  const answer = new Promise<Report>((resolve) => child.once('message', (message) => resolve(message as Report)));
  child.send('report');
  return answer;
}
