import { readIpRanges } from '@sluice/gateway/auth/ip-ranges.ts';
import { maxIpRanges, maxLabelChars } from '@sluice/shared/wire/values/values.ts';
import { planNames, scopes as allScopes, type PlanName, type Scope } from '@sluice/shared/wire/values/plans.ts';
import { UsageError } from '../../command-line/command.ts';

/** The error of an argument that must be the id of a key. */
export const wholeKeyMessage = 'This is a whole API key. Give only its id, the part between the two underscores.';

export function readPlan(option: string, text: string | undefined): PlanName {
  const plan = planNames.find((name) => name === text);
  if (plan === undefined) throw new UsageError(`${option} takes one of ${planNames.join(', ')}`);
  return plan;
}

export function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return allScopes;
  const requested = text.split(',').map((scope) => scope.trim());
  const known = allScopes.filter((scope) => requested.includes(scope));
  if (known.length !== requested.length)
    throw new UsageError(`--scopes takes a comma-separated list of ${allScopes.join(', ')}, each at most once`);
  return known;
}

export function readLabel(text: string | undefined): string | null {
  if (text === undefined || text === '') return null;
  if (text.length > maxLabelChars || /\p{C}/u.test(text))
    throw new UsageError(`--label takes at most ${maxLabelChars} printable characters`);
  return text;
}

export function readRanges(text: string | undefined): readonly string[] {
  if (text === undefined || text === '') return [];
  const outcome = readIpRanges(text.split(','));
  if (!outcome.ok) throw new UsageError(`--ip takes up to ${maxIpRanges} comma-separated addresses or ranges; this ${outcome.fault}`);
  return outcome.ranges;
}
