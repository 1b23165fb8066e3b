import { installMissing } from '../support/product/install.ts';
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
/**
 * The product gives an endpoint 2.5 s, so an answer that waited for a liar takes longer. One that waited for honest endpoints takes up to two
 * seconds.
 */
const maxAnswerMs = 2_400;
/** The condition must hold, the nodes must agree, and the order must be confirmed; a refused order is repeated. */
const maxFiringMs = 20_000;
/** Additional time for two starts and judgements. After it the run ends in any case. */
const graceMs = 8 * 60_000;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<boolean> {
  if (!(minutes > 0 && minutes <= maxMinutes)) {
    print(`test:liars [minutes, at most ${maxMinutes}] [seed]`);
    return false;
  }
  const missing = await installMissing(print);
  for (const fault of missing) print(fault);
  if (missing.length > 0) return false;
  const late = setTimeout(
    () => {
      print('1 failed: it did not end in time');
      process.exit(1);
    },
    minutes * 60_000 + graceMs,
  );
  let findings = 0;
  for (const { endpoints, share } of parts) {
    print(`one of ${endpoints} endpoints lies for ${(minutes * share).toFixed(1)} minutes, seed ${seed}`);
    const durationMs = minutes * share * 60_000;
    const { faults, ...report } = await runLiars({ seed, endpoints, wallets, durationMs, lieMs, maxAnswerMs, maxFiringMs, print });
    print(JSON.stringify(report));
    for (const fault of faults) print(`  ${fault}`);
    findings += faults.length;
  }
  clearTimeout(late);
  print(`${findings} findings, seed ${seed}`);
  return findings === 0;
}

process.exitCode = (await main()) ? 0 : 1;
