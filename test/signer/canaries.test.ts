import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { expect, it } from 'vitest';
import { runProgram } from '../support/command-line.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const child = relative(root, fileURLToPath(new URL('canary-child.ts', import.meta.url)));

it('no seed and no passphrase is written to a log, an error, an audit line or the store', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-canary-'));
  try {
    const { seed, publicKeyBytes } = generateKeypair();
    const [passphrase, wrong] = ['canary-of-the-passphrase-5f3a', 'canary-of-a-wrong-passphrase-77'];
    const secrets = join(folder, 'secrets');
    const dataDir = join(folder, 'data');
    const files = [passphrase, wrong].map((text, index) => {
      writeFileSync(`${secrets}-${index}`, `${text}\n`);
      return `${secrets}-${index}`;
    });
    const args = [dataDir, ...files, Buffer.from(seed).toString('hex')];
    const { code, stdout, stderr } = await runProgram(child, args, { folder });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('signer_ready') });
    expect(stdout).toContain('signed\n');
    expect(stdout).toContain('wrong_passphrase');
    expect(stdout).toContain('"rule":"malformed"');
    const stored = readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
      .map((name) => join(dataDir, name))
      .filter((path) => statSync(path).isFile());
    expect(stored.some((path) => path.endsWith('cluster-0.log'))).toBe(true);
    const texts = [Buffer.from(stdout), Buffer.from(stderr), ...stored.map((path) => readFileSync(path))];
    const secret = Buffer.concat([seed, publicKeyBytes]);
    const canaries: readonly (string | Buffer)[] = [
      passphrase,
      wrong,
      Buffer.from(seed),
      Buffer.from(seed).toString('hex'),
      // Base64 of text that begins with the seed, without the last characters, which depend on what follows.
      Buffer.from(seed).toString('base64').slice(0, 40),
      encodeBase58(seed),
      encodeBase58(secret),
      JSON.stringify([...seed]).slice(1, 60),
    ];
    for (const text of texts) for (const canary of canaries) expect(text.includes(canary)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
