import { readFileSync } from 'node:fs';
import { PlansOverride } from '../../wire/rest/plan-fields.ts';
import { endpoints } from '../../wire/rest/endpoints.ts';
import { validator } from '../../wire/validate.ts';
import { inQuotes, type SettingReader } from '../setting-reader.ts';
import { defaultPlans, type Plans } from '../plans.ts';
import { withoutMark } from '../text-file.ts';
import { readFileName } from './setting-files.ts';

/** Largest file. */
const maxFileBytes = 64 * 1024;
const check = validator(PlansOverride);

/** The default plans with the overrides in PLANS_FILE. Each fault names a field by its path. */
export function readPlans(read: SettingReader): Plans {
  const file = readFileName('PLANS_FILE', read);
  if (file === null) return defaultPlans;
  const json = parse(file, read);
  if (json === undefined) return defaultPlans;
  const outcome = overridePlans(json);
  if (outcome.ok) return outcome.plans;
  for (const [path, what] of Object.entries(outcome.faults)) read.fault('PLANS_FILE', `${path}: ${what}`);
  return defaultPlans;
}

type PlansOutcome =
  | { readonly ok: true; readonly plans: Plans }
  /** Path of a wrong field, to what is wrong. */
  | { readonly ok: false; readonly faults: Readonly<Record<string, string>> };

/** Applies overrides like `{"standard":{"requestsPerMinute":200}}` to the defaults. */
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

/** Unknown endpoints in `withoutEndpoints`. A misspelt name would exclude nothing. */
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

function parse(file: string, read: SettingReader): unknown {
  // The file was readable a moment ago, but it may have been removed since.
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    read.fault('PLANS_FILE', `${inQuotes(file)} cannot be read`);
    return undefined;
  }
  if (bytes.length > maxFileBytes) {
    read.fault('PLANS_FILE', `${inQuotes(file)} has ${bytes.length} bytes. The maximum is ${maxFileBytes}`);
    return undefined;
  }
  try {
    return JSON.parse(withoutMark(bytes.toString('utf8')));
  } catch (error) {
    read.fault('PLANS_FILE', `${inQuotes(file)} is not JSON: ${(error as Error).message}`);
    return undefined;
  }
}
