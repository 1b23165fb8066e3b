import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { showProgress } from '../../cli/command-line/progress.ts';
import { sluice } from '../support/command-line.ts';

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

  it('plays the recording that comes with it if no file is given', async () => {
    const { code, stdout, stderr } = await sluice(['replay', '--speed', '0', '--events'], { folder });
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/^\d+ events from 270 transactions\n$/);
    for (const venue of [
      'launchlab',
      'raydium-amm',
      'raydium-cpmm',
      'raydium-clmm',
      'meteora-damm-v2',
      'meteora-dlmm',
      'orca-whirlpool',
      'pump-amm',
    ])
      expect(stdout).toContain(` ${venue} `);
    expect(stdout).toMatch(/ (BUY |SELL) .* pump /);
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
