import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentBuild } from '../../compile/build-folder.mjs';
import { linkToken } from '../accounts/dashboard-client.ts';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { launchCoin, tradeOnChain, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { addressOf, poolCreatedEvent, removedEvent } from '../support/events/stream-events.ts';
import { until } from '../support/gateway.ts';

/** The lists of the page and its search. The chain has no trades but those of this suite. */
const testTimeoutMs = 180_000;
const sol = 10n ** 9n;
const endsOf = (mint: string): string => `${mint.slice(0, 4)}…${mint.slice(-4)}`;

let world: TradingWorld;
let gateway: TradingGateway;
let chromium: Chromium;
/** Three coins with one symbol, the oldest first. The second is the largest, the third the smallest. */
let twins: readonly QuotedCoin[];
let publicKey: string;
let watched: Watched;

beforeAll(async () => {
  [world, chromium] = await Promise.all([startTradingWorld({ ingest: true, slotMs: 80, venues: ['pump', 'pump-amm'] }), startChromium()]);
  publicKey = await world.wallet();
  // What a sign-up gets.
  await world.store.accounts.create({ id: 'standard', wallet: null, plan: 'standard', createdAtMs: Date.now() });
  const launch = (symbol: string, name: string) => launchCoin(world.chain, { text: { symbol, name, uri: 'https://simnet.invalid/test' } });
  twins = [launch('TWIN', 'The first'), launch('TWIN', 'The largest'), launch('TWIN', 'שלום 123')];
  for (const [coin, bought] of [
    [twins[0]!, 5n],
    [twins[1]!, 20n],
  ] as const) {
    tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: bought * sol }, 1n);
  }
  gateway = await (await world.gateway({ page: currentBuild()! })).ready(publicKey, twins[0]!.mint);
}, testTimeoutMs);

afterAll(async () => {
  await chromium.close();
  await world.close();
}, testTimeoutMs);

async function openAs(accountId: string, pools: readonly object[] = []): Promise<Page> {
  const page = await (await chromium.newContext()).newPage();
  if (pools.length > 0) await addToStream(page, pools);
  const { url } = gateway.gateway;
  watched = watchPage(page, url);
  await page.goto(`${url}/#sign-in=${await linkToken(world.store, accountId)}`);
  await page.locator('.tokens tbody tr').nth(2).waitFor();
  return page;
}

/** Adds events to the channel `pools` after its subscription, as if ingest had published them: the simulated chain has no liquidity. */
async function addToStream(page: Page, events: readonly object[]): Promise<void> {
  await page.routeWebSocket(/\/api\/data/, (socket) => {
    socket.connectToServer().onMessage((message) => {
      socket.send(message);
      const { op, channel, positions } = JSON.parse(String(message)) as Readonly<Record<string, unknown>>;
      if (op !== 'subscribed' || channel !== 'pools') return;
      const { seq } = (positions as Readonly<Record<string, { readonly seq: number }>>)['pools'] ?? { seq: 0 };
      for (const [at, data] of events.entries()) socket.send(JSON.stringify({ topic: 'pools', seq: seq + at + 1, data }));
    });
  });
}

describe('the lists of the page', { timeout: testTimeoutMs }, () => {
  it('say why they are empty: refused by the plan, filtered, or quiet', async () => {
    const page = await openAs('standard');
    const why = (list: string) => page.locator(`.${list} .empty`);
    await why('trades').getByText('Your plan is standard. The plans premium and enterprise include the trades of all tokens.').waitFor();
    expect(await why('migrations').textContent()).toBe('Quiet: no token has moved from its bonding curve to a pool lately.');
    expect(await page.locator('.connection [role=status]').textContent()).toBe('live');
    await page.getByLabel('Token', { exact: true }).fill('no such token');
    await why('tokens').getByText('The filters hide all 3 that were received.').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    // The page does not learn how market caps change, and says so.
    expect(await page.locator('.tokens th').nth(1).innerText()).toMatch(/^Market cap at launch/);
    expect(await look(page, 'lists-standard')).toEqual([]);
    expect(watched.complaints).toEqual([]);
    await page.context().close();
  });

  it('use the window, and stay in their cards; the filters fit in one line, and offer the venues that are read', async () => {
    const page = await openAs(operatorAccountId);
    await page.locator('.trades tbody tr').nth(4).waitFor();
    await until('the venues', async () => (await page.getByLabel('Venue').locator('option').count()) > 1);
    expect(await page.getByLabel('Venue').locator('option').allTextContents()).toEqual(['All', 'pump', 'PumpSwap']);
    for (const [width, height] of [
      [1280, 800],
      [1440, 1400],
    ] as const) {
      await page.setViewportSize({ width, height });
      const [lines, ends, page_] = await page.evaluate<readonly [readonly number[], readonly number[], number]>(`[
        [...document.querySelectorAll('.filters .row > *')].map((field) => Math.round(field.getBoundingClientRect().bottom)),
        ['.pools', '.migrations'].map((list) => document.querySelector(list).getBoundingClientRect().bottom),
        document.documentElement.scrollHeight,
      ]`);
      expect([width, ...new Set(lines)]).toHaveLength(2);
      expect(Math.min(...ends)).toBeGreaterThan(height - 90);
      expect(page_).toBe(height);
    }
    expect(await look(page, 'lists')).toEqual([]);
    await page.context().close();
  });

  it('show pools that open, and warn of one that was drained, on a phone and by keyboard too', async () => {
    const [mint, wallet] = [twins[0]!.mint, addressOf(73)];
    const amounts = { tokenAmount: 5_000_000, quoteUiAmount: 12.5, baseDecimals: 6, quoteDecimals: 9, provider: wallet };
    const moved = { ...amounts, baseAmount: '5000000000000', quoteAmount: '12500000000' };
    const taken = removedEvent(mint, { ...moved, pool: 'raydium-cpmm', lpBurned: '0', lpLocked: null, quoteLeft: '0', leftUsd: 0 });
    const page = await openAs(operatorAccountId, [
      { ...poolCreatedEvent(mint, { ...amounts, pool: 'meteora-damm-v2', lpBurned: '7', lpLocked: '9' }), id: 'opened' },
      { ...taken, type: 'liquidityAdded', id: 'added', quoteLeft: '12500000000', leftUsd: 4_000 },
      { ...taken, id: 'taken' },
    ]);
    const row = page.locator('.pools tbody tr');
    await row.nth(2).waitFor();
    const texts = async () => (await row.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').replace(/ (\d+[smhd]|now)$/, ''));
    const by = `by ${endsOf(wallet)}`;
    const opener = `by ${endsOf(poolCreatedEvent(mint).creator)}`;
    expect(await texts()).toEqual([
      `TWIN The first Removed drained Raydium CPMM ${by} 12.5 SOL 5.00M tokens $0.00`,
      `TWIN The first Added Raydium CPMM ${by} 12.5 SOL 5.00M tokens $4.00K`,
      `TWIN The first New pool LP burned LP locked Meteora DAMM v2 ${opener} 12.5 SOL 5.00M tokens –`,
    ]);
    expect(await look(page, 'lists-pools')).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('group', { name: 'List' }).getByRole('button', { name: 'Pools' }).press('Enter');
    await row.getByText('drained').filter({ visible: true }).waitFor();
    expect((await page.locator('.pools table').boundingBox())!.width).toBeLessThan(390 - 40);
    expect(await look(page, 'lists-pools', 'phone')).toEqual([]);
    await row.first().locator('a.token').press('Enter');
    await page.locator('.token-head').getByText(endsOf(mint), { exact: true }).waitFor();
    await page.context().close();
  });

  it('mark own trades, and show the amounts on a phone', async () => {
    const bought = await gateway.ask('/trade/buy', { publicKey, mint: twins[0]!.mint, amount: 0.25 });
    expect(bought.status, JSON.stringify(bought.body)).toBe(200);
    const page = await openAs(operatorAccountId);
    const own = page.locator('.trades tr.own');
    await own
      .locator('td', { has: page.locator(`a[title="${publicKey}"]`) })
      .getByText('you', { exact: true })
      .waitFor();
    expect(await page.locator('.trades tbody tr').count()).toBeGreaterThan(await own.count());
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Trades', exact: true }).click();
    await own.getByText('you', { exact: true }).filter({ visible: true }).waitFor();
    await page.getByRole('button', { name: 'New tokens', exact: true }).click();
    const shown = async (rows: string): Promise<string> => (await page.locator(rows).first().innerText()).replaceAll(/\s+/g, ' ');
    expect(await shown('.tokens tbody tr')).toMatch(/TWIN .*\$[\d.]+K (–|[\d.]+ SOL)/);
    await page.goto(`${gateway.gateway.url}/#/token/${twins[0]!.mint}`);
    await page.locator('.trades tbody tr').first().waitFor();
    expect(await shown('.trades tbody tr')).toMatch(/ [\d.]+ SOL [\d.]+[KM] \$/);
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Orders', exact: true }).click();
    await page.locator('.card tbody .state.finalized').waitFor();
    expect(await shown('.card tbody tr')).toMatch(/finalized 0\.25\d* SOL → [\d.]+M/);
    expect(await look(page, 'lists-orders')).toEqual([]);
    await page.context().close();
  });
});

describe('the search', { timeout: testTimeoutMs }, () => {
  it('finds what the server knows and the page has not seen, and opens a coin by its mint', async () => {
    const page = await (await chromium.newContext()).newPage();
    // The page sees no event.
    await page.routeWebSocket(/\/api\/data/, (socket) => void socket.close());
    await page.goto(`${gateway.gateway.url}/#sign-in=${await linkToken(world.store, 'standard')}`);
    await page.getByRole('searchbox').fill('TwI');
    await until('all twins', async () => (await page.locator('.found a').count()) === 3);
    await page.getByRole('searchbox').fill('largest');
    await page.locator(`.found a[href="#/token/${twins[1]!.mint}"]`).waitFor();
    await page.getByRole('searchbox').fill('no such coin');
    await page.locator('.found').getByText('Any token opens by its mint').waitFor();
    await page.reload();
    await page.getByRole('searchbox').fill(twins[2]!.mint);
    await page.keyboard.press('Enter');
    await page.locator('.token-head').getByText(endsOf(twins[2]!.mint), { exact: true }).waitFor();
    await page.context().close();
  });

  it('shows mint, age and market cap of tokens with one symbol, the largest first, and works by keyboard', async () => {
    const page = await openAs('standard');
    await page.getByRole('searchbox').fill('twin');
    const found = page.locator('.found a');
    const mints = (): Promise<readonly string[]> =>
      found.evaluateAll((all) => all.map((one) => (one as unknown as { hash: string }).hash.replace('#/token/', '')));
    // The creations show what the tokens were worth then. What they are worth now is read.
    const bySize = [twins[1]!.mint, twins[0]!.mint, twins[2]!.mint];
    await until('the largest first', async () => (await mints()).join() === bySize.join());
    const texts = (await found.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    for (const [index, text] of texts.entries()) {
      expect(text).toContain(endsOf(bySize[index]!));
      expect(text).toMatch(/\$[\d.]+K cap(, \d+s ago)? created (just now|\d+[sm] ago)$/);
    }
    // A name from right to left turns nothing around: the mint stays before it, the market cap behind it.
    const places = await found.nth(2).evaluate((row) => {
      const place = (part: string): number =>
        (row as unknown as { querySelector: (of: string) => { getBoundingClientRect: () => { left: number } } })
          .querySelector(part)
          .getBoundingClientRect().left;
      return ['.mint', 'small bdi', '.worth'].map(place);
    });
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(await look(page, 'search')).toEqual([]);
    await page.getByRole('searchbox').press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('.token-head').getByText(endsOf(twins[0]!.mint), { exact: true }).waitFor();
    await page.context().close();
  });
});
