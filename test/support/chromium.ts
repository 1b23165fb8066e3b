import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chromium, type BrowserContext } from 'playwright-core';

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
  readonly context: BrowserContext;
  close(): Promise<void>;
}

/** A real Chromium with its own profile, which is deleted afterwards. */
export async function startChromium(viewport = { width: 1200, height: 900 }): Promise<Chromium> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-chromium-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const context = await chromium.launchPersistentContext(join(folder, 'profile'), {
      executablePath: findProgram(),
      args,
      viewport,
      // Its files outside the profile go there too.
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, LANG: 'C.UTF-8' },
    });
    const close = async (): Promise<void> => {
      await context.close();
      remove();
    };
    return { context, close };
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
