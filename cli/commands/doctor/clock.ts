import { partyNames, type AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { ok, warn, type Finding } from './finding.ts';

/** Compares this machine's clock with those of the other parties, if they have clocks. */
export function clockFindings(time: Pick<AgreedTime, 'fault' | 'aheadMs'>): readonly Finding[] {
  const fault = time.fault();
  if (fault !== null) return [warn('clock', fault)];
  return [...time.aheadMs].map(([party, ms]) =>
    ok('clock', `within ${Math.max(1, Math.ceil(Math.abs(ms) / 1000))} s of the clock of ${partyNames[party]}`),
  );
}
