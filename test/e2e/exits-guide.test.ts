import { execFile, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Sluice, type TriggerObject } from '@sluice/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { blocksIn, commandsOf } from '../blocks/find.ts';
import { sluice as command } from '../support/command-line.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';
import { until } from '../support/until.ts';

/** Follows `docs/guides/exits-that-run-on-the-server.md`. The exits must sell after the guide's program has ended. */
const testTimeoutMs = 180_000;
const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const blocks = blocksIn(root, 'docs/guides/exits-that-run-on-the-server.md');

let folder: string;
let product: StartedProduct;
let child: ChildProcess;
let client: Sluice;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-exits-'));
  product = await startProduct(folder, 1);
  ({ child } = product);
  client = new Sluice({ url: product.url, apiKey: product.apiKey });
  mkdirSync(join(folder, 'node_modules/@sluice'), { recursive: true });
  // The package that the guide installs, compiled like it.
  symlinkSync(join(root, 'client'), join(folder, 'node_modules/@sluice/client'));
}, testTimeoutMs);

afterAll(() => {
  client.close();
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A token that is traded for SOL, with a price. */
async function tradedMint(): Promise<string> {
  for await (const event of client.subscribe('trades', { filter: { minSol: 0.1 } }))
    if (event.type === 'trade' && event.pool === 'pump' && event.priceSol !== null) return event.mint;
  throw new Error('the stream ended');
}

/** The ids of the exits that the guide's program has armed. */
async function runExits(mint: string, more: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const text = blocks.find(({ note }) => note === 'exits.mjs')!.text.replaceAll('http://127.0.0.1:8080', product.url);
  writeFileSync(join(folder, 'exits.mjs'), text);
  const { PATH = '' } = process.env;
  const env = { PATH, SLUICE_API_KEY: product.apiKey, WALLET: product.wallet, MINT: mint, ...more };
  const loader = ['--import', new URL('../node_modules/tsx/dist/loader.mjs', import.meta.url).href];
  const { stdout } = await run(process.execPath, [...loader, 'exits.mjs'], { cwd: folder, env });
  expect(stdout).toMatch(/^bought with ord_\w{26}$/m);
  return [...stdout.matchAll(/^exit (trg_\w{26}) (?:armed|firing|fired|cancelled), for [1-9]\d* raw tokens$/gm)].map(([, id = '']) => id);
}

const ended = (id: string): Promise<TriggerObject> =>
  until(
    `the end of ${id}`,
    async () => {
      const trigger = await client.triggers.get(id);
      return ['fired', 'cancelled', 'failed', 'expired'].includes(trigger.status) && trigger;
    },
    60_000,
  );

it(
  'buys with exits that sell exactly what was bought, once, while no program runs',
  async () => {
    const mint = await tradedMint();
    // The price is far above this level, so the take profit fires as soon as it has held.
    const [take = '', trail = ''] = await runExits(mint, { TAKE: '0.1', TRAIL: '90' });
    const fired = await ended(take);
    expect(fired, JSON.stringify(fired)).toMatchObject({ status: 'fired', error: null });
    expect(await ended(trail)).toMatchObject({ status: 'cancelled', orderId: null });
    const sold = await until('the fill', async () => (await client.order(String(fired.orderId))).fill);
    expect(sold?.baseAmount).toBe(fired.parentAmount);
  },
  testTimeoutMs,
);

it(
  'shows and cancels exits that wait, by the commands of the guide',
  async () => {
    const mint = await tradedMint();
    const ids = await runExits(mint, { TAKE: '1000', TRAIL: '95' });
    expect(ids).toHaveLength(2);
    const commands = blocks.flatMap((block) => (block.kind === 'sh' ? commandsOf(block) : []));
    const env = { SLUICE_API_KEY: product.apiKey };
    const asWritten = async (beginning: string) => {
      const line = commands.find((one) => one.startsWith(`npx -y pnpm@12 sluice ${beginning}`)) ?? '';
      expect(line, beginning).not.toBe('');
      const args = line.replace('npx -y pnpm@12 sluice ', '').replace('$MINT', mint).split(' ');
      return command([...args, '--url', product.url], { folder, env });
    };
    const listed = await asWritten('triggers list');
    for (const id of ids) expect(listed.stdout, listed.stderr).toMatch(new RegExp(`^${id} +armed +sell +100% +${mint} `, 'm'));
    expect(await asWritten('triggers cancel')).toMatchObject({ code: 0, stdout: '2 cancelled.\n' });
    for (const id of ids) expect(await ended(id)).toMatchObject({ status: 'cancelled' });
  },
  testTimeoutMs,
);
