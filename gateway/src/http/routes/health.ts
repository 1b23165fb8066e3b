import { errorAnswer, jsonAnswer } from '../answers.ts';
import type { Route } from '../router.ts';

export interface Health {
  readonly draining: boolean;
  readonly ready: boolean;
  readonly busLinkUp: boolean;
}

/** `/livez`: the loop turns. `/readyz`: the bus is followed, its link is up, and no restart is due. */
export function healthRoutes(health: () => Health): Route[] {
  return [
    { method: 'GET', path: '/livez', handler: (request) => jsonAnswer(request, { live: true }) },
    {
      method: 'GET',
      path: '/readyz',
      handler: (request) => {
        const { draining, ready, busLinkUp } = health();
        if (draining) return errorAnswer(request, 'DRAINING');
        if (ready) return jsonAnswer(request, { ready: true });
        const message = busLinkUp ? 'The history of the bus is still being read.' : 'The link to the bus is down.';
        return errorAnswer(request, 'UPSTREAM_UNAVAILABLE', message, { busLinkUp });
      },
    },
  ];
}
