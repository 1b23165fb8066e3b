import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasPromtool, promtool } from '../support/product/promtool.ts';

const root = join(import.meta.dirname, '../..');
const rules = join(root, 'operating/prometheus/alerts.yml');
const tests = ['alerts.test.yml', 'slow-alerts.test.yml'].map((file) => join(import.meta.dirname, file));
const read = (file: string): string => readFileSync(file, 'utf8');

/** The anchors that Markdown makes from headings. */
function anchorsOf(markdown: string): Set<string> {
  const headings = markdown.split('\n').flatMap((line) => /^#+ (.*)$/.exec(line)?.[1] ?? []);
  const anchor = (text: string): string =>
    text
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-');
  return new Set(headings.map(anchor));
}

describe('alert rules', () => {
  const names = [...read(rules).matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);

  it.runIf(hasPromtool)('pass promtool, and fire only for their own condition', () => {
    expect(promtool(['check', 'rules', rules])).toMatchObject({ ok: true });
    expect(promtool(['test', 'rules', ...tests])).toMatchObject({ ok: true });
    expect(promtool(['check', 'config', join(root, 'operating/prometheus/prometheus.yml')])).toMatchObject({ ok: true });
  });

  it('each have a test', () => {
    expect(names.length).toBeGreaterThan(30);
    expect(new Set(names).size).toBe(names.length);
    const ones = tests.map(read).join('\n').replaceAll(/\s+/g, ' ');
    const tested = [...ones.matchAll(/alertname="(\w+)",alertstate="firing"\}\)', eval_time: \w+, exp_samples: \[\{ labels/g)];
    expect(new Set(tested.map(([, name]) => name))).toEqual(new Set(names));
  });

  it('each refer to a section of OPERATING.md, and every section there belongs to a rule', () => {
    const runbooks = [...read(rules).matchAll(/runbook: docs\/OPERATING\.md#(\S+)/g)].map(([, anchor]) => anchor!);
    expect(runbooks).toHaveLength(names.length);
    const anchors = anchorsOf(read(join(root, 'docs/OPERATING.md')));
    expect(runbooks.filter((anchor) => !anchors.has(anchor))).toEqual([]);
    const [, below = ''] = read(join(root, 'docs/OPERATING.md')).split('\n## What to do at an alert\n');
    const [section = ''] = below.split('\n## ');
    expect(anchorsOf(section)).toEqual(new Set(runbooks));
  });
});

it("the dashboard's panels have queries and do not overlap", () => {
  const { panels } = JSON.parse(read(join(root, 'operating/grafana/sluice.json'))) as {
    readonly panels: readonly {
      readonly id: number;
      readonly type: string;
      readonly title: string;
      readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
      readonly targets?: readonly { readonly expr: string }[];
    }[];
  };
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const taken = new Set<string>();
  for (const { type, title, gridPos, targets = [] } of panels) {
    if (type !== 'row') expect(targets.length, title).toBeGreaterThan(0);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x},${y}`), title).toBe(false);
        taken.add(`${x},${y}`);
      }
    }
  }
});
