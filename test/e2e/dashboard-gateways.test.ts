import { join } from 'node:path';
import { operatorAccountId } from '@sluice/gateway/store/sql/tables/accounts.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { linkToken } from '../accounts/dashboard-client.ts';
import { startChromium, type Chromium } from '../support/browser/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/gateway.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';
import { startTradingWorld, type TradingWorld } from '../support/chain/trading-world.ts';

const testTimeoutMs = 180_000;
const logWithinMs = 60_000;

let world: TradingWorld;
let redis: TestRedis;
let chromium: Chromium;
let publicKey: string;
let mint: string;
let holderUrl: string;
let otherPort: number;
let other: RunningProgram;
let page: Page;
const programs: RunningProgram[] = [];

async function start(program: 'cli/gateway.ts' | 'ingest/src/main.ts', port: number, event: string): Promise<RunningProgram> {
  const env = {
    REDIS_URL: redis.url,
    DATA_DIR: world.store.dataDir,
    SOLANA_RPC_URL: world.node.url,
    SOLANA_WS_URL: world.simnet.wsUrl,
    KEYSTORE_PASSPHRASE_FILE: join(world.store.dataDir, 'passphrase'),
    TRADING: 'live',
    PORT: String(port),
    LOG_LEVEL: 'info',
  };
  const running = runProgram(program, { folder: world.store.dataDir, env });
  programs.push(running);
  await running.logged(event, logWithinMs);
  return running;
}

const startOther = async (): Promise<RunningProgram> => start('cli/gateway.ts', otherPort, 'listening');

async function tradingRole(url: string): Promise<unknown> {
  return ((await (await fetch(`${url}/status`)).json()) as { trading: { role: unknown } }).trading.role;
}

beforeAll(async () => {
  [world, redis, chromium] = await Promise.all([startTradingWorld({ slotMs: 80 }), startRedis(), startChromium()]);
  publicKey = await world.wallet();
  ({ mint } = launchCoin(world.chain));
  const holder = await start('cli/gateway.ts', 0, 'listening');
  holderUrl = String((await holder.logged('listening'))['url']);
  await until('a holder of the trading role', async () => (await tradingRole(holderUrl)) === 'self', logWithinMs);
  otherPort = await freePort();
  [other] = await Promise.all([startOther(), start('ingest/src/main.ts', 0, 'ingest_started')]);
}, testTimeoutMs);

afterAll(async () => {
  for (const { child } of programs) child.kill('SIGKILL');
  await chromium.close();
  await world.close();
  await redis.stop();
}, testTimeoutMs);

async function open(section: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: section, exact: true }).click();
}

async function connectionIs(state: string): Promise<void> {
  await page.locator('.connection [role=status]').getByText(state, { exact: true }).waitFor({ timeout: logWithinMs });
}

it('a page of a gateway without the trading role trades, and reconnects after its gateway', { timeout: testTimeoutMs }, async () => {
  const context = await chromium.newContext();
  context.setDefaultTimeout(logWithinMs);
  page = await context.newPage();
  const url = `http://127.0.0.1:${otherPort}`;
  await page.goto(`${url}/#sign-in=${await linkToken(world.store, operatorAccountId)}`);
  await connectionIs('live');

  await page.goto(`${url}/#/token/${mint}`);
  await page.getByLabel('Quote').getByText('→').first().waitFor();
  await page.getByRole('button', { name: 'Buy', exact: true }).click();
  await page.locator('.progress .state.finalized').waitFor();
  expect(world.landed(publicKey)).toHaveLength(1);

  await open('Status');
  await page.getByText('another gateway', { exact: true }).waitFor();
  await open('Live');
  const trades = page.locator('.trades tbody tr');
  await until('the order among the trades', async () => (await trades.count()) === 1);

  expect(await other.stop()).toBe(0);
  await connectionIs('reconnecting');
  await page.getByText('The gateway does not answer.').first().waitFor();
  await startOther();
  await connectionIs('live');
  const sold = await fetch(`${holderUrl}/trade/sell`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.operatorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ publicKey, mint, amount: '50%' }),
  });
  expect(sold.status).toBe(200);
  await until('a trade after the restart', async () => (await trades.locator('.sell').count()) === 1);
  await context.close();
});
