import { setTimeout as delay } from 'node:timers/promises';
import { installMissing } from '../support/install.ts';
import { growthOf } from './growth.ts';
import { Load } from './load.ts';
import { bounds, cached, measures, Sampler, type Measure } from './sampler.ts';
import { openSoakWorld, type SoakWorld } from './world.ts';

/** `pnpm test:soak [minutes]`: the whole system under the same load for as long as wanted; fails where memory or handles of a process grow. */
const [minutesText = '30'] = process.argv.slice(2).filter((arg) => arg !== '--');
const minutes = Number(minutesText);
const sampleEveryMs = 10_000;
const leastMinutes = 1;
const mostMinutes = 24 * 60;
const tell = (text: string): void => void process.stdout.write(`${text}\n`);

const mebibyte = 1024 * 1024;
const shown = (measure: Measure, value: number): string =>
  measure === 'held' || measure === 'resident' ? (value / mebibyte).toFixed(1) : value.toFixed(0);

/** Some of many, from the first to the last. */
function courseOf(values: readonly string[]): string {
  const steps = 15;
  return Array.from({ length: steps + 1 }, (_, i) => values[Math.round((i / steps) * (values.length - 1))]).join(' ');
}

/** One line a process and measure; those that grow beyond their bound. */
function judge(sampler: Sampler, { watched }: SoakWorld): number {
  tell(['process', 'measure', 'first', 'level', 'last', 'grown', 'allowed'].map((word) => word.padEnd(12)).join(''));
  let growing = 0;
  for (const { name } of watched) {
    const inCaches = sampler.samples(name, cached).map(({ value }) => (value / mebibyte).toFixed(1));
    if (inCaches.length > 0)
      tell(
        [name, 'caches MiB', inCaches[0]!, '', inCaches.at(-1)!, '', '', 'not judged: they fill'].map((word) => word.padEnd(12)).join(''),
      );
    for (const measure of measures) {
      const samples = sampler.samples(name, measure);
      const growth = growthOf(samples, bounds[measure]);
      if (growth === null) continue;
      // Redis keeps 240,000 events and the market's state: it fills for longer than this lasts.
      const isJudged = !(name === 'Redis' && measure === 'resident');
      const values = [samples[0]!.value, growth.level, samples.at(-1)!.value, growth.grown, growth.allowed].map((value) =>
        shown(measure, value),
      );
      const verdict = growth.isGrowing && isJudged ? 'GROWS' : isJudged ? '' : 'not judged: it fills';
      tell([name, bounds[measure].name, ...values, verdict].map((word) => word.padEnd(12)).join(''));
      if (growth.isGrowing && isJudged) {
        growing++;
        tell(`${name.padEnd(12)}${'its course'.padEnd(12)}${courseOf(samples.map(({ value }) => shown(measure, value)))}`);
      }
    }
  }
  return growing;
}

async function main(): Promise<boolean> {
  if (!(minutes >= leastMinutes && minutes <= mostMinutes)) {
    tell(`test:soak [minutes, ${leastMinutes} to ${mostMinutes}]`);
    return false;
  }
  const missing = await installMissing(new URL('..', import.meta.url).pathname, tell);
  for (const fault of missing) tell(fault);
  if (missing.length > 0) return false;
  tell(`soak for ${minutes} minutes; the first third warms up`);
  const world = await openSoakWorld();
  const load = new Load(world);
  try {
    const faults: unknown[] = [];
    const running = load.run().catch((error: unknown) => void faults.push(error));
    const sampler = new Sampler(world.watched);
    const endMs = performance.now() + minutes * 60_000;
    for (let dueMs = performance.now(); dueMs < endMs && faults.length === 0; dueMs += sampleEveryMs) {
      await delay(Math.max(0, dueMs - performance.now()));
      await sampler.sample();
    }
    load.end();
    await running;
    if (faults.length > 0) throw faults[0];
    const growing = judge(sampler, world);
    tell(JSON.stringify(load.counts));
    const { messages, readsFailed, reads, ordersFinal } = load.counts;
    const worked = messages > 0 && ordersFinal > 0 && readsFailed < reads / 20;
    if (!worked) tell('the load did not do its work');
    tell(growing === 0 ? 'nothing grows' : `${growing} grow beyond their bounds`);
    return growing === 0 && worked;
  } finally {
    load.end();
    await world.close();
  }
}

process.exit((await main()) ? 0 : 1);
