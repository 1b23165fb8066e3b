import type { RequestMinutes } from '../ratelimit/request-minutes.ts';
import type { Usages } from '../stream/session/usage.ts';

/** What keys use on this gateway. */
export interface UsageOfKeys {
  readonly minutes: Pick<RequestMinutes, 'of'>;
  readonly streams: Pick<Usages, 'of'>;
  /** Gateways on the bus. Each counts its own requests and streams. */
  readonly gateways: () => number;
}
