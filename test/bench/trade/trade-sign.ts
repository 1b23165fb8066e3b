import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { judge } from '@sluice/trading/signer/checks/check-message.ts';
import type { SigningProcess } from '@sluice/trading/signer/client/client.ts';
import { newSignerPlace } from '../../signer/harness.ts';
import { buyMessage, stranger } from '../../signer/messages.ts';
import { costOf, diskCost, type Cost } from '../bus/durable-line.ts';
import type { BenchRow } from '../row.ts';

const warmup = 2_000;
const signatures = 5_000;
const atOnce = 32;
const mints = 20;
const targetP50Ms = 0.25;
const targetP99Ms = 1.2;

/**
 * Signatures of the signing process, including policy and audit line. The time that the disk needs for such a line is measured separately.
 */
export async function run(): Promise<BenchRow[]> {
  const place = await newSignerPlace();
  try {
    const wallet = await place.wallet();
    const limits = { maxOrderLamports: 10n ** 12n, maxDayLamports: 10n ** 15n };
    const signer = place.signer({ limits });
    const started = await signer.started;
    if (!started.ok) throw new Error(started.what);
    const coins = Array.from({ length: mints }, (_, index) => stranger(index));
    const messages = Array.from({ length: warmup + signatures }, (_, index) =>
      buyMessage(wallet, coins[index % mints] ?? '', 1_000n + BigInt(index)),
    );
    const policyUs = policyCost(wallet, messages);
    const disk = diskCost(join(place.dataDir, 'disk'));
    const alone = await inTurn(signer, wallet, messages);
    const perSecond = await together(signer, wallet, messages);
    return [
      {
        name: 'Time to sign one message in the signing process',
        figure: `p50 ${alone.p50Ms.toFixed(3)} ms, p99 ${alone.p99Ms.toFixed(3)} ms`,
        target: `p50 ≤ ${targetP50Ms} ms, p99 ≤ ${targetP99Ms} ms`,
        pass: alone.p50Ms <= targetP50Ms && alone.p99Ms <= targetP99Ms,
        note: `${signatures.toLocaleString('en-US')} consecutive messages; each is decoded, checked against the policy, logged and signed, while the audit line of the previous message is flushed to disk; the policy alone ${policyUs.toFixed(0)} µs, flushing one line alone p50 ${disk.p50Ms.toFixed(3)} ms, p99 ${disk.p99Ms.toFixed(3)} ms; ${atOnce} at once: ${Math.round(perSecond).toLocaleString('en-US')} signatures a second`,
      },
    ];
  } finally {
    await place.end();
  }
}

async function sign(signer: SigningProcess, publicKey: string, message: Uint8Array): Promise<void> {
  const outcome = await signer.sign({ orderId: 'bench', publicKey, message });
  if (!outcome.ok) throw new Error(`not signed: ${outcome.reason}`);
}

async function inTurn(signer: SigningProcess, wallet: string, messages: readonly Uint8Array[]): Promise<Cost> {
  const tookMs = new Float64Array(signatures);
  for (const [index, message] of messages.entries()) {
    const startedAt = performance.now();
    await sign(signer, wallet, message);
    if (index >= warmup) tookMs[index - warmup] = performance.now() - startedAt;
  }
  return costOf(tookMs);
}

/** Signatures a second with `atOnce` of them in progress. */
async function together(signer: SigningProcess, wallet: string, messages: readonly Uint8Array[]): Promise<number> {
  let next = 0;
  const startedAt = performance.now();
  const work = async (): Promise<void> => {
    for (let index = next++; index < messages.length; index = next++) await sign(signer, wallet, messages[index]!);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return (messages.length * 1_000) / (performance.now() - startedAt);
}

function policyCost(wallet: string, messages: readonly Uint8Array[]): number {
  for (const message of messages.slice(0, warmup)) judge(message, wallet);
  const startedAt = performance.now();
  for (const message of messages) if (!judge(message, wallet).ok) throw new Error('a valid message was refused');
  return ((performance.now() - startedAt) * 1_000) / messages.length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await run());
