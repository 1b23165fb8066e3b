import { once } from 'node:events';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { SigningProcess } from '@sluice/trading/signer/client/client.ts';
import { openStore } from '@sluice/gateway/store/store.ts';
import { buyMessage, stranger } from './messages.ts';
import { silentLog } from './silent-log.ts';

/**
 * What the gateway's user can do to a signing process of another user. A process of that user tries it, and prints one line of JSON for
 * each attempt.
 */
const [dataDir = '', socket = '', signerDir = '', passphraseFile = '', wallet = '', lamports = '', mode = ''] = process.argv.slice(2);
const say = (what: unknown): void => void process.stdout.write(`${JSON.stringify(what)}\n`);

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'done';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'failed';
  }
}

async function connected(): Promise<string> {
  const attempt = connect(socket);
  const outcome = await Promise.race([
    once(attempt, 'connect'),
    once(attempt, 'error').then(([error]) => error as NodeJS.ErrnoException),
  ]).catch((error: NodeJS.ErrnoException) => error);
  attempt.destroy();
  return outcome instanceof Error ? (outcome.code ?? 'failed') : 'connected';
}

say([
  codeOf(() => readFileSync(passphraseFile)),
  codeOf(() => readdirSync(signerDir)),
  codeOf(() => writeFileSync(join(signerDir, 'cluster.policy'), '{}')),
  codeOf(() => rmSync(join(signerDir, 'cluster-0.log'))),
  codeOf(() => rmSync(join(signerDir, 'halted'))),
]);
if (mode === 'stranger') {
  say(await connected());
  process.exit();
}
const store = await openStore({ dataDir, databaseUrl: null });
// It would always report that trading is allowed, and request unlimited limits.
const halt = { read: () => ({ halted: false, readAtNs: process.hrtime.bigint() }) };
const limits = { maxOrderLamports: 10n ** 15n, maxDayLamports: 10n ** 15n };
const signers = [0, 1].map(
  () => new SigningProcess({ store, keystore: 'cluster', passphraseFile: null, signerSocket: socket, limits, halt, log: silentLog }),
);
say(await Promise.all(signers.map((signer) => signer.started)));
const sign = async (n: number): Promise<string> => {
  const message = buyMessage(wallet, stranger(50), BigInt(lamports));
  const outcome = await signers[n % 2]!.sign({ orderId: 'one', publicKey: wallet, message });
  if (!outcome.ok) return outcome.reason === 'refused' ? outcome.rule : outcome.reason;
  await outcome.audited();
  return 'signed';
};
const outcomes: string[] = [];
for (let n = 0; n < 6; n++) outcomes.push(await sign(n));
say(outcomes);
await once(process.stdin, 'data');
say(await sign(0));
// The gateway's user may not look into the folder of the signing process. The halt has a mark in its own folder too.
say(await store.halt.read());
for (const signer of signers) await signer.close();
await store.close();
process.exit();
