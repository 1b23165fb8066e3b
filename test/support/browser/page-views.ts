import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { isFullFuzz } from '../fuzz.ts';

/** Retained after the run, to be looked at. Git ignores the folder. */
const screenshots = join(import.meta.dirname, '../../e2e/screenshots');
const allViews = [
  { name: 'light', colorScheme: 'light', size: { width: 1440, height: 900 } },
  { name: 'dark', colorScheme: 'dark', size: { width: 1280, height: 800 } },
  { name: 'phone', colorScheme: 'light', size: { width: 390, height: 844 } },
  { name: 'phone-dark', colorScheme: 'dark', size: { width: 390, height: 844 } },
] as const;
/** `pnpm test:fuzz` uses all views, and has axe look in each. Otherwise axe looks at both colour schemes and both sizes. */
const views = isFullFuzz ? allViews : allViews.slice(0, 3);
const examined: readonly string[] = isFullFuzz ? views.map(({ name }) => name) : ['dark', 'phone'];
/** What a browser reports of a gateway that a busy machine keeps waiting. The page tries again. */
const ofLoad = /status of 503|WebSocket connection to|^sluice: No answer within/;

export interface Watched {
  /** Errors and warnings in the console, violations of the policy, exceptions. */
  readonly complaints: string[];
  /** Requests to another origin. */
  readonly foreign: string[];
}

/** Records what a page must not do. */
export function watchPage(page: Page, url: string): Watched {
  const watched: Watched = { complaints: [], foreign: [] };
  page.on('console', (message) => {
    if ((message.type() === 'error' || message.type() === 'warning') && !ofLoad.test(message.text()))
      watched.complaints.push(message.text());
  });
  page.on('pageerror', (error) => watched.complaints.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) watched.foreign.push(request.url());
  });
  return watched;
}

/** What leaves its card, its list or its choice, and badges that repeat that the chain is simulated. Runs in the page. */
const misplaced = `[
  ...[...document.querySelectorAll('.card, .scroll, .choice')]
    .filter((card) => card.scrollWidth > card.clientWidth)
    .map((card) => \`\${card.className}: \${card.scrollWidth} pixels in a place of \${card.clientWidth}\`),
  ...[...document.querySelectorAll('.badge.simulated')].slice(1).map((badge) => \`another badge: \${badge.textContent}\`),
]`;

/** Takes a screenshot in each view, or only on the phone. Returns what is too wide or repeated, and what axe calls serious or worse. */
export async function look(page: Page, name: string, only?: 'phone'): Promise<readonly string[]> {
  mkdirSync(screenshots, { recursive: true });
  const faults: string[] = [];
  for (const view of views.filter((each) => only === undefined || each.name === only)) {
    await page.setViewportSize(view.size);
    await page.emulateMedia({ colorScheme: view.colorScheme });
    await page.waitForTimeout(250);
    await page.screenshot({ path: join(screenshots, `${name}-${view.name}.png`) });
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (wide > view.size.width) faults.push(`${name} in ${view.name}: ${wide} pixels wide`);
    for (const fault of await page.evaluate<readonly string[]>(misplaced)) faults.push(`${name} in ${view.name}: ${fault}`);
    if (!examined.includes(view.name)) continue;
    await page.evaluate(axe.source);
    const found = await page.evaluate<
      readonly { id: string; impact: string; nodes: readonly { html: string; failureSummary: string }[] }[]
    >(
      'axe.run(document, { resultTypes: ["violations"], rules: { "label-content-name-mismatch": { enabled: true } } }).then((result) => result.violations)',
    );
    for (const { id, impact, nodes } of found) {
      if (impact !== 'serious' && impact !== 'critical') continue;
      faults.push(`${name} in ${view.name}: ${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary.slice(0, 200)}`);
    }
  }
  await page.setViewportSize(allViews[0].size);
  return faults;
}
