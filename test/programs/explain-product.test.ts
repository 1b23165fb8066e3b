import { type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Explanation } from '@sluice/shared/wire/rest/explain.ts';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixturesFolder, fixturesPresent } from '../golden/fixtures.ts';
import { sluice } from '../support/command-line.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';
import { jupiter, publishedIdls } from './published.ts';
import { until } from '../support/until.ts';

const build = new URL('../../.build/current/', import.meta.url);
/** How esbuild names the packages in what it compiled. */
const heavy = /node_modules\/\.pnpm\/@(coral-xyz|solana)\+/;

/** A program and all chunks that it may ever load, now or later. */
function closureOf(program: string): readonly string[] {
  const seen = new Set<string>();
  const queue = [`${program}.js`];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    const text = readFileSync(new URL(file, build), 'utf8');
    queue.push(...[...text.matchAll(/(?:from|import)\s*\(?\s*"\.\/([\w.-]+\.js)"/g)].map(([, name]) => name!));
  }
  return [...seen].map((file) => readFileSync(new URL(file, build), 'utf8'));
}

describe('the packages that read IDLs', () => {
  it.each(['start', 'gateway', 'ingest', 'signer'])('are no part of %s', (program) => {
    const texts = closureOf(program);
    expect(texts.filter((text) => heavy.test(text))).toEqual([]);
    expect(texts.join('').length).toBeGreaterThan(100_000);
  });

  it('are a part of the command line and of the process that explains', () => {
    for (const program of ['sluice', 'explain-process'])
      expect(
        closureOf(program).some((text) => heavy.test(text)),
        program,
      ).toBe(true);
  });
});

describe('explain', () => {
  let folder: string;
  let product: StartedProduct;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-explain-'));
    const idls = join(folder, 'idl');
    mkdirSync(idls);
    writeFileSync(join(idls, `${jupiter}.json`), publishedIdls[jupiter]!());
    product = await startProduct(folder, 1, { IDL_DIR: idls });
  }, 90_000);
  afterAll(() => {
    product.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** Processes that the product started to explain. */
  function explainers({ pid }: ChildProcess): readonly number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
          return (
            stat.split(') ')[1]?.split(' ')[1] === String(pid) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('explain-process')
          );
        } catch {
          return false;
        }
      })
      .map(Number);
  }

  const ask = (path: string) => fetch(`${product.url}${path}`, { headers: { authorization: `Bearer ${product.apiKey}` } });

  async function confirmedTrade(): Promise<{ signature: string; mint: string }> {
    const wallet = await ask(`/api/token/search?text=a&limit=1`);
    const { tokens } = (await wallet.json()) as { tokens: { mint: string }[] };
    const trades = (await (await ask(`/api/token/trades/${tokens[0]!.mint}?limit=1`)).json()) as {
      trades: { signature: string; mint: string }[];
    };
    return trades.trades[0]!;
  }

  it('answers for a landed transaction, in a process that is started by the request and replaced when it dies', async () => {
    const trade = await until('a trade', () => confirmedTrade().catch(() => false as const), 30_000);
    expect(explainers(product.child)).toEqual([]);
    const explained = await until('it is confirmed', async () => {
      const answer = await ask(`/api/explain/${trade.signature}`);
      return answer.status === 200 && ((await answer.json()) as Explanation);
    });
    expect([...Value.Errors(Explanation as TSchema, explained)]).toEqual([]);
    expect(explained).toMatchObject({ signature: trade.signature, outcome: 'succeeded', failure: null });
    expect(explained.events).toContainEqual(expect.objectContaining({ from: 'venue', name: 'trade' }) as unknown);
    expect(explained.instructions.map(({ programName }) => programName)).toContain('pump');
    const [first, ...others] = explainers(product.child);
    expect(others).toEqual([]);
    process.kill(first!, 'SIGKILL');
    const again = await until('another process', async () => {
      const answer = await ask(`/api/explain/${trade.signature}`);
      return answer.status === 200 && ((await answer.json()) as Explanation);
    });
    expect(again).toEqual(explained);
    expect(explainers(product.child)).not.toContain(first);
    const printed = await sluice(['explain', trade.signature, '--rpc', product.rpcUrl, '--json'], { folder });
    expect(JSON.parse(printed.stdout)).toEqual(explained);
  }, 90_000);

  it('refuses what is no signature, and what no node knows', async () => {
    expect((await ask('/api/explain/nothing')).status).toBe(400);
    expect((await ask(`/api/explain/${'1'.repeat(64)}`)).status).toBe(404);
  });

  it.skipIf(!fixturesPresent)('reads a file on the command line, with the IDLs of IDL_DIR', async () => {
    const file = `${fixturesFolder}venues/raydium-clmm/failed_via_jupiter_3AbKxX5ESvjc.json`;
    const { stdout, code } = await sluice(['explain', file, '--offline'], { folder, env: { IDL_DIR: join(folder, 'idl') } });
    expect(code).toBe(0);
    expect(stdout).toContain('Instruction 2 failed in jupiter: SlippageToleranceExceeded (6001): Slippage tolerance exceeded.');
  });
});

describe('idl', () => {
  it('check says what will be decoded, and fails for a file that cannot be used', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-idl-'));
    const file = join(folder, `${jupiter}.json`);
    writeFileSync(file, publishedIdls[jupiter]!());
    const good = await sluice(['idl', 'check', file, '--json'], { folder });
    expect(JSON.parse(good.stdout)).toMatchObject({ programId: jupiter, format: 'old', refused: [], events: ['SwapEvent', 'FeeEvent'] });
    writeFileSync(file, '{"version":"1"');
    const bad = await sluice(['idl', 'check', file], { folder });
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('it is not JSON')]);
    rmSync(folder, { recursive: true });
  });
});
