import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from '../support/command-line.ts';
import { noTarget, type BenchRow } from './row.ts';

/**
 * `pnpm bench [name…] [--write]`: measures, prints the table and, with --write, replaces the table in BENCHMARKS.md. Each benchmark runs in
 * its own process, one after the other.
 */
const folder = dirname(fileURLToPath(import.meta.url));
const document = join(folder, '../../docs/BENCHMARKS.md');
const benchmarks: Readonly<Record<string, () => Promise<Benchmark>>> = {
  decode: () => import('./ingest/decode.ts'),
  block: () => import('./ingest/block.ts'),
  auth: () => import('./http/auth.ts'),
  ingest: () => import('./ingest/ingest.ts'),
  whole: () => import('./ingest/whole.ts'),
  bus: () => import('./bus/bus.ts'),
  'redis-cost': () => import('./bus/redis-cost.ts'),
  market: () => import('./market.ts'),
  fanout: () => import('./stream/fanout.ts'),
  compression: () => import('./stream/compression.ts'),
  load: () => import('./stream/load.ts'),
  saturate: () => import('./stream/saturate.ts'),
  drain: () => import('./stream/drain.ts'),
  continuity: () => import('./ingest/continuity.ts'),
  gap: () => import('./bus/gap.ts'),
  latency: () => import('./stream/latency.ts'),
  limiter: () => import('./http/limiter.ts'),
  http: () => import('./http/http.ts'),
  'trade-build': () => import('./trade/trade-build.ts'),
  'trade-sign': () => import('./trade/trade-sign.ts'),
  'trade-http': () => import('./trade/trade-http.ts'),
  triggers: () => import('./trade/triggers.ts'),
  'trade-hop': () => import('./trade/trade-hop.ts'),
  'triggers-armed': () => import('./trade/triggers-armed.ts'),
  simnet: () => import('./simnet.ts'),
};
const names = Object.keys(benchmarks);
/** Garbage collections are part of a turn of the event loop, so these benchmarks run with the product's settings of the heap. */
const programs: Readonly<Record<string, string>> = { gap: 'ingest/src/main.ts' };
const rowsMark = 'bench-rows ';

interface Benchmark {
  run(): Promise<readonly BenchRow[]>;
}

/** In the child: runs one benchmark, and prints its rows as the last line. */
async function runHere(name: string): Promise<void> {
  const rows = await (await benchmarks[name]?.())?.run();
  process.stdout.write(`\n${rowsMark}${JSON.stringify(rows)}\n`, () => process.exit(0));
}

function runInChild(name: string): Promise<readonly BenchRow[]> {
  return new Promise((resolve, reject) => {
    const program = programs[name];
    const flags = program === undefined ? [] : nodeFlags(program);
    const child = spawn(process.execPath, [...flags, '--import', 'tsx', fileURLToPath(import.meta.url), '--child', name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', reject);
    child.on('close', (code) => {
      const line = output.split('\n').findLast((candidate) => candidate.startsWith(rowsMark));
      if (code === 0 && line !== undefined) resolve(JSON.parse(line.slice(rowsMark.length)) as BenchRow[]);
      else reject(new Error(`the benchmark ${name} ended with ${code} and returned no rows`));
    });
  });
}

function machine(): string {
  const processors = cpus();
  const redis = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  const redisVersion = /v=([\d.]+)/.exec(redis.stdout ?? '')?.[1] ?? 'none';
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${processors[0]?.model.trim() ?? 'unknown processor'}, ${processors.length} cores, ${memory} GiB; ${type()} ${release()}; Node.js ${process.versions.node}; Redis ${redisVersion}; ${new Date().toISOString().slice(0, 10)}`;
}

function table(rows: readonly BenchRow[]): string {
  const lines = rows.map(
    ({ name, figure, target, pass, note }) =>
      `| ${name} | ${figure} | ${target} | ${target === noTarget ? '–' : pass ? 'yes' : '**no**'} | ${note ?? ''} |`,
  );
  return ['| measured | figure | target | reached | how |', '|---|---|---|---|---|', ...lines, '', `Measured on: ${machine()}.`].join('\n');
}

function writeDocument(text: string): void {
  const current = readFileSync(document, 'utf8');
  const next = current.replace(/<!-- bench -->[\s\S]*?<!-- \/bench -->/, () => `<!-- bench -->\n${text}\n<!-- /bench -->`);
  if (!next.includes(text)) throw new Error('BENCHMARKS.md has no marks for the table');
  writeFileSync(document, next);
}

async function main(args: readonly string[]): Promise<number> {
  const asked = args.filter((arg) => !arg.startsWith('--'));
  const unknown = asked.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    console.error(`Unknown benchmark: ${unknown.join(', ')}. Known: ${names.join(', ')}.`);
    return 2;
  }
  const rows: BenchRow[] = [];
  for (const name of asked.length > 0 ? asked : names) {
    console.error(`${name} …`);
    const measured = await runInChild(name);
    for (const row of measured) console.error(`  ${row.pass ? 'ok  ' : 'FAIL'} ${row.name}: ${row.figure} (${row.target})`);
    rows.push(...measured);
  }
  const text = table(rows);
  console.log(text);
  if (args.includes('--write')) writeDocument(text);
  return rows.every((row) => row.pass) ? 0 : 1;
}

const [flag, child] = process.argv.slice(2);
if (flag === '--child' && child !== undefined) await runHere(child);
else process.exitCode = await main(process.argv.slice(2));
