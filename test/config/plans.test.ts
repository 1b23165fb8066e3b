import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { readSettings } from '@sluice/shared/config/settings/settings.ts';
import { planFields } from '@sluice/shared/wire/rest/account/plan-fields.ts';
import { planNames } from '@sluice/shared/wire/values/plans.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-plans-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function readPlans(text: string) {
  const file = join(folder, 'plans.json');
  writeFileSync(file, text);
  return readSettings({ PLANS_FILE: file });
}

function faultsOf(value: unknown): readonly string[] {
  const outcome = readPlans(typeof value === 'string' ? value : JSON.stringify(value));
  return outcome.ok ? [] : outcome.faults;
}

describe('plans', () => {
  it('have every field in the schema of the documents and PLANS_FILE, within its bounds', () => {
    for (const name of planNames) {
      expect(Object.keys(defaultPlans[name])).toEqual(['name', ...Object.keys(planFields)]);
      const { name: itself, ...fields } = defaultPlans[name];
      expect(itself).toBe(name);
      expect(faultsOf({ [name]: fields })).toEqual([]);
    }
  });

  it('are the defaults, except for the values in the file', () => {
    const outcome = readPlans('\uFEFF{"standard":{"requestsPerMinute":200,"withoutChannels":["migrations"]},"enterprise":{}}');
    if (!outcome.ok) throw new Error(outcome.faults.join('\n'));
    const { plans } = outcome.config;
    expect(plans).toEqual({
      ...defaultPlans,
      standard: { ...defaultPlans.standard, requestsPerMinute: 200, withoutChannels: ['migrations'] },
    });
    expect(Object.isFrozen(plans) && Object.isFrozen(plans.standard) && Object.isFrozen(plans.standard.withoutChannels)).toBe(true);
  });

  it('are refused as a whole, with the path of every fault', () => {
    const faults = faultsOf({
      gold: {},
      standard: { requestsPerMinute: 0, burst: 1.5, allTrades: 'no', name: 'x' },
      premium: { withoutChannels: ['nothing'], connections: 1e9, rate: 5 },
    });
    expect(faultsOf({ premium: { withoutEndpoints: ['usage', 'usages', 'status'] } }).map((fault) => fault.split(': ')[1])).toEqual([
      'premium.withoutEndpoints.1',
      'premium.withoutEndpoints.2',
    ]);
    expect(faults.map((fault) => fault.split(': ').slice(0, 2).join(': ')).toSorted()).toEqual([
      'PLANS_FILE: gold',
      'PLANS_FILE: premium.connections',
      'PLANS_FILE: premium.rate',
      'PLANS_FILE: premium.withoutChannels.0',
      'PLANS_FILE: standard.allTrades',
      'PLANS_FILE: standard.burst',
      'PLANS_FILE: standard.name',
      'PLANS_FILE: standard.requestsPerMinute',
    ]);
  });

  it.each([['{'], ['[]'], ['null'], ['"x"'], ['{"__proto__":{"x":1}}'], [`{"standard":${' '.repeat(65 * 1024)}{}}`]])(
    'refuse %s',
    (text) => {
      expect(faultsOf(text)).toEqual([expect.stringMatching(/^PLANS_FILE: /)]);
    },
  );
});
