import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chromium, type BrowserContext, type BrowserContextOptions } from 'playwright-core';

/** A busy machine is slow. */
const timeoutMs = 60_000;
const programs = ['chromium', 'chromium-browser', 'google-chrome'];

/** A browser that runs as root has no sandbox. The other options keep it from contacting anything but the gateway. */
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface Chromium {
  /** A new window of its own: no cookies, no storage. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** A real Chromium. Its files are deleted afterwards. */
export async function startChromium(): Promise<Chromium> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-chromium-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const browser = await chromium.launch({
      executablePath: findProgram(),
      args,
      // Its files go there.
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder, LANG: 'C.UTF-8' },
    });
    const close = async (): Promise<void> => {
      await browser.close();
      remove();
    };
    const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
      const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
      context.setDefaultTimeout(timeoutMs);
      return context;
    };
    return { newContext, close };
  } catch (error) {
    remove();
    throw error;
  }
}

function findProgram(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const program of programs) {
    const folder = folders.find((candidate) => existsSync(join(candidate, program)));
    if (folder !== undefined) return join(folder, program);
  }
  throw new Error(`none of ${programs.join(', ')} is in PATH`);
}
