import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import { decodedVenueNames } from '@sluice/shared/wire/venues.ts';
import { exampleRecording } from '../../cli/commands/replay/example.ts';
import { showProgress } from '../../cli/command-line/progress.ts';
import { replayFile } from '../simnet/simnet.ts';
import { sluice } from '../support/command-line.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';
import { testConfig } from '../support/test-config.ts';
import { until } from '../support/until.ts';

/** Recorded mainnet transactions. If the folder is missing, the test that needs them is skipped. */
const recorded = join(dirname(fileURLToPath(import.meta.url)), '../../../shared/fixtures/transactions');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-replay-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('sluice replay', () => {
  it.skipIf(!existsSync(recorded))('prints the events of recorded transactions and ends', { timeout: 60_000 }, async () => {
    const files = readdirSync(recorded)
      .filter((name) => name.startsWith('pump_'))
      .map((name) => join(recorded, name));
    const { code, stdout, stderr } = await sluice(['replay', ...files, '--speed', '0', '--events', '--json'], { folder });
    expect(code, stderr).toBe(0);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly type: string; readonly id: string; readonly mint: string });
    const types = events.map(({ type }) => type);
    expect(types.filter((type) => type === 'trade').length).toBe(files.length);
    expect(types.filter((type) => type === 'newToken').length).toBe(2);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it('plays the recording that comes with it if no file is given: every venue has trades with a price', async () => {
    const { code, stdout, stderr } = await sluice(['replay', '--speed', '0', '--events', '--json'], { folder });
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/^644 events from 284 transactions\n$/);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as StreamEvent);
    const venuesOf = (...types: readonly string[]): string[] => [
      ...new Set(events.flatMap((event) => (types.includes(event.type) && 'pool' in event ? [String(event.pool)] : []))),
    ];
    for (const event of events) if (event.type === 'trade' || event.type === 'price') expect(event.priceQuote).toBeGreaterThan(0);
    expect(venuesOf('trade').toSorted()).toEqual(decodedVenueNames.toSorted());
    expect(venuesOf('price').toSorted()).toEqual(decodedVenueNames.toSorted());
    expect(venuesOf('newToken').toSorted()).toEqual(['launchlab', 'meteora-dbc', 'pump']);
    expect(venuesOf('migration', 'poolCreated', 'liquidityAdded', 'liquidityRemoved').toSorted()).toEqual([
      'meteora-damm-v2',
      'meteora-dlmm',
      'pump-amm',
      'raydium-amm',
      'raydium-cpmm',
    ]);
  });

  it('as a node, gives the same trades to ingest by its logs, blocks and accounts', { timeout: 60_000 }, async () => {
    const log = createLog({ level: 'silent', name: 'test' });
    const node = await replayFile(exampleRecording, { speed: 0 });
    const bus = await createBus({ redisUrls: null, log });
    const trades = new Map<string, number>();
    await (
      await bus.subscriber()
    ).start({
      onEntry: (entry) => {
        for (const event of eventsOfEntry(entry)) if (event.type === 'trade') trades.set(event.pool, (trades.get(event.pool) ?? 0) + 1);
      },
      onLost: () => expect.fail('lost entries'),
    });
    const rpc = { httpUrls: [node.rpcUrl], wsUrls: [node.wsUrl] };
    // The program of LaunchLab of 2025 logs no events.
    const config: Config = { ...testConfig, sources: ['logs', 'blocks'], rpc };
    const ingest = await startIngest({ config, bus, log, signal: new AbortController().signal });
    const expected = {
      launchlab: 3,
      'meteora-damm-v2': 4,
      'meteora-dbc': 6,
      'meteora-dlmm': 4,
      'orca-whirlpool': 11,
      pump: 224,
      'pump-amm': 13,
      'raydium-amm': 9,
      'raydium-clmm': 11,
      'raydium-cpmm': 4,
    };
    await until('every trade', () => Object.entries(expected).every(([name, count]) => trades.get(name) === count), 50_000);
    for (const one of [ingest, bus, node]) await one.close();
  });

  it('shows progress on a terminal only, and only after two seconds', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    for (const isTTY of [true, false]) {
      const write = vi.fn<(text: string) => boolean>(() => true);
      const stop = showProgress(() => 'working', { isTTY, write, columns: 80 });
      vi.advanceTimersByTime(1500);
      expect(write).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1000);
      stop();
      expect(write.mock.calls.flat()).toEqual(isTTY ? ['\rworking, 2 s\u001B[K\r', '\rworking, 2 s\u001B[K\r', '\r\u001B[K'] : []);
    }
  });

  it('reports why a file cannot be played', async () => {
    const missing = await sluice(['replay', 'not-there.json', '--events'], { folder });
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    writeFileSync(join(folder, 'empty.json'), '{"some":"thing"}');
    const empty = await sluice(['replay', 'empty.json', '--events'], { folder });
    expect(empty).toMatchObject({ code: 1, stdout: '' });
    expect(empty.stderr).toContain('No transaction could be read');
    expect(empty.stderr).toContain('empty.json: not a getTransaction result');
  });
});
