import { liveEndpoint, readyEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

export interface Health {
  readonly draining: boolean;
  readonly ready: boolean;
  readonly busLinkUp: boolean;
}

/** `/livez`: the loop turns. `/readyz`: the bus is followed, its link is up, and no restart is due. */
export function healthEndpoints(health: () => Health): BoundEndpoint[] {
  return [
    bindEndpoint(liveEndpoint, () => ({ json: { live: true as const } })),
    bindEndpoint(readyEndpoint, () => {
      const { draining, ready, busLinkUp } = health();
      if (draining) return { error: 'DRAINING' };
      if (ready) return { json: { ready: true as const } };
      const message = busLinkUp ? 'The history of the bus is still being read.' : 'The link to the bus is down.';
      return { error: 'UPSTREAM_UNAVAILABLE', message, details: { busLinkUp } };
    }),
  ];
}
