import { maxIpRanges, readIpRanges } from '@sluice/gateway/auth/ip-ranges.ts';
import { planNames, scopes as allScopes, type PlanName, type Scope } from '@sluice/shared/wire/plans.ts';
import { UsageError } from './command.ts';

const maxLabelLength = 64;

export function readPlan(option: string, text: string | undefined): PlanName {
  const plan = planNames.find((name) => name === text);
  if (plan === undefined) throw new UsageError(`${option} takes one of ${planNames.join(', ')}`);
  return plan;
}

export function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return allScopes;
  const asked = text.split(',').map((scope) => scope.trim());
  const known = allScopes.filter((scope) => asked.includes(scope));
  if (known.length !== asked.length) throw new UsageError(`--scopes takes some of ${allScopes.join(',')}, each once, separated by commas`);
  return known;
}

export function readLabel(text: string | undefined): string | null {
  if (text === undefined || text === '') return null;
  if (text.length > maxLabelLength || /\p{C}/u.test(text))
    throw new UsageError(`--label takes ${maxLabelLength} printable characters at most`);
  return text;
}

export function readRanges(text: string | undefined): readonly string[] {
  if (text === undefined || text === '') return [];
  const outcome = readIpRanges(text.split(','));
  if (!outcome.ok) throw new UsageError(`--ip takes up to ${maxIpRanges} addresses or ranges, separated by commas; this ${outcome.fault}`);
  return outcome.ranges;
}
