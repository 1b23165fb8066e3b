import type { Config } from './config.ts';
import { shown, type Fault, type Get } from './fault.ts';
import type { SettingName } from './settings-table.ts';

/** What is left of the 30 seconds that a gateway has to end, for handing off its connections and ending its orders. */
const maxDrainWaitSeconds = 5;

export interface OperationsReaders {
  readonly host: (name: SettingName) => string;
  readonly port: (name: SettingName) => number;
}

export function readOperations({ host, port }: OperationsReaders, get: Get, fault: Fault): Config['operations'] {
  if (get('METRICS_PORT') === null && get('METRICS_HOST') !== null) fault('METRICS_HOST', 'needs METRICS_PORT');
  const metrics = get('METRICS_PORT') === null ? null : { host: host('METRICS_HOST'), port: port('METRICS_PORT') };
  const share = get('SHARE_PORT') ?? 'false';
  if (share !== 'true' && share !== 'false') fault('SHARE_PORT', `${shown(share)} is none of true, false`);
  // A port that was free a moment ago is another one for each process.
  if (share === 'true' && get('PORT') === '0') fault('SHARE_PORT', 'needs a PORT that is the same for all');
  const wait = get('DRAIN_WAIT_SECONDS') ?? '0';
  const seconds = /^\d{1,2}$/.test(wait) ? Number(wait) : Number.NaN;
  if (!(seconds <= maxDrainWaitSeconds)) fault('DRAIN_WAIT_SECONDS', `${shown(wait)} is no whole number from 0 to ${maxDrainWaitSeconds}`);
  return { metrics, sharePort: share === 'true', drainWaitMs: seconds * 1_000 };
}
