import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import { statusEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

/** `/status`: versions, uptime, lag and statistics of the gateway. */
export function statusBinding(status: () => Promise<AnswerOf<typeof statusEndpoint>>): BoundEndpoint {
  return bindEndpoint(statusEndpoint, async () => ({ json: await status() }));
}
