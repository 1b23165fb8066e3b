import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { until } from '../support/gateway.ts';
import { startProduct } from '../support/product/started-product.ts';

/** How old the numbers of a page are, over a market at ten times its speed. */
const testTimeoutMs = 180_000;
/** Until a coin of a busy machine's market has migrated. */
const migrationMs = 600_000;
/** Prices that the newest trade of the page must have had before the test ends. */
const pricesSeen = 12;
/** The value of SOL may change between a trade and an answer, so a price in USD may differ by this part. */
const sameWithin = 0.01;

let folder: string;
let child: ChildProcess;
let chromium: Chromium;
let context: BrowserContext;
let page: Page;
let url: string;
let rpcUrl: string;
let watched: Watched;
/** The page of a token that trades much. */
let token: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-ages-'));
  const started = await startProduct(folder, 10);
  ({ child, url, rpcUrl } = started);
  chromium = await startChromium();
  context = await chromium.newContext();
  page = await context.newPage();
  watched = watchPage(page, url);
  await page.goto(started.link);
  token = await busiestToken();
}, testTimeoutMs + migrationMs);

afterAll(async () => {
  await chromium.close();
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A migrated coin, whose pool stays the same. Its trades go on for long. */
async function busiestToken(): Promise<string> {
  await page.getByLabel('Venue').selectOption('pump-amm');
  const links = page.locator('.trades a.token');
  let most: readonly [string, number] = ['', 0];
  await until(
    'trades of a migrated coin',
    async () => {
      const counts = new Map<string, number>();
      for (const link of await links.evaluateAll((all) => all.map((one) => (one as unknown as { href: string }).href))) {
        counts.set(link, (counts.get(link) ?? 0) + 1);
      }
      most = [...counts].toSorted((a, b) => b[1] - a[1])[0] ?? most;
      return most[1] >= 5;
    },
    migrationMs,
  );
  return most[0];
}

interface Shown {
  readonly head: readonly string[];
  readonly tape: readonly string[];
}

/** Price and market cap in the head and of the newest trade below it, each time that the page has drawn them. */
const watchPrices = `
window.shown = [];
(function look() {
  const texts = (places) => places.map((place) => document.querySelector(place)?.firstChild?.textContent ?? '');
  const head = texts(['.token-head .fact:nth-child(1) dd', '.token-head .fact:nth-child(2) dd', '.token-head .fact:nth-child(3) dd']);
  const tape = texts(['.trades tbody tr:first-child td:nth-child(5)', '.trades tbody tr:first-child td:nth-child(6)']);
  const last = window.shown.at(-1);
  if (JSON.stringify({ head, tape }) !== JSON.stringify(last)) window.shown.push({ head, tape });
  requestAnimationFrame(look);
})();`;

interface FirstAge {
  /** Unix milliseconds. */
  readonly shownAtMs: number;
  /** As shown. */
  readonly ageMs: number;
  /** The longest time for which the page could not run. */
  readonly heldUpMs: number;
}

/** When the page first showed the age of its numbers. Runs in the page. */
const watchAge = `
window.firstAge = null;
(function look(before, heldUpMs) {
  const now = Date.now();
  const text = document.querySelector('.numbers-age')?.textContent;
  if (text !== undefined) {
    window.firstAge = { shownAtMs: now, ageMs: 1000 * Number(/([0-9.]+) s old/.exec(text)[1]), heldUpMs: Math.max(heldUpMs, now - before) };
  } else setTimeout(() => look(now, Math.max(heldUpMs, now - before)), 10);
})(Date.now(), 0);`;

async function control(command: object): Promise<void> {
  const body = JSON.stringify(command);
  const answer = await fetch(`${rpcUrl}/control`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  expect(answer.status).toBe(200);
}

/** Of each migration: route, market cap and age, and the market cap of the newest trade of the token in the list of trades. Runs in the page. */
const migratedRows = `[...document.querySelectorAll('.migrations tbody tr')].map((row) => {
  const link = (of) => of.querySelector('a.token').href;
  const trade = [...document.querySelectorAll('.trades tbody tr')].find((one) => link(one) === link(row));
  return [row.querySelector('.detail'), row.cells[2], row.cells[3]].map((of) => of.firstChild.textContent).concat(trade?.cells[5].textContent ?? '');
})`;

const units: Readonly<Record<string, number>> = { K: 1e3, M: 1e6, B: 1e9 };
/** `$0.0₇2923`, `$4.47K`. */
function numberOf(text: string): number {
  const [, digits = 'none', unit = ''] = /^\$([\d.,₀-₉]+)([KMB]?)$/.exec(text) ?? [];
  const plain = digits.replaceAll(',', '').replace(/0([₀-₉]+)/, (_, count: string) => '0'.repeat(Number(count.normalize('NFKC'))));
  return Number(plain) * (units[unit] ?? 1);
}

const differs = (one: number, other: number): boolean => !(Math.abs(one / other - 1) < sameWithin);

describe('the age of numbers', { timeout: testTimeoutMs }, () => {
  it('the head of a token shows the price, market cap and liquidity of the newest trade below it', async () => {
    let answers = 0;
    // The page gets one answer. What it shows afterwards is what the stream has shown.
    await page.route('**/api/token/info/**', (route) =>
      route.request().url().includes(token.split('/').at(-1)!) && answers++ > 0 ? undefined : route.continue(),
    );
    await page.goto(token);
    await page.locator('.trades tbody tr').first().waitFor();
    await page.evaluate(watchPrices);
    const read = (): Promise<readonly Shown[]> => page.evaluate<readonly Shown[]>('window.shown');
    await until('changes of the price', async () => new Set((await read()).map(({ tape }) => tape[0])).size >= pricesSeen);
    const shown = await read();
    const isWrong = ({ head, tape }: Shown): boolean => [0, 1].some((at) => differs(numberOf(head[at]!), numberOf(tape[at]!)));
    // The answer may be newer than the trades that have arrived. From the first agreement on, the two agree.
    const first = shown.findIndex((one) => !isWrong(one));
    expect(first).toBeGreaterThanOrEqual(0);
    expect(shown.slice(first).filter(isWrong)).toEqual([]);
    // Liquidity is the quote coins of the pool.
    const liquidity = new Set(shown.map(({ head }) => head[2]));
    expect(liquidity.size).toBeGreaterThan(pricesSeen / 2);
    await page
      .getByText(/^read \d+s ago$/)
      .first()
      .waitFor();
    expect(await look(page, 'token-ages')).toEqual([]);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('a migrated token shows what it is worth now, and not at its migration', async () => {
    const live = await context.newPage();
    await live.goto(`${url}/#/live`);
    // Later than the first trades of the pool, which are worth as much as the migration.
    await until('a market cap that both lists show', async () => {
      const migrated = (await live.evaluate<readonly (readonly string[])[]>(migratedRows)).filter(([, , age]) =>
        /^(\d\d+s|\d+m)$/.test(age!),
      );
      expect(migrated.filter(([route]) => route !== 'pump → PumpSwap')).toEqual([]);
      return migrated.some(([, cap, , traded]) => cap === traded);
    });
    await live.close();
  });

  it('what a page reads from time to time shows its age', async () => {
    const pages = [
      ['Wallets', '**/api/portfolio/**'],
      ['API Keys', '**/dashboard/keys'],
      ['Status', '**/status'],
    ] as const;
    for (const [section, path] of pages) {
      await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: section, exact: true }).click();
      await page.getByRole('heading', { level: 1, name: section }).waitFor();
      const age = page.locator('.as-of').first();
      await age.waitFor();
      await page.route(path, () => undefined);
      await until(`the age of ${section}`, async () => /^read \d+s ago$/.test((await age.textContent())!));
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    }
    // The client says so when an answer does not come, as those that the test withholds.
    expect(watched.complaints.filter((text) => !text.endsWith('retrying.'))).toEqual([]);
  });

  it('a stream that is silent, or interrupted, is reported with the time of what the page shows', async () => {
    const other = await context.newPage();
    let isSilent = false;
    let refuses = false;
    let refused = 0;
    await other.routeWebSocket(/\/api\/data/, async (socket) => {
      if (refuses) {
        refused++;
        return void socket.close();
      }
      socket.connectToServer().onMessage((message) => {
        if (!isSilent) socket.send(message);
      });
    });
    await other.goto(token);
    await other.locator('.trades tbody tr').first().waitFor();
    const line = other.getByText(/^The stream is interrupted\. .* those of \d\d:\d\d:\d\d\.$/);
    await line.waitFor({ state: 'hidden' });
    isSilent = true;
    await line.waitFor();
    const first = (await line.textContent())!;
    // The client replaces a silent connection. The time stays that of the last message.
    refuses = true;
    await until('the next connection', () => refused > 1);
    expect(await line.textContent()).toBe(first);
    isSilent = refuses = false;
    await line.waitFor({ state: 'hidden' });
    await other.close();
  });

  it.each([
    ['chain', (): Promise<void> => control({ op: 'stall' }), (): Promise<void> => control({ op: 'clear' })],
    ['server', async (): Promise<void> => void child.kill('SIGSTOP'), async (): Promise<void> => void child.kill('SIGCONT')],
  ] as const)('within a second, the page says that its numbers are older than a second: of a %s that stops', async (_name, stop, go) => {
    for (const section of ['live', 'orders']) {
      const other = await context.newPage();
      await other.goto(`${url}/#/${section}`);
      await other.locator('main h1').waitFor();
      const mark = other.locator('.numbers-age');
      await until('current numbers', async () => (await mark.count()) === 0);
      await other.evaluate(watchAge);
      await stop();
      const stoppedAtMs = Date.now();
      const { shownAtMs, ageMs, heldUpMs } = await until(
        'the age',
        async () => (await other.evaluate<FirstAge | null>('window.firstAge')) ?? false,
      );
      // A busy machine may hold the page up.
      expect(ageMs).toBeLessThan(2_000 + heldUpMs);
      expect(ageMs).toBeGreaterThanOrEqual(1_000);
      // The age counts from the last news, which came before the stop. A page that is held up shows an age later than it computed it.
      expect(shownAtMs - ageMs).toBeLessThan(stoppedAtMs + 500 + heldUpMs);
      await other.getByText(/ on this page are those of \d\d:\d\d:\d\d\.$/).waitFor();
      await go();
      await until('current numbers', async () => (await mark.count()) === 0);
      await other.close();
    }
  });

  it('a connection over which no news of the chain comes is not called live', async () => {
    const other = await context.newPage();
    let slotAgeMs = 90;
    await other.routeWebSocket(/\/api\/data/, (socket) => {
      socket.connectToServer().onMessage((message) => socket.send(String(message).replace(/"slotAgeMs":\d+/, `"slotAgeMs":${slotAgeMs}`)));
    });
    await other.goto(`${url}/#/live`);
    const state = other.locator('.connection [role=status]');
    await until('a connection', async () => (await state.textContent()) === 'live');
    slotAgeMs = 7_200_000;
    const line = other.getByText(/^No news of the chain arrives at the server\. .* those of \d\d:\d\d:\d\d\.$/);
    await line.waitFor();
    expect(await state.textContent()).toBe('interrupted');
    expect(await other.locator('.dot.live').count()).toBe(0);
    slotAgeMs = 90;
    await line.waitFor({ state: 'hidden' });
    expect(await state.textContent()).toBe('live');
    await other.close();
  });
});
