import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sluice } from '@sluice/client';
import { exampleMint, exampleOrderId, exampleWallet } from '@sluice/shared/wire/values/values.ts';
import { transformSync } from 'esbuild';
import type { Place } from './dialogues.ts';
import { blocksOf, type Block } from './find.ts';
import type { Sandbox } from './sandbox.ts';
import { pause, Shell } from './shell.ts';

const orderMs = 60_000;
const languages = ['sh', 'ts', 'python'];
/** Samples that are not always answered with 200 on a simulated chain. */
const others: readonly { readonly path: string; readonly statuses: readonly string[] }[] = [
  // Nobody has signed the transaction.
  { path: '/transaction/send', statuses: ['400'] },
  // Half of the coins have an image.
  { path: '/image', statuses: ['200', '404'] },
  // Without TRADING=paper.
  { path: '/paper/', statuses: ['403'] },
];

/** A finished order of the wallet, so that there is an order to look up and a coin to sell. */
async function placeOrder({ url, apiKey, wallet, mints: [mint] }: Place): Promise<string> {
  const sluice = new Sluice({ url, apiKey });
  try {
    const { orderId } = await sluice.buy({ publicKey: wallet, mint, amount: 0.1, slippage: 50 });
    if (orderId === null) throw new Error('the order was not placed');
    for (const endMs = Date.now() + orderMs; Date.now() < endMs; await pause(200)) {
      const { status } = await sluice.order(orderId);
      if (status === 'confirmed' || status === 'finalized') return orderId;
    }
    throw new Error(`the order ${orderId} was not confirmed`);
  } finally {
    sluice.close();
  }
}

/** Runs the samples of `/docs` as a reader copies them from the running gateway. Returns the number of samples, and what is wrong. */
export async function runSamples(sandbox: Sandbox, place: Place, hasPython: boolean): Promise<{ count: number; faults: string[] }> {
  const app = join(sandbox.folder, 'app');
  const shell = new Shell(app, { ...sandbox.env, SLUICE_API_KEY: place.apiKey }, join(sandbox.folder, 'samples.state'));
  const installs = ['npm install --no-audit --no-fund ../sluice/release/sluice-client-*.tgz'];
  if (hasPython) installs.push('pip install --quiet --disable-pip-version-check --no-build-isolation ../sluice/clients/python');
  for (const command of installs) {
    const { ok, output } = await shell.run(command);
    if (!ok) throw new Error(output);
  }
  const orderId = await placeOrder(place);
  const filled = (text: string): string =>
    text.replaceAll(exampleMint, place.mints[0]).replaceAll(exampleWallet, place.wallet).replaceAll(exampleOrderId, orderId);
  const index = await (await fetch(`${place.url}/llms.txt`)).text();
  const pages = new Set([...index.matchAll(/\/docs\/(http-[\w-]+)\.md/g)].map(([, name = '']) => name));
  if (pages.size === 0) throw new Error('llms.txt lists no pages about HTTP');
  let count = 0;
  const faults: string[] = [];
  for (const name of pages) {
    const page = await fetch(`${place.url}/docs/${name}.md`);
    const samples = blocksOf(name, await page.text()).filter(({ kind }) => languages.includes(kind) && (kind !== 'python' || hasPython));
    if (samples.length === 0) faults.push(`/docs/${name}.md has no samples`);
    for (const sample of samples) {
      const fault = await faultOf({ ...sample, text: filled(sample.text) }, shell, app);
      if (fault !== null) faults.push(`/docs/${name}.md:${sample.line} (${sample.kind}): ${fault}`);
    }
    count += samples.length;
  }
  return { count, faults };
}

async function faultOf({ kind, text }: Block, shell: Shell, app: string): Promise<string | null> {
  const expected = others.find(({ path }) => text.includes(path))?.statuses ?? ['200'];
  if (kind === 'sh') {
    // The status is printed on a last line of its own.
    const { output } = await shell.run(`${text.trimEnd()} --no-fail-with-body -w '\\n%{http_code}'`);
    return expected.includes(output.trim().split('\n').at(-1) ?? '') ? null : output;
  }
  const name = kind === 'python' ? 'sample.py' : 'sample.mjs';
  writeFileSync(join(app, name), kind === 'python' ? text : transformSync(text, { loader: 'ts' }).code);
  const { ok, output } = await shell.run(`${kind === 'python' ? 'python3' : 'node'} ${name}`);
  const printed = /^(\d{3}) /.exec(output)?.[1];
  return ok && (printed === undefined || expected.includes(printed)) ? null : output;
}
