import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { until } from '../support/gateway.ts';
import { tabAndPress, tabAndType } from '../support/browser/keyboard.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { startProduct } from '../support/product/started-product.ts';

const testTimeoutMs = 180_000;
const maxFirstPageBytes = 300_000;
const maxTries = 5;
const phone = { width: 390, height: 844 };
/** The state of an order that its chain has confirmed. */
const settled = '.state:is(.confirmed, .finalized)';

let folder: string;
const children: ChildProcess[] = [];
let chromium: Chromium;
let page: Page;
let link: string;
let url: string;
let wallet: string;
let watched: Watched;
let received = 0;
let paper: Page;
/** The page of a token. The rows of the live lists move. */
let paperToken: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-pages-'));
  const live = await startProduct(folder, 1);
  children.push(live.child);
  ({ link, url, wallet } = live);
  chromium = await startChromium();
  const context = await chromium.newContext();
  page = await context.newPage();
  watched = watchPage(page, url);
  page.on('response', (response) => void (received += Number(response.headers()['content-length'] ?? 0)));
}, testTimeoutMs);

afterAll(async () => {
  await chromium.close();
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function open(section: string, on = page): Promise<void> {
  const before = on.url();
  await on.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: section, exact: true }).click();
  await on.getByRole('heading', { level: 1, name: section }).waitFor();
  // A reader with a screen reader notices the change.
  if (on.url() !== before) await on.locator('main:focus').waitFor();
  expect(await on.title()).toBe(`${section} – sluice`);
}

/** Opens a new token that trades in SOL; the wallet has no USDC. */
async function openToken(on: Page): Promise<void> {
  await on
    .locator('.tokens tbody tr', { hasText: /\d SOL/ })
    .locator('td.number')
    .first()
    .click();
}

/** The ticket reports that the price moved further than the slippage allows. */
const movedOn = (on: Page): Locator => on.locator('.ticket .fault', { hasText: 'The price moved further' });

/** Presses the button of an order. If the market has moved too far by then, presses it again, as a person does. */
async function order(name: 'Buy' | 'Sell', on = page): Promise<void> {
  await on.getByLabel('Slippage (%)').fill('30');
  const placed = on.locator(`.progress .side.${name.toLowerCase()}`);
  for (let tries = 0; tries < maxTries; tries++) {
    // The ticket may still show an earlier order.
    const answer = on.waitForResponse((response) => response.url().endsWith(`/api/trade/${name.toLowerCase()}`));
    await on.getByRole('button', { name, exact: true }).click();
    if ((await answer).ok()) return placed.waitFor();
    await movedOn(on).waitFor();
    // The browser writes a line for every answer that is not 2xx.
    watched.complaints.pop();
  }
  throw new Error(`The price moved further than the slippage allows, ${maxTries} times.`);
}

interface Frame {
  readonly topic: string;
  readonly seq: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Replaces frames of the stream by the notice of a gap, as if the bus had lost them. Returns the topics of those so far. */
async function replaceByGaps(on: Page, isLost: (frame: Frame) => boolean): Promise<() => readonly string[]> {
  const replaced: string[] = [];
  const epochs = new Map<string, string>();
  const tear = (text: string): string => {
    const message = JSON.parse(text) as Partial<Frame> & { readonly positions?: Readonly<Record<string, { readonly epoch: string }>> };
    for (const [topic, { epoch }] of Object.entries(message.positions ?? {})) epochs.set(topic, epoch);
    const { topic, seq, data } = message;
    if (topic === undefined || seq === undefined || data === undefined || !isLost({ topic, seq, data })) return text;
    replaced.push(topic);
    return JSON.stringify({ op: 'gap', topic, from: seq, to: seq, reason: 'lost', epoch: epochs.get(topic) });
  };
  await on.routeWebSocket(/\/api\/data/, (socket) => {
    socket.connectToServer().onMessage((message) => socket.send(tear(String(message))));
  });
  return () => replaced;
}

/** Whether the chart has drawn something in this colour of the page. */
const isDrawnIn = (on: Page, name: string): Promise<boolean> =>
  on.evaluate<boolean>(`(() => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = 'var(--${name})';
    const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
    probe.remove();
    return [...document.querySelectorAll('.chart canvas')].some((canvas) => {
      if (canvas.width === 0 || canvas.height === 0) return false;
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) if (data[at] === r && data[at + 1] === g && data[at + 2] === b) return true;
      return false;
    });
  })()`);

describe('the pages of the dashboard with a running market', { timeout: testTimeoutMs }, () => {
  it('open live by the link of `start`, which works once', async () => {
    await page.goto(link);
    await page.locator('.trades tbody tr').first().waitFor();
    expect(page.url()).toBe(`${url}/#/live`);
    expect(received).toBeGreaterThan(1_000);
    expect(received).toBeLessThan(maxFirstPageBytes);
    expect(watched.complaints).toEqual([]);
    const second = await (await chromium.newContext()).newPage();
    await second.goto(link);
    await second.getByText('This sign-in link was used already.').waitFor();
    expect(await second.getByRole('heading', { name: 'New tokens' }).count()).toBe(0);
    await second.context().close();
  });

  it('live: tokens and trades with prices that have no exponent, and filters', async () => {
    await page.locator('.tokens tbody tr').first().waitFor();
    expect(await page.locator('main').textContent()).not.toMatch(/\d e-?\d|\de-\d/);
    await page.getByLabel('Side').selectOption('buy');
    await until('buys only', async () => (await page.locator('.trades .side.sell').count()) === 0);
    await page.getByLabel('Side').selectOption('');
    expect(await look(page, 'live')).toEqual([]);
    // A phone shows one list at a time.
    for (const list of ['Trades', 'Pools', 'Migrations']) {
      await page.setViewportSize(phone);
      await page.getByRole('group', { name: 'List' }).getByRole('button', { name: list }).click();
      const table = page.locator(`.${list.toLowerCase()} table`);
      if ((await table.count()) > 0) expect((await table.boundingBox())!.width).toBeLessThan(phone.width - 40);
      expect(await look(page, `live-${list.toLowerCase()}`, 'phone')).toEqual([]);
    }
  });

  it('a page that is opened later shows the recent past, with images, and finds its symbols', async () => {
    const rows = page.locator('.tokens tbody tr');
    const oldest = rows.last().locator('a.token');
    const [href, symbol] = [(await oldest.getAttribute('href'))!, (await oldest.locator('b').textContent())!];
    await page.reload();
    await page.locator(`.tokens a[href="${href}"]`).waitFor();
    await page.locator('.trades tbody tr').nth(5).waitFor();
    const shown = async (): Promise<readonly { readonly token: string; readonly name: string }[]> =>
      page.locator('.trades a.token').evaluateAll((links) =>
        links.map((row) => ({
          token: (row as unknown as { hash: string }).hash,
          name: (row as unknown as { innerText: string }).innerText,
        })),
      );
    // Trades of further tokens arrive all the time.
    const first = new Set((await shown()).map(({ token }) => token));
    expect(first.size).toBeGreaterThan(0);
    // The page requests names while half of the key's limit is left, newest tokens first. So the last of them may wait for long.
    await until('most of their names', async () => {
      const listed = (await shown()).filter(({ token }) => first.has(token));
      return listed.filter(({ name }) => !name.includes('…')).length >= listed.length / 2;
    });
    await page.locator('.tokens img.icon').first().waitFor();
    await page.locator('.trades img.icon').first().waitFor();
    expect(await page.locator('.tokens svg.icon').count()).toBeGreaterThan(0);
    await page.getByRole('searchbox').fill(symbol);
    await page.locator(`.found a[href="${href}"]`).waitFor();
    // The simulated chain does not have the coins of the real one.
    await page.getByRole('searchbox').fill('a');
    await page.locator('.found a').nth(7).waitFor();
    expect(await page.locator('.found').innerText()).not.toContain('PayPal');
    await page.getByRole('searchbox').fill('');
    expect(await page.locator('.connection .warn').count()).toBe(0);
  });

  it('the creator filters all lists, and the trader those of trades', async () => {
    const creator = (await page.locator('.tokens tbody tr').last().locator('a.address').getAttribute('title'))!;
    await page.getByLabel('Creator', { exact: true }).fill(creator);
    const linksOf = (list: string): Promise<readonly (string | null)[]> =>
      page.locator(`.${list} a.token`).evaluateAll((links) => links.map((one) => (one as unknown as { hash: string }).hash));
    await until('only its tokens', async () => {
      const tokens = new Set(await linksOf('tokens'));
      const trades = await linksOf('trades');
      return tokens.size > 0 && trades.length > 0 && trades.every((hash) => tokens.has(hash));
    });
    for (const list of ['tokens', 'trades']) {
      expect(await page.locator(`.${list} tbody tr`).count()).toBeGreaterThan(0);
    }
    const shown = await page.locator('.tokens a.address').evaluateAll((links) => links.map((one) => (one as { title: string }).title));
    expect(new Set(shown)).toEqual(new Set([creator]));
    await page.getByRole('button', { name: 'Clear' }).click();
  });

  it('a token: chart, trades, and orders that are followed', async () => {
    await openToken(page);
    await page.getByRole('img', { name: /^Candles of 15s, last/ }).waitFor();
    await page.getByRole('heading', { name: 'Trades' }).waitFor();
    await page.locator('.holders').getByText('Bonding curve of pump').waitFor();
    const symbol = await page.locator('.token-head h1').evaluate((heading) => heading.firstChild?.textContent ?? '');
    await until('the symbol in the title', async () => (await page.title()) === `${symbol} – sluice`);
    await page.getByLabel('Amount').fill('0.1');
    await order('Buy');
    await page.locator(`.progress ${settled}`).waitFor({ timeout: 60_000 });
    await page.getByLabel('Amount').fill('50%');
    await page.getByLabel('Quote').getByText('→').first().waitFor();
    await order('Sell');
    await until('both own trades', async () => (await page.locator('.trades tr.own', { hasText: 'you' }).count()) === 2);
    await page.getByRole('img', { name: /^Candles of 15s, last .*, your trades: 2$/ }).waitFor();
    await until('their marks in the chart', () => isDrawnIn(page, 'info'));
    expect(await look(page, 'token')).toEqual([]);
    // Followed to its end here, and not only on the page of orders.
    await page.locator('.progress .state.finalized').waitFor({ timeout: 60_000 });
    expect(await page.locator('.progress').innerText()).toMatch(/Network fee 0\.0\d+ SOL, rent and tips 0 SOL/);
    await page.getByLabel('Amount').fill('0.1');
    await page.getByRole('button', { name: 'Simulate the purchase' }).click();
    await page.locator('.progress').getByText('simulated only').waitFor();
  });

  it('what a gap leaves out is read again: trades of a token, and orders', async () => {
    const torn = await page.context().newPage();
    const seen = watchPage(torn, url);
    const replaced = await replaceByGaps(torn, ({ topic, data }) => topic.startsWith('orders') || data['trader'] === wallet);
    await torn.goto(page.url());
    const own = torn.locator('.trades tr', { has: torn.locator(`a.address[title="${wallet}"]`) });
    await until('the trades so far', async () => (await own.count()) === 2);
    await torn.getByLabel('Amount').fill('0.1');
    await order('Buy', torn);
    await torn.locator(`.progress ${settled}`).waitFor();
    await until('the trade that was lost', async () => (await own.count()) === 3);
    expect(replaced().some((topic) => topic.startsWith('trades:'))).toBe(true);
    await open('Orders', torn);
    const listed = torn.locator(`tbody ${settled}`);
    await until('the orders so far', async () => (await listed.count()) === 3);
    const before = replaced().length;
    await page.getByLabel('Amount').fill('0.1');
    await order('Buy');
    await until('the order that was lost', async () => (await listed.count()) === 4);
    expect(replaced().slice(before)).toContainEqual(expect.stringMatching(/^orders/));
    expect(seen.complaints).toEqual([]);
    await torn.close();
  });

  it('the keyboard alone reaches a token and places an order', async () => {
    await open('Live');
    // The rows move while they are reached, so the list is paused.
    await tabAndPress(page, page.getByRole('button', { name: 'Pause' }));
    const tokens = page.locator('.tokens tbody tr', { hasText: /\d SOL/ }).locator('a.token');
    await tabAndPress(page, tokens.first());
    await tabAndType(page, page.getByLabel('Amount'), '0.1');
    await tabAndPress(page, page.getByRole('button', { name: 'Simulate the purchase' }));
    await page.locator('.progress').getByText('simulated only').waitFor();
  });

  it('an order with real coins needs a second confirmation', async () => {
    await page.route('**/status', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), cluster: { simulated: false } } });
    });
    await page.getByLabel('Amount').fill('0.1');
    await page.getByRole('button', { name: 'Buy', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Buy with real coins' });
    await dialog.getByText('It cannot be undone.').waitFor();
    // The quote of the order follows the market here too.
    for (const name of ['Receive about', 'At least']) await dialog.getByText(name, { exact: true }).waitFor();
    await dialog.getByText(/^\d+\.\d s old$/).waitFor();
    expect(await look(page, 'confirm-order', 'phone')).toEqual([]);
    // The focus is on Cancel, so that a repeated key buys nothing.
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await page.unroute('**/status');
  });

  it('orders, with their tokens and states', async () => {
    await open('Orders');
    expect(await page.locator('.badge.simulated').allTextContents()).toEqual(['simulated']);
    await until('all orders', async () => (await page.locator('tbody .state.finalized').count()) === 4);
    await page
      .getByRole('button', { name: /^More about order/ })
      .first()
      .click();
    await page.getByText('Fees of the venue').waitFor();
    // The first purchase opened an account for the tokens: all that left the wallet is named.
    await page
      .getByRole('button', { name: /^More about order/ })
      .last()
      .click();
    const rent = page.locator('.fact', { hasText: 'Rent and tips' }).locator('dd');
    await until('its rent', async () => /^0\.00[1-9]\d* SOL$/.test((await rent.textContent()) ?? ''));
    expect(await look(page, 'orders')).toEqual([]);
  });

  it('paper mode is marked on each page, and an order is filled at once', async () => {
    const started = await startProduct(folder, 1, { TRADING: 'paper', DATA_DIR: join(folder, 'paper') });
    children.push(started.child);
    paper = await (await chromium.newContext()).newPage();
    await paper.goto(started.link);
    await openToken(paper);
    await paper.locator('.ticket .badge.paper').waitFor();
    await paper.getByText('from the paper balance of the wallet').waitFor();
    await order('Buy', paper);
    await paper.locator('.progress .state.finalized').waitFor();
    await paper.getByText('Filled on paper, at its quote. Nothing was sent.').waitFor();
    expect(await paper.locator('.progress li').count()).toBe(0);
    paperToken = paper.url();
    await open('Orders', paper);
    await paper.locator('tbody .badge.paper').waitFor();
    for (const section of ['Orders', 'Wallets', 'Status']) {
      await open(section, paper);
      await paper.locator('.page-head .badge.paper').waitFor();
    }
  });

  it('a double click, or an answer that is lost, places no second order', async () => {
    await paper.goto(paperToken);
    const filled = paper.locator('.progress .state.finalized');
    await paper.getByLabel('Slippage (%)').fill('30');
    const buy = paper.getByRole('button', { name: 'Buy', exact: true });
    // The page asks for the status before an order. A late answer to a second click must not place another order.
    let asked = 0;
    await paper.route('**/status', async (route) => {
      if (asked++ % 2 === 1) await delay(2_500);
      await route.continue();
    });
    const doubleClick = async (betweenMs: number): Promise<void> => {
      // The button may move while the page is loaded, so the first click waits until it stays in its place.
      await buy.click();
      await delay(betweenMs);
      await paper.mouse.down();
      await paper.mouse.up();
      await filled.or(movedOn(paper)).first().waitFor();
      await until('the next order to be possible', () => buy.isEnabled());
    };
    for (const betweenMs of [0, 150, 400]) {
      await doubleClick(betweenMs);
      // A refused order is none, so the person tries again.
      for (let tries = 1; tries < maxTries && (await filled.count()) === 0; tries++) await doubleClick(betweenMs);
      expect(await filled.count()).toBe(1);
    }
    await paper.unroute('**/status');
    let lost = 0;
    await paper.route('**/api/trade/buy', async (route) => {
      await route.fetch();
      lost++;
      await route.abort();
    });
    await buy.click();
    await paper.getByText('The server may have this order.').waitFor();
    expect(lost).toBeGreaterThan(1);
    expect(await filled.count()).toBe(0);
    expect(await paper.getByRole('button', { name: 'Sell', exact: true }).isDisabled()).toBe(true);
    await paper.unroute('**/api/trade/buy');
    await paper.getByRole('button', { name: 'Send it again' }).click();
    await filled.waitFor();
    await open('Orders', paper);
    // One of the test before, one of each double click, and one whose answer was lost.
    await until('all orders', async () => (await paper.locator('tbody .state.finalized').count()) === 5);
  });

  it('a paper wallet sells what it bought, shows its result, and begins again', async () => {
    const sell = async (part: string): Promise<void> => {
      await paper.goto(paperToken);
      await paper.getByRole('button', { name: part, exact: true }).click();
      await order('Sell', paper);
      await paper.locator('.progress .state.finalized').waitFor();
      await open('Wallets', paper);
    };
    const cards = paper.locator('section.wallet');
    const fact = (name: string) => cards.locator('.fact', { has: paper.getByText(name, { exact: true }) }).locator('dd');
    await sell('50 %');
    // The other half.
    await cards.locator('tbody tr').waitFor();
    expect(await fact('SOL on paper').textContent()).toMatch(/^\d\.\d+ SOL$/);
    expect(await fact('Result').textContent()).toMatch(/^[+−]\S+ SOL \([+−]\d+\.\d\d %\)$/);
    expect(await cards.getByRole('button', { name: 'Deposit' }).count()).toBe(0);
    expect(await look(paper, 'paper-wallets', 'phone')).toEqual([]);
    await paper.getByRole('link', { name: 'Trades and orders' }).click();
    await paper.getByText('An order on paper is no trade on the chain.').waitFor();
    // A token without a price counts as nothing, and the page says so.
    await paper.route('**/api/portfolio/**', async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { readonly totals: object };
      await route.fulfill({ response: answer, json: { ...body, totals: { ...body.totals, unpriced: 1 } } });
    });
    await open('Wallets', paper);
    await until('the result', async () => (await fact('Result').textContent())?.endsWith(' without 1 token that no price is known for'));
    await paper.unrouteAll({ behavior: 'ignoreErrors' });
    await sell('100 %');
    await until('the wallet to hold SOL only', async () => (await fact('Tokens').textContent()) === '0');
    // The market may have risen by more than the fees.
    expect(await fact('Result').textContent()).toMatch(/^[+−]\S+ SOL/);
    await paper.getByRole('button', { name: 'Set balance' }).click();
    const dialog = paper.getByRole('dialog');
    await dialog.getByLabel('SOL').fill('25');
    await dialog.getByRole('checkbox').check();
    expect(await look(paper, 'paper-balance')).toEqual([]);
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await until('the balance', async () => /^25(\.0+)? SOL$/.test((await fact('SOL on paper').textContent()) ?? ''));
    expect(await fact('Result').textContent()).toMatch(/^\+0\S* SOL \(\+0\.00 %\)$/);
    await paper.getByRole('button', { name: 'New paper wallet' }).click();
    await dialog.getByLabel('Label').fill('second strategy');
    await dialog.getByRole('button', { name: 'Make' }).click();
    await paper.getByRole('heading', { name: 'second strategy' }).waitFor();
    expect(await cards.count()).toBe(2);
    await open('Orders', paper);
  });

  it('the page tries again if the server does not answer when it is opened', async () => {
    let refused = 0;
    await paper.route('**/dashboard/me', (route) => (refused++ < 2 ? route.abort() : route.continue()));
    await paper.reload();
    await paper.getByText('The page tries again').waitFor();
    await paper.locator('tbody .state.finalized').first().waitFor();
    expect(await paper.getByText('The page tries again').count()).toBe(0);
  });

  it('orders are read again after a failure', async () => {
    await open('Status', paper);
    await paper.route(/\/trade\/orders\?/, (route) => route.abort());
    await open('Orders', paper);
    const fault = paper.locator('main .fault');
    await fault.waitFor();
    expect(await paper.locator('tbody tr').count()).toBe(0);
    await paper.unroute(/\/trade\/orders\?/);
    await paper.locator('tbody .state.finalized').first().waitFor();
    expect(await fault.count()).toBe(0);
    await paper.context().close();
    // A running market costs processor time.
    children.pop()!.kill('SIGKILL');
  });

  it('wallets: valued holdings, the address as a QR code, export', async () => {
    await open('Wallets');
    await page.getByText('99.').first().waitFor();
    expect(await look(page, 'wallets')).toEqual([]);
    await page.getByRole('button', { name: 'Deposit' }).click();
    await page.getByRole('img', { name: /^QR code of the address/ }).waitFor();
    expect(await look(page, 'deposit')).toEqual([]);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('dialog', { name: 'Export' }).getByRole('checkbox').click();
    await page.getByText('sluice wallets export').waitFor();
    expect(await look(page, 'export', 'phone')).toEqual([]);
    await page.keyboard.press('Escape');
  });

  it('keys with their usage, and the status', async () => {
    await open('API Keys');
    await page.getByRole('img', { name: /^Requests a minute: at most [1-9]/ }).waitFor();
    await page
      .locator('#keys tbody')
      .getByText(/^(just now|\d+s ago)$/)
      .waitFor();
    expect(await look(page, 'api-keys')).toEqual([]);
    await page.getByRole('button', { name: 'Generate New Key' }).click();
    await page.getByRole('dialog', { name: 'Generate New Key' }).waitFor();
    expect(await look(page, 'new-key')).toEqual([]);
    await page.keyboard.press('Escape');
    await open('Status');
    await page.getByText('Behind the chain').waitFor();
    const fact = (name: string) => page.locator('.fact', { has: page.getByText(name, { exact: true }) }).locator('dd');
    await until('the price of SOL', async () => /^\$[\d.]+ .+ old$/.test((await fact('SOL price').textContent())!));
    await until('a watermark', async () => /^[\d,]+ \d+ slots? behind$/.test((await fact('Watermark').textContent())!));
    await page.locator('.sources').getByRole('row', { name: 'node 1 up' }).waitFor();
    expect(await look(page, 'status')).toEqual([]);
  });

  it('documentation: samples, a dry run with what exists here, and the live console', async () => {
    await page.goto(`${url}/docs/http-trading`);
    const sample = page.locator('#tradeBuy ~ .sample').filter({ hasText: 'TypeScript' }).first();
    await sample.locator('summary').press('Enter');
    await sample.getByText(`publicKey: "${wallet}"`).waitFor();
    const buy = page.locator('[data-try="tradeBuy"]');
    await buy.getByText('Try it').click();
    await buy.getByText('Nothing is signed or sent').waitFor();
    await buy.getByRole('button', { name: 'Send as a dry run' }).click();
    await buy.getByText('"dryRun": true').waitFor();
    await page.goto(`${url}/docs/stream`);
    await page.getByText('Try it: live console').click();
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.messages li.received', { hasText: '"topic":"trades"' }).first().waitFor();
    await page.goto(url);
    await page.getByRole('heading', { level: 1, name: 'Live' }).waitFor();
  });

  it('search opens a wallet; signed out, the page asks to sign in', async () => {
    const other = '5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1';
    await page.getByRole('searchbox').fill(other);
    await page.getByRole('searchbox').press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Wallet 5Q54…e4j1' }).waitFor();
    await page.getByText(/^None since [\d-]+ [\d:]+\. New ones appear here\. The server stores no older trades/).waitFor();
    expect(await look(page, 'wallet')).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: "Watch and trade Solana's token market" }).waitFor();
    expect(await look(page, 'sign-in')).toEqual([]);
    expect(watched.complaints).toEqual([]);
    expect(watched.foreign).toEqual([]);
  });
});
