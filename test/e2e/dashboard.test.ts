import { createServer } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway, type Gateway } from '../../cli/gateway/gateway.ts';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import type { Bus, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { linkToken } from '../accounts/dashboard-client.ts';
import { currentBuild } from '../../compile/build-folder.mjs';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { until } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, newTokenEvent } from '../support/events/stream-events.ts';
import { installWallet, type FakeWallet } from './fake-wallet.ts';

const testTimeoutMs = 180_000;
const log = createLog({ level: 'silent', name: 'test' });
const keyForm = /^sluice_[0-9A-Za-z]{10}_[0-9A-Za-z]{40}$/;
const hostileLabel = `<img src=x onerror="document.title='owned'">'"&`;

let folder: string;
let store: Store;
let bus: Bus;
let publisher: BusPublisher;
let gateway: Gateway;
let chromium: Chromium;
let context: BrowserContext;
/** Complaints of a page: errors in its console (including violations of its policy) and exceptions. */
let complaints: string[];

beforeAll(async () => {
  chromium = await startChromium();
});
afterAll(() => chromium.close());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-dashboard-'));
  complaints = [];
  store = await openStore({ dataDir: folder, databaseUrl: null });
  bus = await createBus({ redisUrls: null, log });
  publisher = await bus.publisher();
  const config = { ...testConfig, dataDir: folder };
  gateway = await startGateway({ config, bus, log, signal: new AbortController().signal, store, page: currentBuild()! });
  context = await chromium.newContext();
});

afterEach(async () => {
  await context.close();
  await gateway.close();
  await publisher.close();
  await bus.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function openPage(path = '/'): Promise<Page> {
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(`${gateway.url}${path}`);
  return page;
}

async function openSignedIn(wallet: Partial<FakeWallet> = {}): Promise<Page> {
  const full: FakeWallet = { name: 'Test Wallet', kind: 'signIn', keypair: generateKeypair(), ...wallet };
  await installWallet(context, full);
  const page = await openPage('/#/api-keys');
  const shownName = full.kind === 'injected' ? 'Solana wallet' : full.name;
  await page.getByRole('button', { name: `Sign in with ${shownName}` }).click();
  await page.getByRole('button', { name: 'Generate New Key' }).waitFor();
  expect(await page.locator('#account').getAttribute('title')).toContain(full.keypair.publicKey);
  return page;
}

/**
 * Stores what the document contains one task after the dialog closes. A dialog is hidden a task before the page is notified that it closed, so
 * until then the document contains the key.
 */
const watchClose = `void (globalThis.afterClose = new Promise((resolve) => {
  const dialog = document.querySelector('dialog[open]');
  globalThis.keyField = dialog.querySelector('input');
  dialog.addEventListener('close', () =>
    setTimeout(() => {
      const values = [...document.querySelectorAll('input')].map(({ value }) => value);
      resolve(document.documentElement.outerHTML + values.join());
    }),
  );
}))`;

/** Reads the key that a dialog shows, closes the dialog, and checks that the page drops the key. */
async function takeKey(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog', { name: 'Your new key' });
  await dialog.waitFor();
  const key = await dialog.getByLabel('API key', { exact: true }).inputValue();
  expect(key).toMatch(keyForm);
  await page.evaluate(watchClose);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'hidden' });
  expect(await page.evaluate<string>('afterClose')).not.toContain(key);
  // The framework cleans up what it removed after the next frame.
  await until('the removed field to be empty', async () => page.evaluate<boolean>('keyField.value === ""'));
  return key;
}

async function generateKey(page: Page, label: string): Promise<string> {
  await page.getByRole('button', { name: 'Generate New Key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Generate New Key' });
  await dialog.getByLabel('Label').fill(label);
  await dialog.getByRole('button', { name: 'Generate', exact: true }).click();
  return takeKey(page);
}

async function rotateKey(page: Page, overlap: string): Promise<string> {
  await ownRows(page)
    .getByRole('button', { name: /^Rotate / })
    .click();
  const dialog = page.getByRole('dialog', { name: 'Rotate' });
  await dialog.getByLabel('The old one works on for').selectOption({ label: overlap });
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).click();
  return takeKey(page);
}

/** Keys in the list, without the one with which the page acts. */
function ownRows(page: Page): Locator {
  return page.locator('#keys tbody tr').filter({ hasNotText: 'this page' });
}

async function statusOf(key: string): Promise<number> {
  const response = await fetch(`${gateway.url}/usage`, { headers: { authorization: `Bearer ${key}` } });
  return response.status;
}

/** A socket that uses this key and receives events. */
async function follow(key: string): Promise<StreamClient> {
  const client = new StreamClient(`ws://127.0.0.1:${gateway.port}/api/data`, { authorization: `Bearer ${key}` });
  await until('a socket', () => client.socket.readyState === client.socket.OPEN);
  client.socket.send(JSON.stringify({ id: 1, op: 'subscribe', channel: 'newTokens' }));
  await until('a subscription', () => client.messages.some(({ op }) => op === 'subscribed'));
  return client;
}

async function rowCount(rows: Locator, count: number): Promise<void> {
  await until(`${count} keys in the list`, async () => (await rows.count()) === count);
}

describe('the dashboard in a browser', { timeout: testTimeoutMs }, () => {
  it('sign in, Generate New Key, use, rotate, delete, sign out', async () => {
    const page = await openSignedIn();
    const rows = ownRows(page);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: 'sluice_session', httpOnly: true, sameSite: 'Strict', path: '/', domain: '127.0.0.1' });
    expect(await page.evaluate('document.cookie')).toBe('');

    const first = await generateKey(page, hostileLabel);
    await rowCount(rows, 1);
    expect(await rows.locator('.label').textContent()).toBe(hostileLabel);
    expect(await page.locator('#keys img').count()).toBe(0);
    expect(await page.title()).toBe('API Keys – sluice');
    expect(await rows.textContent()).toContain(first.split('_').slice(0, 2).join('_'));
    expect(await rows.textContent()).not.toContain(first);

    expect(await statusOf(first)).toBe(200);
    const onFirst = await follow(first);
    await publisher.publish([entryOf(newTokenEvent(addressOf(1)), ['newTokens'])]);
    await until('an event', () => onFirst.messages.some(({ data }) => data?.type === 'newToken'));

    const second = await rotateKey(page, 'an hour');
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200]);
    expect(onFirst.closed).toBeNull();
    await until('the state of both keys', async () => (await rows.textContent())?.includes('the old one until'));

    const onSecond = await follow(second);
    const third = await rotateKey(page, 'no time: it ends at once');
    await until('both old sockets to close', () => onFirst.closed !== null && onSecond.closed !== null);
    expect([onFirst.closed?.code, onSecond.closed?.code]).toEqual([4501, 4501]);
    expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([401, 401, 200]);

    const onThird = await follow(third);
    await page.reload();
    await rowCount(rows, 1);
    await rows.getByRole('button', { name: /^Delete / }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete' });
    expect(await dialog.textContent()).toContain(hostileLabel);
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await rowCount(rows, 0);
    await until('the socket to close', () => onThird.closed !== null);
    expect(await statusOf(third)).toBe(401);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with Test Wallet' }).waitFor();
    expect(await context.cookies()).toEqual([]);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in with Test Wallet' }).waitFor();
    expect(await page.getByRole('button', { name: 'Generate New Key' }).isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it.each(['signMessage', 'injected'] as const)('a wallet without its own sign-in signs the message: %s', async (kind) => {
    const keypair = generateKeypair();
    const page = await openSignedIn({ kind, keypair, name: '<b>Old</b> Wallet' });
    expect(await page.locator('main b').count()).toBe(0);
    expect(await store.accounts.byWallet(keypair.publicKey)).toMatchObject({ plan: 'standard' });
    expect(complaints).toEqual([]);
  });

  it('the operator signs in by a link, once, and creates a key of any plan', async () => {
    const link = `/#sign-in=${await linkToken(store, operatorAccountId)}`;
    const page = await openPage(link);
    await page.getByText('Signed in by the link').waitFor();
    expect(page.url()).toBe(`${gateway.url}/#/live`);
    await page.getByRole('link', { name: 'API Keys' }).click();
    await page.getByRole('button', { name: 'Generate New Key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Generate New Key' });
    await dialog.getByLabel('trade: orders, which spend').check();
    await dialog.getByLabel('IP ranges').fill('127.0.0.0/8\n2001:db8::/32');
    await dialog.getByLabel('Expires').selectOption({ label: 'in 30 days' });
    await dialog.getByRole('combobox', { name: 'Plan' }).selectOption('enterprise');
    await dialog.getByLabel('Requests a minute').fill('7');
    await dialog.getByRole('button', { name: 'Generate', exact: true }).click();
    const key = await takeKey(page);
    const stored = (await store.keys.all()).find(({ label }) => label !== 'Dashboard');
    expect(stored).toMatchObject({ plan: 'enterprise', limits: { requestsPerMinute: 7 }, ipRanges: ['127.0.0.0/8', '2001:db8::/32'] });
    expect(stored?.scopes.toSorted((a, b) => a.localeCompare(b))).toEqual(['read', 'stream', 'trade']);
    expect(await statusOf(key)).toBe(200);
    expect(complaints).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Signed out.').waitFor();

    const again = await openPage(link);
    await again.getByText('This sign-in link was used already.').waitFor();
    expect(await again.getByRole('alert').textContent()).toContain('sluice accounts link');
    // The browser itself writes a line for every answer that is not 2xx.
    expect(complaints).toEqual([expect.stringContaining('401')]);
  });

  it('a holder without a wallet signs in by a link, and is identified by the account', async () => {
    await store.accounts.create({ id: 'walletless', wallet: null, plan: 'premium', createdAtMs: Date.now() });
    const page = await openPage(`/#sign-in=${await linkToken(store, 'walletless')}`);
    await page.getByText('Signed in by the link').waitFor();
    expect(await page.locator('#account').textContent()).toBe('walletless · premium');
    expect(complaints).toEqual([]);
  });

  it('a fault is shown in the dialog, which stays open', async () => {
    const page = await openSignedIn();
    await page.getByRole('button', { name: 'Generate New Key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Generate New Key' });
    await dialog.getByLabel('IP ranges').fill('everywhere');
    await dialog.getByRole('button', { name: 'Generate', exact: true }).click();
    await dialog.getByRole('alert').filter({ hasText: 'ipRanges' }).waitFor();
    expect((await store.keys.all()).map(({ label }) => label)).toEqual(['Dashboard']);
    expect(complaints).toEqual([expect.stringContaining('400')]);
  });

  it('can be used with the keyboard alone', async () => {
    const page = await openSignedIn();
    const generate = page.getByRole('button', { name: 'Generate New Key' });
    const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.textContent');
    await generate.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Generate New Key' });
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await focused()).toBe('Generate New Key');
    await generate.press('Space');
    await dialog.waitFor();
    await page.keyboard.type('typed');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
    await page.keyboard.press('Escape');
    await until('the key to be in the list', async () => (await ownRows(page).locator('.label').allTextContents()).join() === 'typed');
    expect(complaints).toEqual([]);
  });

  it('fits a small screen, in light and dark', async () => {
    const page = await openSignedIn();
    await generateKey(page, 'x'.repeat(64));
    await page.setViewportSize({ width: 360, height: 640 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const name of ['Generate New Key', /^Rotate /, /^Delete /]) {
        await page.getByRole('button', { name }).first().click();
        await page.getByRole('dialog').waitFor();
        const widths = await page.evaluate<number[]>(
          '[document.documentElement.scrollWidth, document.querySelector("dialog[open]").scrollWidth]',
        );
        expect(Math.max(...widths)).toBeLessThanOrEqual(360);
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'hidden' });
      }
    }
    expect(complaints).toEqual([]);
  });

  it('pages of other origins have no access, although the browser sends them our cookie', async () => {
    const page = await openSignedIn();
    await generateKey(page, 'mine');
    const before = await store.keys.all();
    const [{ id } = { id: '' }] = before;
    // Another port of the same host is another origin, but the same site: SameSite alone does not exclude it.
    const evil = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>'),
    );
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    try {
      const other = await context.newPage();
      await other.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
      const tried = await other.evaluate(
        async ([url, keyId]) => {
          const outcomes: string[] = [];
          for (const path of ['keys', `keys/${keyId}/delete`, 'sign-out']) {
            const body = JSON.stringify(path === 'keys' ? { scopes: ['trade'] } : {});
            const options = { method: 'POST', credentials: 'include', body } as const;
            for (const more of [{ mode: 'no-cors' }, { headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': 'x' } }] as const) {
              outcomes.push(
                await fetch(`${url}/dashboard/${path}`, { ...options, ...more }).then(
                  (one) => one.type,
                  () => 'refused',
                ),
              );
            }
          }
          outcomes.push(
            await fetch(`${url}/dashboard/me`, { credentials: 'include' }).then(
              (one) => one.text(),
              () => 'refused',
            ),
          );
          return outcomes;
        },
        [gateway.url, id] as const,
      );
      // A page cannot read an opaque answer. The store shows what the request did.
      expect(tried).toEqual(['opaque', 'refused', 'opaque', 'refused', 'opaque', 'refused', 'refused']);
      expect((await store.keys.all()).map((key) => key.id)).toEqual(before.map((key) => key.id));
      await page.reload();
      await page.getByRole('button', { name: 'Generate New Key' }).waitFor();
      const framed = await other.evaluate<boolean>(`new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.src = '${gateway.url}';
        frame.addEventListener('load', () => resolve(frame.contentDocument === null));
        document.body.append(frame);
      })`);
      expect(framed).toBe(true);
    } finally {
      evil.close();
      evil.closeAllConnections();
    }
  });
});
