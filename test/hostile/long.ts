import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Cases } from './cases.ts';
import { readSeeds } from './seeds.ts';

/**
 * `pnpm test:fuzz`, first part: a million mutated inputs through all decoders, in a thread with a bounded heap. A case that takes longer than its limit
 * is a failure. Alone: `node --import tsx hostile/long.ts [cases] [seed] [first case]`, from `test/`.
 */
const [casesText = '1000000', seedText = process.env['FUZZ_SEED'] ?? String(Date.now() % 1_000_000), firstText = '0'] =
  process.argv.slice(2);
const maxHeapMb = 384;
/** A case takes some microseconds; the limit allows for a loaded machine. */
const maxCaseMs = 10_000;
const yieldEvery = 500;

interface Task {
  readonly seed: number;
  readonly first: number;
  readonly cases: number;
  /** The case that runs. */
  readonly at: Int32Array;
}
interface Report {
  readonly found: Readonly<Record<string, number>>;
  readonly fault: string | null;
  readonly slowest: { readonly at: number; readonly ms: number };
}

async function runCases({ seed, first, cases, at }: Task): Promise<Report> {
  const all = new Cases(await readSeeds(), seed);
  const found: Record<string, number> = {};
  let slowest = { at: -1, ms: 0 };
  const report = (fault: string | null): Report => ({ found, fault, slowest });
  for (let number = first; number < first + cases; number++) {
    Atomics.store(at, 0, number);
    const startedMs = performance.now();
    try {
      const { kind, became } = all.run(number);
      found[`${kind} ${became}`] = (found[`${kind} ${became}`] ?? 0) + 1;
    } catch (error) {
      return report(`case ${number}: ${error instanceof Error ? error.stack : String(error)}`);
    }
    const ms = performance.now() - startedMs;
    if (ms > slowest.ms) slowest = { at: number, ms };
    if (number % yieldEvery === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return report(null);
}

/** Null if the thread ended by itself. */
async function supervise(task: Task): Promise<Report> {
  const program = `import('tsx/esm/api').then(({ register }) => { register(); return import(${JSON.stringify(import.meta.url)}); })`;
  const worker = new Worker(program, { eval: true, workerData: task, resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } });
  let seen = { at: -2, sinceMs: 0 };
  return await new Promise<Report>((resolve) => {
    const end = (report: Report): void => {
      clearInterval(watch);
      resolve(report);
      void worker.terminate();
    };
    const failed = (why: string): void => end({ found: {}, fault: `case ${Atomics.load(task.at, 0)}: ${why}`, slowest: { at: -1, ms: 0 } });
    const watch = setInterval(() => {
      const at = Atomics.load(task.at, 0);
      if (at !== seen.at) seen = { at, sinceMs: performance.now() };
      else if (at >= 0 && performance.now() - seen.sinceMs > maxCaseMs) failed(`it hangs for ${maxCaseMs} ms`);
    }, 500);
    worker.on('message', end);
    worker.on('error', (error) => failed(String(error.stack ?? error)));
    worker.on('exit', (code) => failed(`the thread ended with the code ${code}`));
  });
}

async function main(): Promise<boolean> {
  const [cases, seed, first] = [Number(casesText), Number(seedText), Number(firstText)];
  process.stdout.write(`${cases} mutated inputs, seed ${seed}, from case ${first}\n`);
  const at = new Int32Array(new SharedArrayBuffer(4)).fill(-1);
  const startedMs = performance.now();
  const { found, fault, slowest } = await supervise({ seed, first, cases, at });
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const rows = Object.entries(found).toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [what, count] of rows) process.stdout.write(`  ${what}: ${count}\n`);
  const rss = Math.round(process.resourceUsage().maxRSS / 1_024);
  process.stdout.write(`${seconds} s, slowest case ${slowest.at}: ${slowest.ms.toFixed(0)} ms, at most ${rss} MB\n`);
  process.stdout.write(fault === null ? `${cases} passed, 0 failed\n` : `1 failed, seed ${seed}: ${fault}\n`);
  return fault === null;
}

if (isMainThread) process.exitCode = (await main()) ? 0 : 1;
else {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(await runCases(workerData as Task));
}
