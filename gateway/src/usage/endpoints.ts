import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { usageEndpoint } from '@sluice/shared/wire/rest/account/usage.ts';
import { wsTicketEndpoint } from '@sluice/shared/wire/rest/account/ticket.ts';
import { readIpRanges } from '../auth/ip-ranges.ts';
import { ticketTtlMs, type Tickets } from '../auth/tickets.ts';
import { bindEndpoint, type BoundEndpoint } from '../http/endpoint.ts';
import type { KeyLimits } from '../ratelimit/key-limit.ts';
import type { RequestMinutes } from '../ratelimit/request-minutes.ts';
import type { Usages } from '../stream/session/usage.ts';

/** What keys use on this gateway. */
export interface UsageOfKeys {
  readonly minutes: Pick<RequestMinutes, 'of'>;
  readonly streams: Pick<Usages, 'of'>;
  /** Gateways on the bus. Each counts its own requests and streams. */
  readonly gateways: () => number;
}

interface UsageParts {
  readonly limits: KeyLimits;
  readonly tickets: Tickets;
  readonly usage: UsageOfKeys;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** The usage of a key, and tickets that it can hand to a browser. */
export function usageEndpoints({ limits, tickets, usage, clock }: UsageParts): BoundEndpoint[] {
  const tellUsage = bindEndpoint(usageEndpoint, async ({ principal }) => {
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    const { keyId, label, scopes, ipRanges, expiresAtMs, plan } = principal;
    const { remaining, resetMs, counted } = await limits.take(principal, 0);
    const { connections, subscriptions } = usage.streams.of(keyId);
    return {
      json: {
        key: { id: keyId, prefix: `sluice_${keyId}`, label, scopes: [...scopes], ipRanges: [...ipRanges], expiresAtMs },
        plan: { ...plan, withoutEndpoints: [...plan.withoutEndpoints], withoutChannels: [...plan.withoutChannels] },
        requests: { remaining, resetMs, counted, minutes: { ...usage.minutes.of(keyId, clock.wallMs()), gateways: usage.gateways() } },
        stream: { connections, subscriptions },
      },
    };
  });
  const issueTicket = bindEndpoint(wsTicketEndpoint, async ({ principal, body }) => {
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    const address = body.address === undefined ? null : singleAddress(body.address);
    if (body.address !== undefined && address === null) {
      return { error: 'INVALID_REQUEST', details: { fields: { address: 'is not an IP address' } } };
    }
    const ticket = await tickets.issue({ credential: principal.credential, address });
    if (ticket === null)
      return { error: 'UPSTREAM_UNAVAILABLE', message: 'No ticket can be stored at present. Connect with the key, or try again.' };
    return { json: { ticket, expiresInMs: ticketTtlMs } };
  });
  return [tellUsage, issueTicket];
}

/** A range with only this address; null if the text is not an address. */
function singleAddress(text: string): string | null {
  const outcome = text.includes('/') ? null : readIpRanges([text]);
  return outcome?.ok === true ? (outcome.ranges[0] ?? null) : null;
}
