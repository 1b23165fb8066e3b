import type { TriggerObject } from '@sluice/shared/wire/rest/trading/triggers.ts';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentBuild } from '../../compile/build-folder.mjs';
import { linkToken } from '../accounts/dashboard-client.ts';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { look, watchPage, type Watched } from '../support/browser/page-views.ts';
import { launchCoin, tokensOf, tradeOnChain, type QuotedCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** Orders that wait, in the page. The chain has no trades but those of this suite. */
const testTimeoutMs = 180_000;
const sol = 10n ** 9n;
const phone = { width: 390, height: 844 };

let world: TradingWorld;
let gateway: TradingGateway;
let chromium: Chromium;
let coin: QuotedCoin;
let publicKey: string;
let accountId: string;
/** A key of the account, which reaches the triggers of the page. */
let key: string;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  [world, chromium] = await Promise.all([startTradingWorld({ ingest: true, slotMs: 80 }), startChromium()]);
  accountId = await world.account('page');
  publicKey = await world.wallet({ accountId });
  key = await world.key(['trade'], accountId);
  coin = launchCoin(world.chain);
  raisePrice(5n);
  gateway = await world.gateway({ page: currentBuild()! });
  await gateway.ready(await world.wallet(), coin.mint);
  page = await (await chromium.newContext()).newPage();
  watched = await openToken(page);
}, testTimeoutMs);

afterAll(async () => {
  await chromium.close();
  await world.close();
}, testTimeoutMs);

async function openToken(on: Page): Promise<Watched> {
  const { url } = gateway.gateway;
  const seen = watchPage(on, url);
  await on.goto(`${url}/#sign-in=${await linkToken(world.store, accountId)}`);
  await on.getByRole('heading', { level: 1, name: 'Live' }).waitFor();
  await on.goto(`${url}/#/token/${coin.mint}`);
  return seen;
}

/** Somebody else buys. */
const raisePrice = (coins: bigint): unknown => tradeOnChain(world.chain, coin, 'pump', { exact: 'quoteIn', amount: coins * sol }, 1n);

async function listed(status: TriggerObject['status']): Promise<readonly TriggerObject[]> {
  const { body } = await gateway.get(`/api/trade/triggers?limit=100&status=${status}`, { key });
  return body['triggers'] as readonly TriggerObject[];
}
const line = (name: string, on = page) => on.getByRole('slider', { name, exact: true });
const message = (text: string | RegExp, on = page) => on.locator('.note', { hasText: text });
const undo = (on = page) => message(/./, on).getByRole('button', { name: 'Undo' });
const profitsOf = (triggers: readonly TriggerObject[]) => triggers.flatMap(({ when }) => ('position' in when ? [when.value] : []));

/** The middle of the label of a line. */
async function labelOf(name: string, on = page): Promise<{ readonly x: number; readonly y: number }> {
  // Not below the head of the page, which stays at the top.
  await line(name, on).evaluate((label) => label.scrollIntoView({ block: 'center' }));
  const { x, y, width, height } = (await line(name, on).boundingBox())!;
  return { x: x + width / 2, y: y + height / 2 };
}

describe('exits with a buy', { timeout: testTimeoutMs }, () => {
  it('are armed by one request, together with the buy', async () => {
    const posted: Request[] = [];
    page.on('request', (request) => void (request.method() === 'POST' && /\/api\/trade\//.test(request.url()) && posted.push(request)));
    await page.getByLabel('Amount').fill('0.5');
    await page.getByLabel('Slippage (%)').fill('30');
    await page.getByText('Exits with the buy').click();
    await page.getByRole('button', { name: 'Add a step' }).click();
    await page.getByLabel('Take profit (%), step 1').fill('60');
    await page.getByLabel('Take profit (%), step 2').fill('900');
    await page.getByLabel('Stop loss (%)').fill('45');
    expect(await look(page, 'exits-with-a-buy')).toEqual([]);
    const buy = page.getByRole('button', { name: 'Buy with exits' });
    await until('a quote', () => buy.isEnabled());
    await buy.click();
    await page.locator('.ticket').getByText('Armed: 4 exits.').waitFor();
    expect(posted.map((request) => new URL(request.url()).pathname)).toEqual(['/api/trade/triggers']);
    const { minOut, then } = posted[0]!.postDataJSON() as { readonly minOut?: string; readonly then: readonly unknown[] };
    expect([BigInt(minOut!) > 0n, then.length]).toEqual([true, 4]);

    const [bought] = await listed('fired');
    const armed = await listed('armed');
    const fill = tokensOf(world.chain, coin, publicKey);
    expect([bought?.side, armed.length, new Set(armed.map(({ parentId }) => parentId))]).toEqual(['buy', 4, new Set([bought?.triggerId])]);
    // Each part has a profit and a stop, and both parts are what was bought.
    expect(2n * fill).toBe(armed.reduce((sum, { parentAmount }) => sum + BigInt(parentAmount ?? 0), 0n));
  });

  it('are lines of the chart, and the position is next to the ticket', async () => {
    for (const name of ['Sell 50 % at +60 %', 'Sell 50 % at +900 %', 'Sell 2 parts at −45 %']) await line(name).waitFor();
    await page.locator('.position', { hasText: /^Average cost 0\.0\S+ SOL, profit .+%\)\.$/ }).waitFor();
    await page.getByRole('img', { name: /your trades: 1$/ }).waitFor();
    // What is above the chart stays at its edge.
    expect(await page.locator('.chart-line[data-edge=above]').count()).toBeGreaterThan(0);
    expect(await look(page, 'trigger-lines')).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });
});

describe('the line of a trigger', { timeout: testTimeoutMs }, () => {
  it('is dragged: its triggers are cancelled and armed again in their groups, and Undo brings them back', async () => {
    const before = (await listed('armed')).filter(({ when }) => 'position' in when && when.value === -45);
    const from = await labelOf('Sell 2 parts at −45 %');
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x, from.y - 20, { steps: 4 });
    const shown = await page.locator('.chart-line.moving').innerText();
    expect(shown).toMatch(/\(−\d+\.?\d* %\)/);
    await page.mouse.up();
    await message('Moved. Profit ≤ −').waitFor();
    const after = (await listed('armed')).filter(({ when }) => 'position' in when && when.op === '<=');
    const [moved] = profitsOf(after);
    expect([after.length, new Set(profitsOf(after)), moved! > -45, moved! < 0]).toEqual([2, new Set([moved]), true, true]);
    const groups = (triggers: readonly TriggerObject[]) => new Set(triggers.map(({ ocoGroup }) => ocoGroup));
    expect(groups(after)).toEqual(groups(before));
    // A new trigger sells what its child sold, and no more.
    const amounts = (triggers: readonly TriggerObject[]) => new Set(triggers.map(({ parentAmount, maxIn }) => parentAmount ?? maxIn));
    expect(amounts(after)).toEqual(amounts(before));
    await undo().click();
    await line('Sell 2 parts at −45 %').waitFor();
    expect(profitsOf(await listed('armed')).toSorted((a, b) => a - b)).toEqual([-45, -45, 60, 900]);
    expect(await listed('cancelled')).toHaveLength(4);
  });

  it('is moved, reset and cancelled with the keyboard', async () => {
    const take = line('Sell 50 % at +60 %');
    await take.focus();
    for (const press of ['PageUp', 'ArrowUp', 'ArrowUp', 'ArrowDown']) await page.keyboard.press(press);
    const reached = await take.getAttribute('aria-valuetext');
    await page.keyboard.press('Escape');
    expect(await take.getAttribute('aria-valuetext')).not.toBe(reached);
    await page.keyboard.press('PageUp');
    await page.keyboard.press('Enter');
    await message('Moved. Profit ≥ +').waitFor();
    const moved = Math.max(...profitsOf(await listed('armed')).filter((value) => value < 900));
    expect(moved).toBeCloseTo(68, 0);
    // The focus stays on the line.
    const focused = page.locator('[role=slider]:focus');
    await until('the focus', async () => ((await focused.count()) === 1 ? (await focused.innerText()).includes(`at +${moved} %`) : false));
    await page.keyboard.press('Delete');
    await message('Cancelled. Profit ≥ +').waitFor();
    await until('the line to go', async () => (await line(`Sell 50 % at +${moved} %`).count()) === 0);
    await undo().click();
    await message('Armed again.').waitFor();
    await page.getByRole('slider', { name: new RegExp(` at \\+${moved} %$`) }).waitFor();
    expect(profitsOf(await listed('armed'))).toContain(moved);
  });
});

describe('triggers on a phone, and interrupted', { timeout: testTimeoutMs }, () => {
  it('a finger drags a line by its label', async () => {
    const context = await chromium.newContext({ viewport: phone, hasTouch: true, isMobile: true });
    const mobile = await context.newPage();
    await openToken(mobile);
    const name = 'Sell 2 parts at −45 %';
    await line(name, mobile).waitFor();
    const { x, y } = await labelOf(name, mobile);
    const session = await context.newCDPSession(mobile);
    const touch = (type: string, points: readonly { readonly x: number; readonly y: number }[]): Promise<unknown> =>
      session.send('Input.dispatchTouchEvent', { type, touchPoints: points } as never);
    await touch('touchStart', [{ x, y }]);
    for (let step = 1; step <= 5; step++) await touch('touchMove', [{ x, y: y - 5 * step }]);
    await touch('touchEnd', []);
    await message('Moved. Profit ≤ −', mobile).waitFor();
    const moved = profitsOf(await listed('armed')).filter((value) => value < 0);
    expect([moved.length, moved.every((value) => value > -45)]).toEqual([2, true]);
    // What was done, and how to undo it, is where the finger is.
    expect((await undo(mobile).boundingBox())!.y).toBeGreaterThan(phone.height / 2);
    expect(await look(mobile, 'trigger-lines-touched', 'phone')).toEqual([]);
    await undo(mobile).click();
    await line(name, mobile).waitFor();
    await context.close();
  });

  it('does not move a line to where it would fire at once', async () => {
    const take = await labelOf('Sell 50 % at +900 %');
    const { x, y, height } = (await line('Sell 2 parts at −45 %').boundingBox())!;
    const stop = { x: x + 20, y: y + height / 2 };
    const before = await listed('armed');
    await page.mouse.move(stop.x, stop.y);
    await page.mouse.down();
    await page.mouse.move(stop.x, take.y, { steps: 4 });
    await page.mouse.up();
    await message(/^Not moved\. Sell 2 parts at −45 %: at \$\S+ it would fire at once\./).waitFor();
    expect(await listed('armed')).toEqual(before);
  });

  it('a move that is cut off after the first step is offered again, and finished once', async () => {
    const arms = (request: Request): boolean => request.method() === 'POST';
    await page.route('**/api/trade/triggers', (route) => (arms(route.request()) ? route.abort() : route.fallback()));
    const take = line('Sell 50 % at +900 %');
    await take.focus();
    await page.keyboard.press('PageDown');
    await page.keyboard.press('Enter');
    const offer = message('may be cancelled without being armed again');
    await offer.waitFor();
    expect(await listed('armed')).toHaveLength(3);
    await page.unroute('**/api/trade/triggers');
    await page.reload();
    await offer.waitFor();
    await offer.getByRole('button', { name: 'Finish the move' }).click();
    await message('The move is finished.').waitFor();
    expect(await listed('armed')).toHaveLength(4);
    await page.reload();
    await page.getByRole('slider').nth(2).waitFor();
    expect(await offer.count()).toBe(0);
    // The browser writes a line for every request that fails.
    watched.complaints.length = 0;
  });
});

describe('triggers that are armed in the ticket, and listed', { timeout: testTimeoutMs }, () => {
  it('an exit fires on a moved price, and its group is cancelled', async () => {
    const held = tokensOf(world.chain, coin, publicKey);
    const takes = (await listed('armed')).filter(({ when }) => 'position' in when && when.value > 0 && when.value < 100);
    raisePrice(12n);
    await page.getByRole('img', { name: /your trades: 2$/ }).waitFor();
    // Its order is confirmed after it is in a block.
    const sold = await until('the exit to be fired', async () => (await listed('fired')).find(({ side }) => side === 'sell'));
    expect(sold.triggerId).toBe(takes[0]?.triggerId);
    expect(tokensOf(world.chain, coin, publicKey)).toBe(held / 2n);
    await page.getByRole('slider', { name: / at −45 %$/ }).waitFor();
    expect((await listed('armed')).map(({ ocoGroup }) => ocoGroup)).not.toContain(sold.ocoGroup);
  });

  it('waits for a price that the ticket asks for', async () => {
    await page.getByRole('button', { name: 'On a condition' }).click();
    await page.getByLabel('Amount').fill('0.1');
    const arm = page.getByRole('button', { name: 'Arm buy' });
    await arm.click();
    await page.locator('.ticket .fault', { hasText: 'Price in USD: a number above 0' }).waitFor();
    await page.getByRole('textbox', { name: 'Price in USD' }).fill('0.000001');
    expect(await look(page, 'arm-on-a-condition')).toEqual([]);
    await arm.click();
    await page.getByText('Armed. Price ≤ $0.0₅1000.').waitFor();
    await line('Buy 0.1 SOL').waitFor();
    const [bid] = (await listed('armed')).filter(({ side }) => side === 'buy');
    expect(bid).toMatchObject({ amount: 0.1, mint: coin.mint, publicKey, when: { metric: 'priceUsd', op: '<=', value: 0.000001 } });
  });

  it('are in Orders, with the order of one that fired, and all of a token can be cancelled', async () => {
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Orders', exact: true }).click();
    const list = page.getByRole('region', { name: 'Triggers' });
    await list.getByText('Price ≤ $0.0₅1000').waitFor();
    expect(await look(page, 'trigger-list')).toEqual([]);
    await list.getByRole('button', { name: 'All', exact: true }).click();
    const fired = list.locator('tr', { has: page.locator('.state.fired') });
    await until('the two that fired', async () => (await fired.count()) === 2);
    await fired
      .first()
      .getByRole('button', { name: /^More about trigger/ })
      .click();
    await list.getByText('Fees of the venue').waitFor();
    expect(await look(page, 'trigger-list-all')).toEqual([]);
    await list.getByRole('button', { name: 'Cancel all' }).click();
    await page.getByLabel('Of the token').selectOption(coin.mint);
    await page.getByRole('button', { name: 'Cancel them' }).click();
    await message(/^\d triggers cancelled\./).waitFor();
    expect(await listed('armed')).toEqual([]);
    await list.getByRole('button', { name: 'Open' }).click();
    await list.getByText('No trigger is armed.').waitFor();
  });

  it('what the tokens have cost is in Wallets', async () => {
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Wallets', exact: true }).click();
    const row = page.locator('.wallet tbody tr', { hasText: 'SIMTEST' });
    await row
      .getByText(/^\+0\.\d+ SOL/)
      .first()
      .waitFor();
    expect(await look(page, 'wallet-profit')).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });
});
