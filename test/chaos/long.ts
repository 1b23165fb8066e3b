import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installMissing } from '../support/install.ts';
import { runChaos } from './chaos-run.ts';
import { openChaosWorld } from './chaos-world.ts';

/** `pnpm test:chaos [minutes] [seed]`: the chaos test for as long as wanted, told step by step. */
const [minutesText = '10', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2).filter((arg) => arg !== '--');
const minutes = Number(minutesText);
const maxMinutes = 240;
/** Of the time asked for; then Redis forgets as well. */
const keepingShare = 0.8;
const tradesPerSecond = 200;
const clients = 16;
const readers = { processes: 2, each: 60 };
/** Beyond the time asked for: start, rest and judgement. Then it ends whatever is the matter. */
const graceMs = 8 * 60_000;
const tell = (text: string): void => void process.stdout.write(`${text}\n`);

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

/** Into a file of its own; its name. */
function writeEvidence(lines: readonly string[]): string {
  const file = join(mkdtempSync(join(tmpdir(), `sluice-chaos-evidence-${seed}-`)), 'evidence.txt');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

async function main(): Promise<boolean> {
  if (!(minutes > 0 && minutes <= maxMinutes)) {
    tell(`test:chaos [minutes, at most ${maxMinutes}] [seed]`);
    return false;
  }
  const missing = await installMissing(new URL('..', import.meta.url).pathname, tell);
  for (const fault of missing) tell(fault);
  if (missing.length > 0) return false;
  tell(`chaos for ${minutes} minutes, seed ${seed}`);
  const world = await openChaosWorld({ seed, tradesPerSecond });
  const late = setTimeout(
    () => {
      tell('1 failed: it did not come to its end in time');
      void world.close().finally(() => process.exit(1));
    },
    minutes * 60_000 + graceMs,
  );
  const told: string[] = [];
  const note = (text: string): void => {
    told.push(`${new Date().toISOString()} ${text}`);
    tell(text);
  };
  try {
    const durationMs = minutes * 60_000 * keepingShare;
    const forgetfulMs = minutes * 60_000 * (1 - keepingShare);
    const startedAtMs = performance.now();
    const { faults, evidence, done, ...report } = await runChaos(world, { seed, durationMs, forgetfulMs, clients, readers, tell: note });
    const seconds = (performance.now() - startedAtMs) / 1_000;
    tell(JSON.stringify({ seed, done, ...report }));
    for (const fault of faults) tell(`  ${fault}`);
    if (evidence.length > 0) tell(`evidence: ${writeEvidence([...told, ...evidence])}`);
    const { deliveries, resumes, gapsTold, silentGaps, duplicates } = report;
    const injected = sum(done);
    tell(`${deliveries} deliveries (${Math.round(deliveries / seconds)} a second), ${injected} faults injected, ${resumes} resumes,`);
    tell(`${sum(gapsTold)} gaps told, ${silentGaps} silent gaps, ${duplicates} duplicates, ${faults.length} findings, seed ${seed}`);
    return faults.length === 0 && silentGaps === 0 && duplicates === 0;
  } finally {
    clearTimeout(late);
    await world.close();
  }
}

process.exitCode = (await main()) ? 0 : 1;
