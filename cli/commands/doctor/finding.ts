import { partyNames, type AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { oneLine } from '@sluice/shared/runtime/log/terminal-text.ts';

/** What one check of `doctor` found. */
export interface Finding {
  readonly name: string;
  readonly state: 'ok' | 'warn' | 'fail';
  readonly detail: string;
}

export const ok = (name: string, detail: string): Finding => ({ name, state: 'ok', detail: oneLine(detail) });
export const warn = (name: string, detail: string): Finding => ({ name, state: 'warn', detail: oneLine(detail) });
export const fail = (name: string, detail: string): Finding => ({ name, state: 'fail', detail: oneLine(detail) });

/** An error's message, for a finding. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a check finds. If it cannot be carried out, that is a failure. */
export async function tried(name: string, check: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [fail(name, reason(error))];
  }
}

/** Compares this machine's clock with those of the other parties, if they have clocks. */
export function clockFindings(time: Pick<AgreedTime, 'fault' | 'aheadMs'>): readonly Finding[] {
  const fault = time.fault();
  if (fault !== null) return [warn('clock', fault)];
  return [...time.aheadMs].map(([party, ms]) =>
    ok('clock', `within ${Math.max(1, Math.ceil(Math.abs(ms) / 1000))} s of the clock of ${partyNames[party]}`),
  );
}
