import { jsonAnswer } from '../answers.ts';
import { bothForms, type Route } from '../router.ts';

/** `/status`, with and without `/api`: what the gateway knows of itself. */
export function statusRoutes(status: () => Promise<unknown>): Route[] {
  return bothForms({ method: 'GET', path: '/status', handler: async (request) => jsonAnswer(request, await status()) });
}
