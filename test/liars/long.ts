import { installMissing } from '../support/install.ts';
import { runLiars } from './liars-run.ts';

/** `pnpm test:liars [minutes] [seed]`: one of three endpoints lies for two thirds of the time, then one of two. */
const [minutesText = '10', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2).filter((arg) => arg !== '--');
const minutes = Number(minutesText);
const maxMinutes = 240;
const parts = [
  { endpoints: 3, share: 2 / 3 },
  { endpoints: 2, share: 1 / 3 },
];
const wallets = 4;
const lieMs = 4_000;
const maxAnswerMs = 1_000;
/** Beyond the time asked for: two starts and judgements. Then it ends whatever is the matter. */
const graceMs = 8 * 60_000;
const tell = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<boolean> {
  if (!(minutes > 0 && minutes <= maxMinutes)) {
    tell(`test:liars [minutes, at most ${maxMinutes}] [seed]`);
    return false;
  }
  const missing = await installMissing(new URL('..', import.meta.url).pathname, tell);
  for (const fault of missing) tell(fault);
  if (missing.length > 0) return false;
  const late = setTimeout(
    () => {
      tell('1 failed: it did not come to its end in time');
      process.exit(1);
    },
    minutes * 60_000 + graceMs,
  );
  let findings = 0;
  for (const { endpoints, share } of parts) {
    tell(`one of ${endpoints} endpoints lies for ${(minutes * share).toFixed(1)} minutes, seed ${seed}`);
    const durationMs = minutes * share * 60_000;
    const { faults, ...report } = await runLiars({ seed, endpoints, wallets, durationMs, lieMs, maxAnswerMs, tell });
    tell(JSON.stringify(report));
    for (const fault of faults) tell(`  ${fault}`);
    findings += faults.length;
  }
  clearTimeout(late);
  tell(`${findings} findings, seed ${seed}`);
  return findings === 0;
}

process.exitCode = (await main()) ? 0 : 1;
