import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installMissing } from '../support/product/install.ts';
import { runChaos } from './chaos-run.ts';
import { openChaosWorld } from './chaos-world.ts';

/** `pnpm test:chaos [minutes] [seed]`: runs the chaos test for the requested time, and reports each step. */
const [minutesText = '10', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2).filter((arg) => arg !== '--');
const minutes = Number(minutesText);
const maxMinutes = 240;
/** This share of the requested time comes first; then Redis loses its memory as well. */
const keepingShare = 0.8;
const tradesPerSecond = 200;
const clients = 16;
const readers = { processes: 2, each: 60 };
/** Additional time for start, rest and judgement. After it the run ends in any case. */
const graceMs = 20 * 60_000;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

/** Writes a file of its own; returns its name. */
function writeEvidence(lines: readonly string[]): string {
  const file = join(mkdtempSync(join(tmpdir(), `sluice-chaos-evidence-${seed}-`)), 'evidence.txt');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

async function main(): Promise<boolean> {
  if (!(minutes > 0 && minutes <= maxMinutes)) {
    print(`test:chaos [minutes, at most ${maxMinutes}] [seed]`);
    return false;
  }
  const missing = await installMissing(print);
  for (const fault of missing) print(fault);
  if (missing.length > 0) return false;
  print(`chaos for ${minutes} minutes, seed ${seed}`);
  const world = await openChaosWorld({ seed, tradesPerSecond });
  const late = setTimeout(
    () => {
      print('1 failed: it did not end in time');
      void world.close().finally(() => process.exit(1));
    },
    minutes * 60_000 + graceMs,
  );
  const printed: string[] = [];
  const note = (text: string): void => {
    printed.push(`${new Date().toISOString()} ${text}`);
    print(text);
  };
  try {
    const durationMs = minutes * 60_000 * keepingShare;
    const forgetfulMs = minutes * 60_000 * (1 - keepingShare);
    const startedAtMs = performance.now();
    const { faults, evidence, done, ...report } = await runChaos(world, { seed, durationMs, forgetfulMs, clients, readers, print: note });
    const seconds = (performance.now() - startedAtMs) / 1_000;
    print(JSON.stringify({ seed, done, ...report }));
    for (const fault of faults) print(`  ${fault}`);
    if (evidence.length > 0) print(`evidence: ${writeEvidence([...printed, ...evidence])}`);
    const { deliveries, resumes, gapsReported, silentGaps, duplicates } = report;
    const injected = sum(done);
    print(`${deliveries} deliveries (${Math.round(deliveries / seconds)} a second), ${injected} faults injected, ${resumes} resumes,`);
    print(
      `${sum(gapsReported)} gaps reported, ${silentGaps} silent gaps, ${duplicates} duplicates, ${faults.length} findings, seed ${seed}`,
    );
    return faults.length === 0 && silentGaps === 0 && duplicates === 0;
  } finally {
    clearTimeout(late);
    await world.close();
  }
}

process.exitCode = (await main()) ? 0 : 1;
