import { readFileSync } from 'node:fs';
import { PlansOverride } from '../wire/plan-fields.ts';
import { endpoints } from '../wire/rest/endpoints.ts';
import { validator } from '../wire/validate.ts';
import { shown, type Fault, type Get } from './fault.ts';
import { defaultPlans, type Plans } from './plans.ts';
import { readFileName } from './setting-files.ts';

/** Bytes of the file. */
const maxFileBytes = 64 * 1024;
const check = validator(PlansOverride);

/** The plans: the defaults, with what PLANS_FILE says otherwise. Every wrong field is named by its path. */
export function readPlans(get: Get, fault: Fault): Plans {
  const file = readFileName('PLANS_FILE', get, fault);
  if (file === null) return defaultPlans;
  const json = parse(file, fault);
  if (json === undefined) return defaultPlans;
  const outcome = overridePlans(json);
  if (outcome.ok) return outcome.plans;
  for (const [path, what] of Object.entries(outcome.faults)) fault('PLANS_FILE', `${path}: ${what}`);
  return defaultPlans;
}

type PlansOutcome =
  | { readonly ok: true; readonly plans: Plans }
  /** Path of a field to what is wrong with it. */
  | { readonly ok: false; readonly faults: Readonly<Record<string, string>> };

/** `{"standard":{"requestsPerMinute":200}}` put over the defaults. */
function overridePlans(json: unknown): PlansOutcome {
  const outcome = check(json);
  if (!outcome.ok) return { ok: false, faults: outcome.fields };
  const { standard, premium, enterprise } = outcome.value;
  const faults = unknownEndpoints(outcome.value);
  if (Object.keys(faults).length > 0) return { ok: false, faults };
  return {
    ok: true,
    plans: {
      standard: { ...defaultPlans.standard, ...standard },
      premium: { ...defaultPlans.premium, ...premium },
      enterprise: { ...defaultPlans.enterprise, ...enterprise },
    },
  };
}

/** A misspelt name would withhold nothing. */
function unknownEndpoints(override: PlansOverride): Readonly<Record<string, string>> {
  const known = endpoints.filter(({ access }) => access !== 'open').map(({ id }) => id);
  const faults: Record<string, string> = {};
  for (const [plan, { withoutEndpoints = [] }] of Object.entries(override)) {
    for (const [index, id] of withoutEndpoints.entries()) {
      if (!known.includes(id)) faults[`${plan}.withoutEndpoints.${index}`] = `must be one of ${known.join(', ')}`;
    }
  }
  return faults;
}

function parse(file: string, fault: Fault): unknown {
  // The file was there and could be read; it may have gone since.
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    fault('PLANS_FILE', `${shown(file)} cannot be read`);
    return undefined;
  }
  if (bytes.length > maxFileBytes) {
    fault('PLANS_FILE', `${shown(file)} has ${bytes.length} bytes, at most ${maxFileBytes} are read`);
    return undefined;
  }
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    fault('PLANS_FILE', `${shown(file)} is not JSON: ${(error as Error).message}`);
    return undefined;
  }
}
