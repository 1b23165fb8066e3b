import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TokenInfo } from '@sluice/client';
import { endOfKeyMs } from '@sluice/gateway/auth/api-keys.ts';
import { startGateway, type Gateway } from '../../cli/gateway/gateway.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { orderEvent } from '../../trading/src/model/order-object.ts';
import type { Bus, BusPublisher } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { ordersTopic, type Channel } from '@sluice/shared/wire/stream/topics.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { probeGateway } from '../../cli/gateway/gateway-probe.ts';
import { column, priceText } from '../../cli/commands/watch/columns.ts';
import { headingLine } from '../../cli/commands/watch/event-line.ts';
import { Names } from '../../cli/commands/watch/names.ts';
import { paintFor } from '../../cli/commands/watch/paint.ts';
import { Printer } from '../../cli/commands/watch/printer.ts';
import { startProgram, sluice } from '../support/command-line.ts';
import { testConfig } from '../support/test-config.ts';
import { makeKey, openEmbeddedStore } from '../support/keys.ts';
import { newOrder, orderFill } from '../support/orders.ts';
import { addressOf, candleEvent, entryOf, migrationEvent, newTokenEvent, priceEvent, tradeEvent } from '../support/events/stream-events.ts';
import { freePort } from '../support/free-port.ts';

const log = createLog({ level: 'silent', name: 'test' });
const waitMs = 60_000;
let folder: string;
let store: Store;
let bus: Bus;
let publisher: BusPublisher;
let gateway: Gateway;
let child: ChildProcess | null = null;

function startOn(port: number): Promise<Gateway> {
  return startGateway({ config: { ...testConfig, port }, bus, log, signal: new AbortController().signal, store });
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-watch-'));
  store = await openEmbeddedStore(join(folder, '.data'));
  bus = await createBus({ redisUrls: null, log });
  publisher = await bus.publisher();
  gateway = await startOn(await freePort());
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await gateway.close();
  await publisher.close();
  await bus.close();
  await store.close();
  rmSync(folder, { recursive: true });
});

interface Watching {
  readonly lines: string[];
  readonly notices: () => string;
  readonly ended: Promise<number | null>;
}

function watch(...args: readonly string[]): Watching {
  const started = startProgram('cli/sluice.ts', ['watch', ...args, '--url', gateway.url], { folder });
  child = started;
  const lines: string[] = [];
  let [rest, notices] = ['', ''];
  started.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  started.stderr?.setEncoding('utf8').on('data', (text: string) => (notices += text));
  return { lines, notices: () => notices, ended: new Promise((resolve) => void started.on('close', resolve)) };
}

function waitFor(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: waitMs, interval: 20 });
}

describe('sluice watch', () => {
  it('shows live events with its own key, and deletes the key when it is stopped', async () => {
    const { lines, notices, ended } = watch('trades', '--json');
    await waitFor(() => expect(notices()).toContain('connected'));
    expect(await store.keys.all()).toMatchObject([{ label: 'sluice watch', scopes: ['stream', 'read'] }]);
    const events = [1, 2, 3].map((n) => tradeEvent(addressOf(n)));
    await publisher.publish(events.map((event) => entryOf(event)));
    await waitFor(() => expect(lines).toHaveLength(3));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(events);
    child?.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(await store.keys.all()).toEqual([]);
  });

  it('revokes its key when its output is no longer read, and the key soon ends by itself', async () => {
    const { notices, ended } = watch('trades', '--json');
    await waitFor(() => expect(notices()).toContain('connected'));
    const [key] = await store.keys.all();
    expect(endOfKeyMs(key!)! - Date.now()).toBeLessThanOrEqual(15 * 60_000);
    child?.stdout?.destroy();
    const publishing = setInterval(() => void publisher.publish([entryOf(tradeEvent(addressOf(1)))]), 50);
    expect(await ended).toBe(0);
    clearInterval(publishing);
    expect(await store.keys.all()).toEqual([]);
  });

  it('reconnects to a restarted gateway and misses nothing', async () => {
    const { lines, notices } = watch('trades', '--json');
    await waitFor(() => expect(notices()).toContain('connected'));
    await publisher.publish([entryOf(tradeEvent(addressOf(1)))]);
    await waitFor(() => expect(lines).toHaveLength(1));
    const { port } = gateway;
    await gateway.close();
    const meanwhile = [2, 3].map((n) => tradeEvent(addressOf(n)));
    await publisher.publish(meanwhile.map((event) => entryOf(event)));
    gateway = await startOn(port);
    await waitFor(() => expect(lines).toHaveLength(3));
    expect(lines.slice(1).map((line) => JSON.parse(line) as unknown)).toEqual(meanwhile);
    expect(notices()).toContain('reconnecting in');
  });

  it('shows candles of an interval, and accepts no other channel', async () => {
    const mint = addressOf(7);
    const { lines, notices } = watch('candles', mint, '--interval', '5s');
    await waitFor(() => expect(notices()).toContain('connected'));
    await publisher.publish([entryOf(candleEvent(mint, { interval: '5s', closed: true }))]);
    await waitFor(() => expect(lines).toHaveLength(1));
    expect(lines[0]).toMatch(/ 5s +2026-11-21 08:00:00 .* closed/);
    for (const args of [['candles', mint, '--interval', '2s'], ['trades', '--interval', '5s'], ['candles']]) {
      expect((await sluice(['watch', ...args, '--url', gateway.url], { folder })).code).toBe(2);
    }
  });

  it('shows the orders of the given key, and asks for one', async () => {
    const refused = await sluice(['watch', 'orders', '--url', gateway.url], { folder });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--key')]);
    const { id, key } = await makeKey(store, { scopes: ['stream', 'trade'] });
    const { lines, notices } = watch('orders', '--key', key);
    await waitFor(() => expect(notices()).toContain('connected'));
    const order = {
      ...newOrder(Date.now(), { keyId: id, fill: orderFill }),
      state: 'confirmed',
      updatedAtMs: Date.now(),
      version: 4,
    } as const;
    await publisher.publish([entryOf(orderEvent(order, Date.now() * 1000, true), [ordersTopic(id)])]);
    await waitFor(() => expect(lines).toHaveLength(1));
    expect(lines[0]).toContain(`${order.id}  confirmed BUY `);
    expect(lines[0]).toMatch(/ [\d,.]+ +[\d,.]+ SOL /);
    expect(lines[0]).toContain('(simulated)');
  });

  it('ends when its key is revoked', async () => {
    const { id, key } = await makeKey(store, { scopes: ['stream'] });
    const { notices, ended } = watch('newTokens', '--key', key);
    await waitFor(() => expect(notices()).toContain('connected'));
    await store.keys.revoke(id, Date.now());
    expect(await ended).toBe(1);
    expect(notices()).toContain('4501');
  });

  it("ends with the gateway's answer if the key is not valid", { timeout: 120_000 }, async () => {
    const { code, stderr } = await sluice(['watch', 'trades', '--url', gateway.url], { folder, env: { SLUICE_API_KEY: 'sluice_no_key' } });
    expect(code).toBe(1);
    expect(stderr).toContain('refused the API key');
  });

  it('shows trades in columns, with the symbol of a token that it knows', async () => {
    const { lines, notices } = watch('trades');
    await waitFor(() => expect(notices()).toContain('connected'));
    await publisher.publish([entryOf(tradeEvent(addressOf(1), { priceSol: 3.06e-8 }))]);
    await waitFor(() => expect(lines).toHaveLength(1));
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}(BUY |SELL) \S+ +[\d,.]+ SOL +[\d,.]+ +0\.0₇3060 +\$\S+ {2}pump /);
    expect(priceText(0.045123)).toBe('0.04512');
    expect(column('币币币币', 5)).toBe('币币…');
    const names = new Names({ tokenInfo: async () => ({ symbol: 'PEPE' }) as TokenInfo }, new AbortController().signal);
    await names.read('mint');
    expect([names.symbolOf('mint'), names.read('mint')]).toEqual(['PEPE', null]);
  });

  it('names the columns on a terminal, above them and again on each screen', () => {
    const names = new Names({ tokenInfo: async () => ({ symbol: 'PEPE' }) as TokenInfo }, new AbortController().signal);
    names.learn(addressOf(1), 'PEPE');
    const print = (channel: Channel, events: readonly StreamEvent[], heading: string | null = headingLine(channel)): readonly string[] => {
      const lines: string[] = [];
      const line = (text: string): void => void lines.push(text);
      const printer = new Printer(names, paintFor({ isTTY: false }), { line, note: null, heading, headingEvery: () => 20 });
      for (const event of events) printer.print(event);
      printer.close();
      return lines;
    };
    const mint = addressOf(1);
    const trade = tradeEvent(mint);
    const lines = print(
      'trades',
      Array.from({ length: 50 }, () => trade),
    );
    expect(lines.flatMap((line, at) => (line.startsWith('time (UTC)') ? [at] : []))).toEqual([0, 21, 42]);
    expect(print('trades', [trade], null)).toHaveLength(1);
    const order = orderEvent({ ...newOrder(Date.now()), updatedAtMs: Date.now(), version: 1 }, Date.now() * 1000, false);
    const ofDollars = tradeEvent(mint, {
      quoteMint: usdcMint,
      quoteUiAmount: 1_234_567,
      solAmount: null,
      priceSol: null,
      priceQuote: 2.923e-8,
    });
    const cases = [
      ['trades', ofDollars, 'trader', trade.trader.slice(0, 4)],
      ['trades', trade, 'trader', trade.trader.slice(0, 4)],
      ['newTokens', newTokenEvent(mint, { name: 'Pepe', symbol: 'PEPE' }), 'mint', mint],
      ['newTokens', newTokenEvent(mint, { name: 'Pepe', symbol: 'PEPE' }), 'name', 'Pepe'],
      ['candles', candleEvent(mint, { interval: '5s' }), 'begins', '2026-'],
      ['candles', candleEvent(mint, { interval: '5s', closed: true }), 'state', 'closed'],
      ['orders', order, 'token', 'PEPE'],
      ['orders', order, 'kind', order.kind],
    ] as const;
    expect(print('trades', [ofDollars], null)[0]).toMatch(/ 1,234,567 USDC .* 0\.0₇2923 USDC /);
    const bought = { ...newTokenEvent(mint).initialBuy!, quoteAmount: '2500000', solAmount: null };
    expect(print('newTokens', [newTokenEvent(mint, { quoteMint: usdcMint, initialBuy: bought })], null)[0]).toMatch(/ 2\.5 USDC$/);
    expect(print('newTokens', [newTokenEvent(mint, { quoteMint: usdcMint, initialBuy: null })], null)[0]).toMatch(/ - USDC$/);
    expect(print('prices', [priceEvent(wrappedSolMint), priceEvent(usdcMint)], null)).toEqual([
      expect.stringMatching(/ {2}SOL {7,}/),
      expect.stringMatching(/ {2}USDC {6,}/),
    ]);
    const moved = migrationEvent(mint, { quoteMint: usdcMint, quoteAmount: '12000000000', quoteDecimals: 6, solAmount: null });
    expect(print('migrations', [moved], null)[0]).toMatch(/ 12,000 USDC$/);
    for (const [channel, event, name, value] of cases) {
      const [heading = '', line = ''] = print(channel, [event]);
      expect(line.indexOf(value, heading.indexOf(name)), `${name} of ${channel}:\n${heading}\n${line}`).toBe(heading.indexOf(name));
    }
  });

  it('says in plain words that nothing listens, or that another service does, and sends that no key', async () => {
    const asked: unknown[] = [];
    const other = createHttpServer((request, response) => {
      asked.push(request.headers.authorization ?? request.url);
      response.end('hello');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const wrong = await sluice(['watch', 'trades', '--url', url], { folder });
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/^Another service answers at .*: it is not sluice\./)]);
    expect(asked).toEqual(['/livez']);
    expect(await probeGateway(gateway.url)).toEqual({ ok: true });
    other.close();
    await once(other, 'close');
    expect(await probeGateway(url)).toMatchObject({
      isGateway: null,
      fault: expect.stringMatching(/^no process listens at .* start it: /),
    });
  });

  it('shows a line for a person, marked as simulated, without control characters of a token name', async () => {
    const { lines, notices } = watch('newTokens');
    await waitFor(() => expect(notices()).toContain('connected'));
    const name = 'evil\u001B[2J\u202E\ntoken';
    await publisher.publish([entryOf(newTokenEvent(addressOf(1), { name, symbol: 'E\u0007', simulated: true }))]);
    await waitFor(() => expect(lines).toHaveLength(1));
    expect(lines[0]).toMatch(/ NEW {2}E {10}evil\[2Jtoken /);
    expect(lines[0]).toContain('(simulated)');
    expect(lines[0]).toMatch(/^[\P{C}]*$/u);
  });
});
