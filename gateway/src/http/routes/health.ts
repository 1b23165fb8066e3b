import { unhealthyParts, partReports, type Parts } from '@sluice/shared/operations/readiness.ts';
import { liveEndpoint, readyEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

export interface Health {
  readonly draining: boolean;
  readonly parts: Parts;
  readonly tradingRole: 'self' | 'other' | null;
}

/** `/livez`: the event loop runs. `/readyz`: every part of this gateway works, and it is not about to restart. */
export function healthEndpoints(health: () => Health): BoundEndpoint[] {
  return [
    bindEndpoint(liveEndpoint, () => ({ json: { live: true as const } })),
    bindEndpoint(readyEndpoint, ({ query: { exclude } }) => {
      const { draining, parts, tradingRole } = health();
      const excluded = new Set(exclude === undefined ? [] : exclude.split(','));
      const unknown = [...excluded].filter((name) => !Object.hasOwn(parts, name));
      if (unknown.length > 0) {
        const known = Object.keys(parts).join(', ');
        return { error: 'INVALID_REQUEST', details: { fields: { exclude: `must be some of ${known}` } } };
      }
      const reported = { parts: partReports(parts), tradingRole };
      if (draining) return { error: 'DRAINING', details: reported };
      const notReady = unhealthyParts(parts).filter((name) => !excluded.has(name));
      if (notReady.length === 0) return { json: { ready: true as const, ...reported } };
      return { error: 'UPSTREAM_UNAVAILABLE', message: `Not ready: ${notReady.join(', ')}.`, details: reported };
    }),
  ];
}
