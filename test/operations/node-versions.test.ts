import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Sluice } from '@sluice/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installStaged } from '../support/product/staged-release.ts';

/**
 * The release under newer versions of Node.js, from the registry. The native server serves where the system can load it (glibc 2.38),
 * otherwise the one of Node.js. The other suites run with the Node.js that runs the tests.
 */
const versions = [22, 24].map((version) => ({
  version,
  node: join(import.meta.dirname, `../node-versions/node_modules/node-${version}/bin/node`),
}));
const blockMs = 40_000;

let folder: string;
let release: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-node-')));
  release = installStaged(folder);
  symlinkSync(join(import.meta.dirname, '../../node_modules/uWebSockets.js'), join(folder, 'node_modules/uWebSockets.js'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts everything on simnet, and reads the block. `ended` resolves with the exit code. */
async function start(node: string, dataDir: string) {
  const env = {
    HOME: folder,
    PATH: `${dirname(node)}:${process.env['PATH']}`,
    DATA_DIR: dataDir,
    PORT: '0',
    TRADING: 'paper',
    NO_COLOR: '1',
    LOG_LEVEL: 'warn',
  };
  const child = spawn(join(release, 'sluice'), ['start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const value = async (label: RegExp): Promise<string> => {
    for (const endMs = Date.now() + blockMs; Date.now() < endMs && child.exitCode === null;) {
      const [, found] = label.exec(output) ?? [];
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`start printed no block:\n${output}`);
  };
  return {
    child,
    ended,
    url: await value(/dashboard +(http:\/\/[^/\s]+)/),
    apiKey: await value(/API key +(sluice_\w+)/),
    publicKey: await value(/wallet +(\w+)/),
  };
}

describe.each(versions)('Node.js $version', ({ version, node }) => {
  it.skipIf(!existsSync(node))('starts the release, streams an event, and fills a paper order (needs its binary)', async () => {
    const dataDir = join(folder, `data-${version}`);
    mkdirSync(dataDir);
    const { child, ended, url, apiKey, publicKey } = await start(node, dataDir);
    const sluice = new Sluice({ url, apiKey });
    try {
      expect(await (await fetch(`${url}/status`)).json()).toMatchObject({ transport: expect.stringMatching(/^(uws|node)$/) });
      for await (const event of sluice.subscribe('trades', {})) {
        if (event.type !== 'trade' || event.pool !== 'pump') continue;
        const order = await sluice.buy({ publicKey, mint: event.mint, amount: 0.01, slippage: 50 });
        expect(order).toMatchObject({ side: 'buy', mint: event.mint });
        await expect
          .poll(async () => (await sluice.order(order.orderId ?? '')).status, { timeout: 60_000 })
          .toMatch(/^(processed|confirmed|finalized)$/);
        break;
      }
    } finally {
      sluice.close();
      child.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
  });
});
