import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { topicOf, type Topic } from './topic.ts';

/** Documents that people wrote, and the names of their pages. The compiler puts them into the folder of the programs (`documents` in `compile/programs.mjs`). */
export const guidePages: Readonly<Record<string, string>> = {
  'docs/guides/first-hour.md': 'first-hour',
  'docs/guides/sniping-bot.md': 'sniping-bot',
  'docs/guides/charts.md': 'charts',
  'docs/guides/placing-orders.md': 'placing-orders',
  'docs/guides/exits-that-run-on-the-server.md': 'exits-that-run-on-the-server',
  'docs/guides/trading-in-the-page.md': 'trading-in-the-page',
  'docs/guides/operating-sluice.md': 'operating-sluice',
  'docs/guides/coming-from-pumpportal.md': 'coming-from-pumpportal',
  'client/README.md': 'typescript-client',
  'clients/python/README.md': 'python-client',
  'docs/PROTOCOL.md': 'protocol',
  'docs/OPERATING.md': 'operating',
};

/** The documents as pages: from the build, or from the sources if this module runs uncompiled. */
export function readGuides(): readonly Topic[] {
  const built = import.meta.url.endsWith('.ts')
    ? null
    : (JSON.parse(readFileSync(new URL('documents.json', import.meta.url), 'utf8')) as Readonly<Record<string, string>>);
  return Object.entries(guidePages).map(([file, name]) => {
    const text = built?.[file] ?? readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8');
    return topicOf(name, text, { pages: guidePages, folder: posix.dirname(file) });
  });
}
