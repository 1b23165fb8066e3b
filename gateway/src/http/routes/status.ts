import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import { statusEndpoint } from '@sluice/shared/wire/rest/operations.ts';
import { bindEndpoint, type BoundEndpoint } from '../endpoint.ts';

/** `/status`: what the gateway knows of itself. */
export function statusBinding(status: () => Promise<AnswerOf<typeof statusEndpoint>>): BoundEndpoint {
  return bindEndpoint(statusEndpoint, async () => ({ json: await status() }));
}
