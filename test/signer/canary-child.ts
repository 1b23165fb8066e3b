import { readFileSync } from 'node:fs';
import { openKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { SigningProcess } from '@sluice/trading/signer/client/client.ts';
import { openStore } from '@sluice/gateway/store/store.ts';
import { Halt } from '@sluice/gateway/store/halt/halt.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { buyMessage, messageOf, stranger, transfer } from './messages.ts';

/**
 * A gateway's part of signing, as a process whose output a test reads. It imports a wallet, requests signatures for valid and invalid
 * messages, ends the signing process in the middle, damages what is stored, and tries wrong passphrases.
 */
const [dataDir = '', passphraseFile = '', wrongFile = '', seedHex = ''] = process.argv.slice(2);
const log = createLog({ level: 'trace', name: 'canary' });
const store = await openStore({ dataDir, databaseUrl: null });
const halt = new Halt(store, log);
const limits = { maxOrderLamports: 1_000_000_000n, maxDayLamports: 2_000_000_000n };
const opened = await openKeystore(store, 'cluster', readFileSync(passphraseFile, 'utf8').trim(), randomPassphraseCost);
if (!opened.ok) throw new Error(opened.reason);
const wallet = await opened.keystore.import(Buffer.from(seedHex, 'hex'), 'canary');
const publicKey = wallet?.publicKey ?? '';

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function signAll(file: string): Promise<void> {
  const signer = new SigningProcess({ store, keystore: 'cluster', passphraseFile: file, limits, halt, log });
  say(JSON.stringify(await signer.started));
  const good = buyMessage(publicKey, stranger(50), 1_000n);
  const messages = [
    good,
    messageOf(publicKey, [transfer(publicKey, stranger(), 1n)]),
    good.slice(3),
    new Uint8Array(0),
    new Uint8Array(5_000),
  ];
  // At the same time, because a request without a signing process waits for seconds.
  const outcomes = await Promise.all(messages.map((message) => signer.sign({ orderId: 'canary', publicKey, message })));
  for (const outcome of outcomes) say(outcome.ok ? 'signed' : JSON.stringify(outcome));
  if (signer.pid !== null) {
    process.kill(signer.pid, 'SIGKILL');
    say(JSON.stringify(await signer.sign({ orderId: 'canary', publicKey, message: messages[1] ?? good })));
  }
  await signer.close();
}

await signAll(passphraseFile);
await signAll(wrongFile);
halt.close();
await store.close();
