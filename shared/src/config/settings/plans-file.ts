import { readFileSync } from 'node:fs';
import { PlansOverride } from '../../wire/rest/account/plan-fields.ts';
import { endpoints } from '../../wire/rest/endpoints.ts';
import { validator } from '../../wire/validate.ts';
import { inQuotes, type SettingReader } from '../setting-reader.ts';
import { defaultPlans, type Plans } from '../plans.ts';
import { withoutMark } from '../text-file.ts';
import { readFileName } from './setting-files.ts';

/** Largest file. */
const maxFileBytes = 64 * 1024;
const check = validator(PlansOverride);

/** The default plans with the overrides in PLANS_FILE, such as `{"standard":{"requestsPerMinute":200}}`. Each fault names a field by its path. */
export function readPlans(read: SettingReader): Plans {
  const file = readFileName('PLANS_FILE', read);
  const json = file === null ? undefined : parse(file, read);
  if (json === undefined) return defaultPlans;
  const outcome = check(json);
  const faults = outcome.ok ? unknownEndpoints(outcome.value) : outcome.fields;
  for (const [path, what] of Object.entries(faults)) read.fault('PLANS_FILE', `${path}: ${what}`);
  if (!outcome.ok) return defaultPlans;
  const { standard, premium, enterprise } = outcome.value;
  return {
    standard: { ...defaultPlans.standard, ...standard },
    premium: { ...defaultPlans.premium, ...premium },
    enterprise: { ...defaultPlans.enterprise, ...enterprise },
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

/** Undefined if the file cannot be used. It was readable a moment ago, but it may have been removed since. */
function parse(file: string, read: SettingReader): unknown {
  const fault = (what: string): void => read.fault('PLANS_FILE', `${inQuotes(file)} ${what}`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return fault('cannot be read');
  }
  if (bytes.length > maxFileBytes) return fault(`has ${bytes.length} bytes. The maximum is ${maxFileBytes}`);
  try {
    return JSON.parse(withoutMark(bytes.toString('utf8')));
  } catch (error) {
    return fault(`is not JSON: ${(error as Error).message}`);
  }
}
