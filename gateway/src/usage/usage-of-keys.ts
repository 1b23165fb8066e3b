import type { RequestMinutes } from '../ratelimit/request-minutes.ts';
import type { KeyUsages } from '../stream/session/key-usage.ts';

/** What keys use on this gateway. */
export interface UsageOfKeys {
  readonly minutes: Pick<RequestMinutes, 'of'>;
  readonly streams: Pick<KeyUsages, 'of'>;
  /** Gateways on the bus. Each counts its own requests and streams. */
  readonly gateways: () => number;
}
