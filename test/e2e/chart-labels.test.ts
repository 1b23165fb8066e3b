import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksIn } from '../blocks/find.ts';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { until } from '../support/until.ts';

/** The charts of the guide and of the dashboard in a browser, with candles that the test chooses. */
const root = join(import.meta.dirname, '../..');
const web = join(root, 'site/web');
const library = join(root, 'site/node_modules/lightweight-charts/dist/lightweight-charts.standalone.production.mjs');
const testTimeoutMs = 180_000;
const firstS = 1_795_248_000;

interface Bar {
  readonly start: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
}

/** A minute of candles that move by this part of the price. */
function candlesAt(price: number, spread: number): readonly Bar[] {
  const at = (n: number): number => price * (1 + spread * Math.sin(n / 9));
  return Array.from({ length: 60 }, (_, n) => {
    const [first, last] = [at(n), at(n + 1)];
    const [high, low] = [Math.max(first, last) * (1 + spread / 10), Math.min(first, last) * (1 - spread / 10)];
    const usd = { openUsd: first, highUsd: high, lowUsd: low, closeUsd: last };
    return { start: firstS + n, open: first, high, low, close: last, ...usd, volumeQuote: 1, volumeUsd: 1 };
  });
}

/** The chart library, which hands its candle series to the test. */
const watchedLibrary = `
import { CandlestickSeries, createChart as create } from '/library.js';
export * from '/library.js';
export function createChart(...options) {
  const chart = create(...options);
  const add = chart.addSeries.bind(chart);
  chart.addSeries = (kind, ...rest) => {
    const series = add(kind, ...rest);
    if (kind === CandlestickSeries) Object.assign(window, { series, chart });
    return series;
  };
  return chart;
}`;

/** The client in place of the guide's: what it receives comes from the test. */
const guideClient = `
const queue = [];
let wake = () => {};
window.push = (event) => { queue.push(event); wake(); };
export class Sluice {
  async *subscribe(channel) {
    if (channel === 'trades') yield { type: 'trade', mint: 'coin' };
    for (;;) {
      while (queue.length > 0) yield queue.shift();
      await new Promise((resolve) => (wake = resolve));
    }
  }
}`;

/** The same for the dashboard's chart. */
const pageServer = `
export const sluice = {
  candles: async () => (await fetch('/candles/coin')).json(),
  subscribe: (_, { onEvent, onGap }) => Object.assign(window, { push: onEvent, gap: onGap }),
};
export const faultText = String;
export const requestsLeft = { share: () => 1 };`;

const pageEntry = `
import { h, render } from 'preact';
import { CandleChart } from 'the chart';
render(h(CandleChart, { mint: 'coin', supply: 1e9, quote: 'SOL', own: [], over: () => null }), document.body);`;

const stand: Plugin = {
  name: 'stand-ins',
  setup: (hooks) => {
    hooks.onResolve({ filter: /state\/server\.ts$/ }, () => ({ path: 'server', namespace: 'stand-in' }));
    hooks.onResolve({ filter: /^the chart$/ }, () => ({ path: join(web, 'src/token/chart.tsx') }));
    hooks.onResolve({ filter: /^lightweight-charts$/ }, () => ({ path: '/charts.js', external: true }));
    hooks.onLoad({ filter: /.*/, namespace: 'stand-in' }, () => ({ contents: pageServer, loader: 'js' }));
  },
};

let chromium: Chromium;
let server: Server;
let url: string;
let candles: readonly Bar[] = [];

beforeAll(async () => {
  const guide = blocksIn(root, 'docs/guides/charts.md').find(({ note }) => note === 'chart.html')!.text;
  const bundled = await build({
    stdin: { contents: pageEntry, resolveDir: web, loader: 'tsx' },
    bundle: true,
    write: false,
    format: 'esm',
    plugins: [stand],
    tsconfigRaw: { compilerOptions: { jsx: 'react-jsx', jsxImportSource: 'preact' } },
  });
  const html = '<style>.chart { height: 600px; width: 900px }</style><body><script type="module" src="/page.js"></script>';
  const files: Readonly<Record<string, readonly [type: string, body: string]>> = {
    '/guide': ['text/html', guide],
    '/page': ['text/html', html],
    '/page.js': ['text/javascript', bundled.outputFiles[0]!.text],
    '/charts.js': ['text/javascript', watchedLibrary],
    '/library.js': ['text/javascript', readFileSync(library, 'utf8')],
    '/client/index.js': ['text/javascript', guideClient],
  };
  server = createServer((request, response) => {
    const [type, body] = files[request.url ?? ''] ?? ['application/json', JSON.stringify({ candles, ticket: '' })];
    response.setHeader('content-type', `${type}; charset=utf-8`).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  chromium = await startChromium();
}, testTimeoutMs);

afterAll(async () => {
  await chromium.close();
  server.close();
});

async function open(path: string, timezoneId = 'UTC'): Promise<Page> {
  const page = await (await chromium.newContext({ timezoneId })).newPage();
  await page.addInitScript(`
    window.texts = new Set();
    // What each frame draws. A frame draws an axis completely.
    window.frames = [[]];
    requestAnimationFrame(function next() {
      if (window.frames.at(-1).length > 0) window.frames = [...window.frames.slice(-50), []];
      requestAnimationFrame(next);
    });
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      window.texts.add(text);
      window.frames.at(-1).push(text);
      return draw.call(this, text, ...place);
    };
  `);
  await page.goto(url + path);
  await until('candles', async () => (await drawn(page)).length > 0);
  return page;
}

/** Starts of the drawn candles. */
const drawn = (page: Page): Promise<readonly number[]> => page.evaluate('(window.series?.data() ?? []).map(({ time }) => time)');

const counted = /^0\.0([₀-₉]+)/;

/** The number that a label states: `0.0₇2923` counts the zeros. */
function valueOf(label: string): number {
  const factor = { K: 1e3, M: 1e6, B: 1e9 }[label.at(-1) ?? ''] ?? 1;
  if (factor > 1) return factor * valueOf(label.slice(0, -1));
  const text = label.replace('$', '').replaceAll(',', '');
  const zeros = counted.exec(text)?.[1];
  if (zeros === undefined) return Number(text);
  const count = Number(Array.from(zeros, (digit) => String(digit.codePointAt(0)! - 0x2080)).join(''));
  return Number(`0.${'0'.repeat(count)}${text.replace(counted, '')}`);
}

/** Labels of the price axis, without those of the time axis and of the volume. */
async function labels(page: Page): Promise<readonly string[]> {
  const texts = await page.evaluate<readonly string[]>('[...window.texts]');
  return texts.filter((text) => /^\$?\d[\d.,₀-₉]*$/.test(text) && text.includes('.'));
}

describe.each([
  ['the guide', '/guide'],
  ['the dashboard', '/page'],
])('the chart of %s', (_, path) => {
  it.each([3e-11, 3e-8, 1e-4])('has labels of the axis that say what a coin at %s costs', { timeout: testTimeoutMs }, async (price) => {
    for (const spread of [0.5, 0.05, 0.001]) {
      candles = candlesAt(price, spread);
      const page = await open(path);
      await until('labels', async () => (await labels(page)).length > 3);
      const values = (await labels(page)).map(valueOf);
      // The axis reaches a little further than the candles.
      const [low, high] = [price * (1 - 2 * spread), price * (1 + 2 * spread)];
      expect(values.filter((value) => !(value > low && value < high))).toEqual([]);
      // Neighbours differ, and all are round but the last price.
      expect(new Set(values).size).toBe(values.length);
      const isRound = (value: number): boolean => Math.abs(Number(value.toPrecision(5)) / value - 1) < 1e-9;
      expect(values.filter((value) => !isRound(value)).length).toBeLessThanOrEqual(1);
      await page.context().close();
    }
  });

  it('removes retracted candles, and draws one again that landed later', { timeout: testTimeoutMs }, async () => {
    candles = candlesAt(3e-8, 0.05);
    const page = await open(path);
    const last = candles.at(-1)!;
    const push = (event: object): Promise<unknown> => page.evaluate(`window.push(${JSON.stringify(event)})`);
    const starts = candles.map(({ start }) => start);
    const next = { ...last, type: 'candle', start: last.start + 1 };
    await push({ ...next, id: `coin:1s:${next.start}:2` });
    await until('the new candle', async () => (await drawn(page)).length === 61);
    for (const { start } of [...candles.slice(-4), next]) await push({ type: 'retract', id: `coin:1s:${start}:2` });
    await until('five candles to be removed', async () => (await drawn(page)).length === 56);
    expect(await drawn(page)).toEqual(starts.slice(0, 56));
    await push({ ...next, id: `coin:1s:${next.start}:1:r2` });
    await until('the candle to come again', async () => (await drawn(page)).length === 57);
    expect((await drawn(page)).at(-1)).toBe(next.start);
    await page.context().close();
  });
});

it(
  'the chart of the dashboard reads its candles again after a gap, and removes those that are gone',
  { timeout: testTimeoutMs },
  async () => {
    candles = candlesAt(3e-8, 0.05);
    const page = await open('/page');
    candles = [...candles.slice(0, 30), ...candles.slice(33)];
    await page.evaluate('window.gap()');
    await until('three candles to be removed', async () => (await drawn(page)).length === 57);
    expect(await drawn(page)).toEqual(candles.map(({ start }) => start));
  },
);

describe('the chart of the dashboard', { timeout: testTimeoutMs }, () => {
  /** Labels of the price axis in the last frame that drew it, with repetitions. */
  async function lastLabels(page: Page): Promise<readonly string[]> {
    const frames = await page.evaluate<readonly (readonly string[])[]>('window.frames');
    const priced = frames.map((texts) => texts.filter((text) => /^\$?\d[\d.,₀-₉]*[KMB]?$/.test(text) && /[.K-M]/.test(text)));
    const texts = priced.findLast((found) => found.length > 3) ?? [];
    // A chart whose place changes its size draws all of the axis once more before the next frame.
    const times = Math.min(...texts.map((text) => texts.filter((other) => other === text).length));
    return times > 1 ? texts.slice(0, texts.length / times) : texts;
  }
  const legend = async (page: Page): Promise<string> => (await page.locator('.legend').innerText()).replaceAll(/\s+/g, ' ');
  /** Where candles are drawn, as parts of the width. */
  const placesOf = (page: Page, ...indexes: readonly number[]): Promise<readonly number[]> =>
    page.evaluate(
      `${JSON.stringify(indexes)}.map((at) => window.chart.timeScale().logicalToCoordinate(at) / window.chart.timeScale().width())`,
    );

  it.each([
    ['moves by half', 4.6e-6, 0.5],
    ['moves by a thousandth', 4.6e-6, 0.001],
    ['does not move', 4.6e-6, 0],
    ['does not move, of a tiny coin', 3e-11, 0],
    ['moves, of a large coin', 150, 0.01],
  ])('repeats no label of the axis, in any unit, if the price %s', async (_, price, spread) => {
    candles = candlesAt(price, spread);
    const page = await open('/page');
    // Each differs from the unit before, so that the chart draws. It begins with USD.
    for (const unit of ['SOL', 'USD', 'Market cap']) {
      await page.evaluate('window.frames = [[]]');
      await page.getByRole('button', { name: unit }).click();
      const factor = unit === 'Market cap' ? 1e9 : 1;
      const [low, high] = [price * factor * (1 - 2 * spread - 0.05), price * factor * (1 + 2 * spread + 0.05)];
      const isOfUnit = (label: string): boolean =>
        label.startsWith('$') === (unit !== 'SOL') && valueOf(label) > low && valueOf(label) < high;
      let all: readonly string[] = [];
      // A frame that was drawn before the click has labels of another unit.
      await until(`labels of ${unit}`, async () => (all = await lastLabels(page)).length > 3 && all.every(isOfUnit)).catch(
        (error: unknown) => {
          throw new Error(`${String(error)}; the axis has ${all.join(' ')}`);
        },
      );
      // The label of the last price may stand over one of the axis.
      expect([unit, all.length - new Set(all).size, all]).toEqual([unit, expect.toBeOneOf([0, 1]), all]);
    }
    await page.context().close();
  });

  it('fills from the left while a coin is new, and follows its newest candle later', async () => {
    const all = candlesAt(4.6e-6, 0.05);
    candles = all.slice(0, 3);
    const page = await open('/page');
    const push = (event: object): Promise<unknown> => page.evaluate(`window.push(${JSON.stringify(event)})`);
    await until('three candles at the left', async () => (await placesOf(page, 0, 2)).every((place) => place > 0.05 && place < 0.15));
    for (const bar of all.slice(3, 40)) await push({ ...bar, type: 'candle', id: `coin:1s:${bar.start}:1` });
    await until('40 candles', async () => (await drawn(page)).length === 40);
    const firstAndLast = (): Promise<readonly number[]> => placesOf(page, 0, 39);
    await until('their places', async () => {
      const [first = 1, last = 0] = await firstAndLast();
      return first < 0.15 && last > 0.5;
    });
    const [first = 0] = await firstAndLast();
    await page.evaluate("document.querySelector('.chart').style.width = '600px'");
    await until('the chart to be resized', async () => (await page.evaluate<number>('window.chart.timeScale().width()')) < 600);
    await until('the place of the first candle', async () => Math.abs((await placesOf(page, 0))[0]! - first) < 0.05);
    for (let n = 40; n < 100; n++) {
      const bar = { ...all[n % 60]!, start: firstS + n };
      await push({ ...bar, type: 'candle', id: `coin:1s:${bar.start}:1` });
      if (n % 10 === 9) await until('the candles', async () => (await drawn(page)).length === n + 1);
    }
    await until('the place of the newest candle', async () => {
      const [newest = 0] = await placesOf(page, 99);
      return newest > 0.5 && newest < 1;
    });
    await page.context().close();
  });

  it.each([
    ['Asia/Kolkata', '2026-11-22T00:00:00+05:30', 1, '11-22'],
    // The clocks go back at two.
    ['America/New_York', '2026-11-01T02:00:00-04:00', 3_600, '11-01'],
  ])('shows the local time of %s, and the date where the local day begins', async (zone, middle, seconds, day) => {
    const middleS = Date.parse(middle) / 1_000;
    candles = candlesAt(4.6e-6, 0.05).map((bar, n) => ({ ...bar, start: middleS + (n - 30) * seconds }));
    const page = await open('/page', zone);
    const timeAxis = async (): Promise<readonly string[]> =>
      (await page.evaluate<readonly string[]>('[...window.texts]')).filter((text) => /^\d\d[:-]\d\d/.test(text));
    await until('labels of the time', async () => (await timeAxis()).length > 3);
    const local = candles.map(({ start }) => new Date(start * 1_000).toLocaleString('sv-SE', { timeZone: zone }));
    const right = new Set(local.flatMap((text) => [text.slice(5, 10), text.slice(11), text.slice(11, 16)]));
    expect((await timeAxis()).filter((text) => !right.has(text))).toEqual([]);
    expect(await timeAxis()).toContain(day);
    const pointAt = async (label: RegExp): Promise<boolean> => {
      const box = (await page.locator('.chart').boundingBox())!;
      const [place = 0] = await placesOf(page, 40);
      await page.mouse.move(box.x + place * (await page.evaluate<number>('window.chart.timeScale().width()')), box.y + 200);
      return (await page.evaluate<readonly string[]>('[...window.texts]')).some((text) => label.test(text));
    };
    await until('the time at the pointer', () => pointAt(new RegExp(`^${local[40]!}$`)));
    // Candles of a day begin at midnight UTC.
    candles = candles.map((bar, n) => ({ ...bar, start: 1_795_219_200 + n * 86_400 }));
    await page.getByRole('button', { name: '1d', exact: true }).click();
    await until('the day at the pointer', () => pointAt(/^2026-12-31 UTC$/));
    candles = candles.slice(0, 1);
    await page.getByRole('button', { name: '4h', exact: true }).click();
    await until('one candle', async () => (await drawn(page)).length === 1);
    await page.evaluate('window.texts.clear()');
    await page.getByRole('button', { name: '1d', exact: true }).click();
    await until('its day', async () => (await timeAxis()).includes('11-21'));
    await page.context().close();
  });

  it('names open, high, low, close, change and volume of the last candle, and of the one under the pointer', async () => {
    const bar = (start: number, from: number, close: number): Bar => {
      const values = { open: from, high: 5e-6, low: 1e-6, close };
      const usd = { openUsd: from, highUsd: 5e-6, lowUsd: 1e-6, closeUsd: close };
      return { start: firstS + start, ...values, ...usd, volumeQuote: 2, volumeUsd: 4_600 } as Bar;
    };
    candles = [bar(0, 4e-6, 2e-6), bar(1, 2e-6, 2.5e-6)];
    const page = await open('/page');
    expect(await legend(page)).toBe('O $0.0₅2000 H $0.0₅5000 L $0.0₅1000 C $0.0₅2500 Change +25.00 % Vol $4.60K');
    const box = (await page.locator('.chart').boundingBox())!;
    const [place = 0] = await placesOf(page, 0);
    const width = await page.evaluate<number>('window.chart.timeScale().width()');
    await page.mouse.move(box.x + place * width, box.y + 200);
    await until('the candle under the pointer', async () => (await legend(page)).startsWith('O $0.0₅4000'));
    expect(await legend(page)).toContain('C $0.0₅2000 Change −50.00 % Vol');
    await page.getByRole('button', { name: 'SOL' }).click();
    await until('the unit', async () => (await legend(page)).includes('Vol 2 SOL'));
    await page.context().close();
  });
});
