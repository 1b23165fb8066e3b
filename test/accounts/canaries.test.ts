import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sluice, startProgram } from '../support/command-line.ts';
import { until } from '../support/gateway.ts';
import { DashboardClient, signed, type Answer } from './dashboard-client.ts';

const testTimeoutMs = 180_000;

let folder: string;
let child: ChildProcess;
/** Everything that the process wrote: stdout, and its log on stderr. */
let [stdout, stderr] = ['', ''];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-canaries-'));
  [stdout, stderr] = ['', ''];
  child = startProgram('cli/start.ts', [], { folder, env: { PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'trace' } });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
});

afterEach(async () => {
  const ended = new Promise<void>((resolve) => void child.on('close', () => resolve()));
  if (child.exitCode === null) {
    child.kill('SIGTERM');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Values that only their owner may see, by name. */
type Secrets = Map<string, string>;

async function drive(client: DashboardClient, secrets: Secrets): Promise<readonly Answer[]> {
  const refused: Answer[] = [];
  const failing = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
    const answer = await client.post(path, body, headers);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    refused.push(answer);
  };
  // Signing in, and failed attempts.
  const wallet = generateKeypair();
  const offer = await client.offer();
  const proof = signed(wallet, { ...offer, address: wallet.publicKey });
  secrets
    .set('nonce', offer.nonce)
    .set('signature', proof.signature)
    .set('signature as digits', Buffer.from(proof.signature, 'base64').toString('hex'));
  await failing('sign-in', { ...proof, publicKey: generateKeypair().publicKey });
  await failing('sign-in', { ...proof, signature: proof.signature, more: proof.signature });
  await failing('sign-in', { ...proof, [proof.signature]: true });
  await failing('sign-in', `{"signature":"${proof.signature}`);
  expect((await client.post('sign-in', proof)).status).toBe(200);
  await failing('sign-in', proof);
  await client.readMe();
  const session = client.cookie!.split('=')[1]!;
  secrets.set('session', session).set('CSRF token', client.csrfToken!);

  // Keys, and secrets in wrong places.
  const { id, key } = await client.makeKey({ label: 'canary' });
  const rotated = (await client.post(`keys/${id}/rotate`, { overlapSeconds: 60 })).body['key'] as string;
  secrets.set('API key', key.split('_')[2]!).set('rotated API key', rotated.split('_')[2]!);
  await failing(`keys/${key}/delete`, {});
  await failing(`keys/${session}/rotate`, { overlapSeconds: 0 });
  await failing(`keys/${id}/rotate?token=${session}`, { overlapSeconds: key });
  await failing('keys', { scopes: [key] });
  await failing('keys', { scopes: ['read'], ipRanges: [key] });
  await failing('keys', { scopes: ['read'], label: `${key}\u0000` });
  await failing('keys', { scopes: ['read'] }, { 'x-csrf-token': session });
  await failing('keys', { scopes: ['read'] }, { 'x-csrf-token': key });
  await failing('keys', { scopes: ['read'] }, { origin: `http://${session}.example` });
  await failing('sign-in/link', { token: session });
  await failing('sign-in/link', { token: key });
  for (const headers of [
    { cookie: `sluice_session=${key}` },
    { authorization: `Bearer ${session}` },
    { cookie: '', authorization: `Basic ${key}` },
  ]) {
    refused.push(await client.get('keys', headers));
    refused.push(await client.get(`nothing/${session}?token=${key}`, headers));
  }
  return refused;
}

it('no secret of the dashboard is in a log, an error or a metric', { timeout: testTimeoutMs }, async () => {
  await until('the start', () => stdout.includes('sluice watch trades'), 40_000);
  const url = /dashboard +(http:\S+?)\/[\s#]/.exec(stdout)?.[1] ?? '';
  const secrets: Secrets = new Map();
  const holder = new DashboardClient(url);
  const answers = [...(await drive(holder, secrets))];

  const made = await sluice(['accounts', 'link', '--json'], { folder, env: { DATA_DIR: folder, PORT: new URL(url).port } });
  const token = (JSON.parse(made.stdout) as { readonly url: string }).url.split('#sign-in=')[1]!;
  secrets.set('link', token);
  const operator = new DashboardClient(url);
  answers.push(await operator.post('sign-in/link', { token, more: token }));
  expect((await operator.post('sign-in/link', { token })).status).toBe(200);
  answers.push(await operator.post('sign-in/link', { token }));
  await operator.readMe();
  secrets.set('session of the operator', operator.cookie!.split('=')[1]!);
  expect((await operator.get('keys')).status).toBe(200);
  const imported = generateKeypair();
  const secretKey = encodeBase58(Buffer.concat([imported.seed, imported.publicKeyBytes]));
  secrets.set('secret key', secretKey).set('seed', Buffer.from(imported.seed).toString('base64'));
  const digits = JSON.stringify([...imported.seed]);
  secrets.set('seed as digits', digits.slice(1, 60));
  answers.push(
    await operator.post('wallets/import', { secretKey: `${secretKey}x` }),
    await operator.post('wallets/import', { secretKey, label: secretKey }),
    await operator.post('wallets/import', { secretKey, [secretKey]: true }),
    await operator.post(`wallets/${secretKey}/label`, { label: 'x' }),
    await operator.post('wallets', { secretKey }),
    await operator.post('wallets/import', { secretKey: `${digits.slice(0, -1)},${[...imported.publicKeyBytes].join(',')}]` }),
    await operator.post('wallets/import', { secretKey }),
  );
  expect(answers.slice(-7).map(({ status }) => status)).toEqual([400, 400, 400, 404, 400, 200, 403]);

  // A fault of our own: the store fails for every request.
  const db = await openSqlite(join(folder, 'sluice.db'));
  await db.run('DROP TABLE sessions');
  await db.close();
  const [held = ''] = [...secrets].filter(([what]) => what === 'API key').map(([, secret]) => `sluice_0000000000_${secret}`);
  for (const client of [holder, operator]) {
    answers.push(await client.post(`keys/${held}/delete`, {}));
    answers.push(
      await client.get('me'),
      await client.get('keys'),
      await client.post('sign-out', {}),
      await client.post('keys', { scopes: ['read'] }),
    );
  }
  answers.push(await holder.signIn());
  expect(answers.some(({ status }) => status === 500)).toBe(true);

  const metrics = await (await fetch(`${url}/metrics`)).text();
  const status = await (await fetch(`${url}/status`)).text();
  for (const name of ['account_created', 'signed_in', 'key_created', 'key_rotated', 'sign_in_refused', 'http_handler_failed']) {
    await until(`${name} in the log`, () => stderr.includes(`"${name}"`));
  }
  const places = { log: stderr, metrics, status, errors: answers.map(({ text }) => text).join('\n') };
  for (const [place, text] of Object.entries(places)) {
    expect(text.length).toBeGreaterThan(100);
    // The error to the client names the unknown field, shortened. Nothing else contains even a part of it.
    const partChars = place === 'errors' ? Number.POSITIVE_INFINITY : 24;
    for (const [what, secret] of secrets) expect(text.includes(secret.slice(0, partChars)), `${what} in ${place}`).toBe(false);
  }
});
