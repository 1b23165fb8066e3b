import { execFile, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { Sluice } from '@sluice/client';
import { PublicKey } from '@solana/web3.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { blocksIn } from '../blocks/find.ts';
import { connectWeb3 } from '../support/chain/web3.ts';
import { sluice } from '../support/command-line.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';
import { until } from '../support/until.ts';

/** Follows `docs/guides/coming-from-pumpportal.md` with a wallet of its own, which only knows what the guide says and what `start` prints. */
const testTimeoutMs = 180_000;
const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const blocks = blocksIn(root, 'docs/guides/coming-from-pumpportal.md');

let folder: string;
let product: StartedProduct;
let child: ChildProcess;

/** The program that the guide saves under this name, with the addresses that `start` printed. */
function saveProgram(name: string): void {
  const text = blocks.find(({ note }) => note === name)?.text ?? '';
  writeFileSync(
    join(folder, name),
    text.replaceAll('http://127.0.0.1:8080', product.url).replaceAll('http://127.0.0.1:8899', product.rpcUrl),
  );
}

/** Links the packages that the guide installs. */
function installPackages(): void {
  const require = createRequire(import.meta.url);
  const web3 = dirname(require.resolve('@solana/web3.js/package.json'));
  mkdirSync(join(folder, 'node_modules/@solana'), { recursive: true });
  symlinkSync(web3, join(folder, 'node_modules/@solana/web3.js'));
  symlinkSync(dirname(createRequire(join(web3, 'package.json')).resolve('bs58/package.json')), join(folder, 'node_modules/bs58'));
}

async function solMint(): Promise<string> {
  const client = new Sluice({ url: product.url, apiKey: product.apiKey });
  try {
    for await (const event of client.subscribe('newTokens', {
      filter: { pool: 'pump', quoteMint: 'So11111111111111111111111111111111111111112' },
    }))
      if (event.type === 'newToken') return event.mint;
    throw new Error('the stream ended');
  } finally {
    client.close();
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-portal-'));
  product = await startProduct(folder, 2);
  ({ child } = product);
}, testTimeoutMs);

afterAll(() => {
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

it(
  "runs PumpPortal's sample for local transactions with a wallet of its own, at the node that start prints",
  async () => {
    installPackages();
    saveProgram('wallet.mjs');
    saveProgram('local.mjs');
    const env = {
      ...process.env,
      ...parseEnv((await run(process.execPath, ['wallet.mjs'], { cwd: folder })).stdout.replaceAll('export ', '')),
    };
    const owner = env['OWN_WALLET'] ?? '';

    const airdropped = await sluice(['simnet', 'airdrop', owner, '10', '--rpc', product.rpcUrl], { folder });
    expect(airdropped).toMatchObject({ code: 0, stdout: `${owner} has received 10 simulated SOL. It has 10 SOL.\n`, stderr: '' });

    const mint = await solMint();
    const { stdout } = await run(process.execPath, ['local.mjs'], { cwd: folder, env: { ...env, MINT: mint } });
    const signature = /^Transaction: (\w{80,})$/m.exec(stdout)?.[1] ?? '';
    expect(signature, stdout).not.toBe('');

    const { connection, close } = connectWeb3(product);
    try {
      const landed = await until('the transaction lands', () =>
        connection.getSignatureStatus(signature).then(({ value }) => value ?? undefined),
      );
      expect(landed.err).toBeNull();
      const { value } = await connection.getParsedTokenAccountsByOwner(new PublicKey(owner), { mint: new PublicKey(mint) });
      expect(value.map(({ account }) => account.data.parsed.info.tokenAmount.uiAmount)).toEqual([1000]);
    } finally {
      close();
    }
  },
  testTimeoutMs,
);
