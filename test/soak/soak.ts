import { setTimeout as delay } from 'node:timers/promises';
import { installMissing } from '../support/product/install.ts';
import { openEmbeddedWorld } from './embedded-world.ts';
import { growthOf } from './growth.ts';
import { Load } from './load.ts';
import { bounds, cached, measures, Sampler, type Measure, type Watched } from './sampler.ts';
import { openSoakWorld } from './world.ts';

/**
 * `pnpm test:soak [minutes] [fleet|embedded] [speed]`: fails if memory or handles of a process grow. `fleet`, the default: two gateways and
 * two ingest processes under a steady load. `embedded`: only `start`, on a market that moves `speed` times faster (30 by default: 48
 * minutes are a day of it); it must also stay below a fixed size.
 */
const forms = ['fleet', 'embedded'] as const;
const [minutesText = '30', formText = 'fleet', speedText = '30'] = process.argv.slice(2).filter((arg) => arg !== '--');
const minutes = Number(minutesText);
const form = forms.find((one) => one === formText);
const sampleEveryMs = 10_000;
const leastMinutes = 1;
const mostMinutes = 24 * 60;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const mebibyte = 1024 * 1024;
const shown = (measure: Measure, value: number): string =>
  measure === 'held' || measure === 'resident' ? (value / mebibyte).toFixed(1) : value.toFixed(0);

/** Some of many samples, from the first to the last. */
function courseOf(values: readonly string[]): string {
  const steps = 15;
  return Array.from({ length: steps + 1 }, (_, i) => values[Math.round((i / steps) * (values.length - 1))]).join(' ');
}

/** Prints one line for each process and measure; returns those that grow above their bound. */
function judge(sampler: Sampler, watched: readonly Watched[]): number {
  print(['process', 'measure', 'first', 'level', 'last', 'grown', 'allowed'].map((word) => word.padEnd(12)).join(''));
  let growing = 0;
  for (const { name, mostResidentBytes = Infinity } of watched) {
    const mostBytes = Math.max(...sampler.samples(name, 'resident').map(({ value }) => value));
    if (mostBytes > mostResidentBytes) {
      growing++;
      print(`${name}: ${shown('resident', mostBytes)} MiB resident; ${shown('resident', mostResidentBytes)} are allowed`);
    } else print(`${name}: at most ${shown('resident', mostBytes)} MiB resident`);
    const inCaches = sampler.samples(name, cached).map(({ value }) => (value / mebibyte).toFixed(1));
    if (inCaches.length > 0)
      print(
        [name, 'caches MiB', inCaches[0]!, '', inCaches.at(-1)!, '', '', 'not judged: they fill'].map((word) => word.padEnd(12)).join(''),
      );
    for (const measure of measures) {
      const samples = sampler.samples(name, measure);
      const growth = growthOf(samples, bounds[measure]);
      if (growth === null) continue;
      // Redis stores 240,000 events and the market's state: it fills for longer than this run lasts.
      const isJudged = !(name === 'Redis' && measure === 'resident');
      const values = [samples[0]!.value, growth.level, samples.at(-1)!.value, growth.grown, growth.allowed].map((value) =>
        shown(measure, value),
      );
      const verdict = growth.isGrowing && isJudged ? 'GROWS' : isJudged ? '' : 'not judged: it fills';
      print([name, bounds[measure].name, ...values, verdict].map((word) => word.padEnd(12)).join(''));
      if (growth.isGrowing && isJudged) {
        growing++;
        print(`${name.padEnd(12)}${'its course'.padEnd(12)}${courseOf(samples.map(({ value }) => shown(measure, value)))}`);
      }
    }
  }
  return growing;
}

/** Takes samples until the time is over, or until `isOver` reports that there is no more to see. */
async function watch(sampler: Sampler, isOver: () => boolean): Promise<void> {
  const endMs = performance.now() + minutes * 60_000;
  for (let dueMs = performance.now(); dueMs < endMs && !isOver(); dueMs += sampleEveryMs) {
    await delay(Math.max(0, dueMs - performance.now()));
    await sampler.sample();
  }
}

async function soakFleet(): Promise<boolean> {
  const world = await openSoakWorld();
  const load = new Load(world);
  try {
    const faults: unknown[] = [];
    const running = load.run().catch((error: unknown) => void faults.push(error));
    const sampler = new Sampler(world.watched);
    await watch(sampler, () => faults.length > 0);
    load.end();
    await running;
    if (faults.length > 0) throw faults[0];
    const growing = judge(sampler, world.watched);
    print(JSON.stringify(load.counts));
    const { messages, readsFailed, reads, ordersFinal } = load.counts;
    const worked = messages > 0 && ordersFinal > 0 && readsFailed < reads / 20;
    if (!worked) print('the load did not do its work');
    return report(growing) && worked;
  } finally {
    load.end();
    await world.close();
  }
}

async function soakEmbedded(): Promise<boolean> {
  const world = await openEmbeddedWorld(Number(speedText));
  try {
    const sampler = new Sampler(world.watched);
    await watch(sampler, () => false);
    return report(judge(sampler, world.watched));
  } finally {
    await world.close();
  }
}

function report(growing: number): boolean {
  print(growing === 0 ? 'nothing grows' : `${growing} grow beyond their bounds`);
  return growing === 0;
}

async function main(): Promise<boolean> {
  if (!(minutes >= leastMinutes && minutes <= mostMinutes) || form === undefined) {
    print(`test:soak [minutes, ${leastMinutes} to ${mostMinutes}] [${forms.join('|')}]`);
    return false;
  }
  const missing = await installMissing(print);
  for (const fault of missing) print(fault);
  if (missing.length > 0) return false;
  print(`soak of the ${form} for ${minutes} minutes; the first third warms up`);
  return form === 'fleet' ? soakFleet() : soakEmbedded();
}

process.exit((await main()) ? 0 : 1);
