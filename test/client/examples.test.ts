import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printable, Sluice, type EventOf } from '@sluice/client';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startProduct } from '../support/product/started-product.ts';
import { until } from '../support/until.ts';

/** The examples of the client, as a user runs them: with the compiled package in `node_modules`, against a started product. */
const startMs = 40_000;
const printMs = 60_000;
const sol = 'So11111111111111111111111111111111111111112';
const source = join(import.meta.dirname, '../../client');
let folder: string;
let server: ChildProcess;
let env: Readonly<Record<string, string>>;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-examples-'));
  await installClient();
  const { child, url, apiKey, wallet } = await startProduct(folder, 3);
  server = child;
  env = { PATH: process.env['PATH'] ?? '', SLUICE_URL: url, SLUICE_API_KEY: apiKey, WALLET: wallet };
}, startMs);
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => {
  server.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Compiles the client as `pnpm release` does, without types. */
async function installClient(): Promise<void> {
  const target = join(folder, 'node_modules/@sluice/client');
  mkdirSync(target, { recursive: true });
  const bundled = { bundle: true, format: 'esm', platform: 'node', packages: 'external', tsconfigRaw: {} } as const;
  await build({ ...bundled, entryPoints: [join(source, 'src/node.ts')], outfile: join(target, 'node.mjs') });
  writeFileSync(join(target, 'package.json'), JSON.stringify({ name: '@sluice/client', exports: { '.': { node: './node.mjs' } } }));
  cpSync(join(source, 'node_modules/ws'), join(folder, 'node_modules/ws'), { recursive: true, dereference: true });
  cpSync(join(source, 'examples'), folder, { recursive: true });
}

function collect(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  return () => output;
}

interface Running {
  /** Waits until the output matches. */
  printed(expected: RegExp): Promise<void>;
  /** Ends it as a user does. */
  interrupt(): void;
  /** Waits until it has ended without an error. */
  ended(): Promise<void>;
}

function launch(program: string, settings: Readonly<Record<string, string>>): Running {
  const child = spawn(process.execPath, [program], { cwd: folder, env: { ...env, ...settings }, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const output = collect(child);
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    printed: (expected) => vi.waitFor(() => expect(output()).toMatch(expected), { timeout: printMs, interval: 50 }),
    interrupt: () => void child.kill('SIGINT'),
    ended: async () => expect(await closed, output()).toBe(0),
  };
}

/** Runs an example until its output matches. */
async function run(program: string, settings: Readonly<Record<string, string>>, expected: RegExp): Promise<void> {
  const running = launch(program, settings);
  await running.printed(expected);
  running.interrupt();
  await running.ended();
}

interface Bar {
  readonly time: number;
  readonly close: number;
}

/** What the chart calls. */
interface Datafeed {
  resolveSymbol(mint: string, done: (symbol: { ticker: string }) => void, fail: (reason: string) => void): Promise<void>;
  getBars(
    symbol: { readonly ticker: string },
    resolution: string,
    period: { readonly to: number; readonly countBack: number },
    done: (bars: readonly Bar[], about: { readonly noData: boolean }) => void,
    fail: (reason: string) => void,
  ): Promise<void>;
  subscribeBars(symbol: { readonly ticker: string }, resolution: string, tick: (bar: Bar) => void, id: string, reset: () => void): void;
  unsubscribeBars(id: string): void;
}

type Read = () => Promise<{ readonly candles: readonly object[] }>;

async function datafeedOf(sluice: Pick<Sluice, 'subscribe'>, candles?: Read): Promise<Datafeed> {
  const example = (await import(join(folder, 'datafeed.mjs'))) as { datafeed(sluice: unknown, candles?: Read): Datafeed };
  return example.datafeed(sluice, candles);
}

const candleAt = (start: number, close: number) => ({ type: 'candle', start, open: 1, high: 9, low: 1, close, volumeBase: 5 });

/** A mint that was traded in so many seconds that are over, and all of these. */
async function tradedForSeconds(sluice: Sluice, count: number): Promise<{ readonly mint: string; readonly starts: readonly number[] }> {
  for await (const event of sluice.subscribe('trades', { filter: { pool: 'pump', quoteMint: sol } })) {
    if (event.type !== 'trade') continue;
    const { mint } = event;
    const { candles } = await sluice.candles(mint, { interval: '1s', limit: 1_000 });
    const starts = candles.filter(({ closed }) => closed).map(({ start }) => start);
    if (starts.length >= count) return { mint, starts };
  }
  throw new Error('the stream ended');
}

describe('the examples of the client', { timeout: startMs + printMs }, () => {
  it('snipe a new token in a dry run and live, and take the profit', async () => {
    const settings = { TAKE_PROFIT: '0', MAX_POSITIONS: '1' };
    await Promise.all([
      run('sniper.mjs', settings, /^dry run.*\nbought .*, dry run\n(.*\n)*sold .* take profit/m),
      run('sniper.mjs', { ...settings, LIVE: '1' }, /^LIVE.*\nbought .*, live\n(.*\n)*sold .* take profit/m),
    ]);
  });

  it('print no name or symbol as a stranger wrote it, and neither do the programs in the guides', () => {
    expect(printable('a\u001B[2J\u009B1m\u202E\u2028\nb')).toBe('a[2J1mb');
    const raw = /(?<!printable\()(?:event\.(?:symbol|name)\b|event\["(?:symbol|name)"\]|symbol \?\? mint)/g;
    for (const of of [join(source, 'examples'), join(source, '../docs/guides')]) {
      for (const file of readdirSync(of)) expect([file, ...(readFileSync(join(of, file), 'utf8').match(raw) ?? [])]).toEqual([file]);
    }
  });

  it('refuse a setting that is no number', async () => {
    await launch('sniper.mjs', { HOLD_SECONDS: '2m', LIVE: '1' }).printed(/HOLD_SECONDS is "2m"\. It must be a number/);
  });

  it('feed a chart with stored and live candles', async () => {
    await run('chart.mjs', {}, /^\w{32,44}, 1s\n(\{"time":\d+,"open":.*\}\n){2}/m);
  });

  it('watch a portfolio', async () => {
    const [url, apiKey, publicKey] = [env['SLUICE_URL']!, env['SLUICE_API_KEY']!, env['WALLET']!];
    const watching = launch('portfolio.mjs', {});
    const sluice = new Sluice({ url, apiKey });
    try {
      // It prints the wallet once its subscription is live. An earlier purchase would be among the tokens, and not among the trades.
      await watching.printed(/SOL, .* not invested\n/);
      for await (const event of sluice.subscribe('newTokens', { filter: { pool: 'pump', quoteMint: sol } })) {
        if (event.type !== 'newToken') continue;
        await sluice.buy({ publicKey, mint: event.mint, amount: 0.01, slippage: 50 });
        break;
      }
      await watching.printed(/^buy [\d.]+ of \w+/m);
      watching.interrupt();
      await watching.ended();
    } finally {
      sluice.close();
    }
  });

  it('serve a datafeed: as many bars as requested, back to the first one, and then each change', async () => {
    const [url, apiKey, publicKey] = [env['SLUICE_URL']!, env['SLUICE_API_KEY']!, env['WALLET']!];
    const sluice = new Sluice({ url, apiKey });
    try {
      const feed = await datafeedOf(sluice);
      const { mint, starts } = await tradedForSeconds(sluice, 5);
      const symbol = await new Promise<{ ticker: string }>((done, fail) => void feed.resolveSymbol(mint, done, fail));
      expect(symbol).toMatchObject({ ticker: mint, minmov: 1, has_seconds: true });
      const read = (to: number, countBack: number) =>
        new Promise<{ readonly times: readonly number[]; readonly noData: boolean }>((done, fail) => {
          const answer: Parameters<Datafeed['getBars']>[3] = (bars, { noData }) =>
            done({ times: bars.map(({ time }) => time / 1000), noData });
          void feed.getBars(symbol, '1S', { to, countBack }, answer, fail);
        });
      const walked: number[] = [];
      for (let to = starts.at(-1)! + 1; ; to = walked[0]!) {
        const { times, noData } = await read(to, 2);
        expect([times.length, noData]).toEqual([Math.min(2, starts.length - walked.length), walked.length === starts.length]);
        if (noData) break;
        walked.unshift(...times);
      }
      expect(walked).toEqual(starts);

      const ticks: number[] = [];
      feed.subscribeBars(symbol, '1S', ({ time }) => ticks.push(time / 1000), 'one', vi.fn());
      await sluice.buy({ publicKey, mint, amount: 0.01, slippage: 50 });
      await until('a tick', () => ticks.length > 0, printMs);
      expect(ticks[0]).toBeGreaterThanOrEqual(starts.at(-1)!);
      feed.unsubscribeBars('one');
    } finally {
      sluice.close();
    }
  });

  it('have the chart of a datafeed read its bars again when one that is not the last has changed', async () => {
    let follow: (event: EventOf<'candles'>) => void = () => {};
    const subscribe = (_: string, { onEvent }: { onEvent: typeof follow }): unknown => (follow = onEvent);
    const stored = [10, 11].map((start) => candleAt(start, 1));
    const feed = await datafeedOf({ subscribe } as unknown as Sluice, () => Promise.resolve({ candles: stored, older: true }));
    const symbol = { ticker: 'm' };
    await new Promise<void>((done, fail) => void feed.getBars(symbol, '1S', { to: 20, countBack: 2 }, () => done(), fail));
    const seen: string[] = [];
    feed.subscribeBars(
      symbol,
      '1S',
      ({ time, close }) => seen.push(`${time / 1000}: ${close}`),
      'one',
      () => seen.push('reset'),
    );
    const steps: readonly [event: object, expected: readonly string[]][] = [
      [candleAt(11, 2), ['11: 2']],
      [candleAt(12, 3), ['12: 3']],
      // Its end changes no price.
      [{ ...candleAt(11, 2), closed: true }, []],
      // A late trade.
      [{ ...candleAt(11, 4), closed: true }, ['reset']],
      [{ type: 'retract', id: 'm:1s:12:1' }, ['reset']],
      // It lands again.
      [candleAt(12, 3), ['12: 3']],
    ];
    for (const [event, expected] of steps) {
      follow(event as EventOf<'candles'>);
      expect(seen.splice(0), JSON.stringify(event)).toEqual(expected);
    }
  });

  it('include the sample of the README', async () => {
    const [, sample = ''] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(source, 'README.md'), 'utf8')) ?? [];
    writeFileSync(join(folder, 'sample.mjs'), sample.replace('http://127.0.0.1:8080', env['SLUICE_URL']!));
    const running = launch('sample.mjs', {});
    await running.printed(/^0\.1 SOL would buy [\d.]+$/m);
    await running.ended();
  });
});
