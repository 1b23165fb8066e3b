import type { Config } from '../config.ts';
import { inQuotes, type Fault, type Get } from '../fault.ts';
import type { SettingName } from './settings-table.ts';

/** A gateway has 30 seconds to end, and needs the other 25 to close its connections and finish its orders. */
const maxDrainWaitSeconds = 5;

export interface OperationsReaders {
  readonly host: (name: SettingName) => string;
  readonly port: (name: SettingName) => number;
}

export function readOperations({ host, port }: OperationsReaders, get: Get, fault: Fault): Config['operations'] {
  if (get('METRICS_PORT') === null && get('METRICS_HOST') !== null) fault('METRICS_HOST', 'requires METRICS_PORT');
  const metrics = get('METRICS_PORT') === null ? null : { host: host('METRICS_HOST'), port: port('METRICS_PORT') };
  const share = get('SHARE_PORT') ?? 'false';
  if (share !== 'true' && share !== 'false') fault('SHARE_PORT', `${inQuotes(share)} must be one of true, false`);
  // With port 0, each process would get a different port.
  if (share === 'true' && get('PORT') === '0') fault('SHARE_PORT', 'requires a PORT other than 0, the same for all gateways');
  const wait = get('DRAIN_WAIT_SECONDS') ?? '0';
  const seconds = /^\d{1,2}$/.test(wait) ? Number(wait) : Number.NaN;
  if (!(seconds <= maxDrainWaitSeconds))
    fault('DRAIN_WAIT_SECONDS', `${inQuotes(wait)} is not a whole number from 0 to ${maxDrainWaitSeconds}`);
  return { metrics, sharePort: share === 'true', drainWaitMs: seconds * 1_000 };
}
