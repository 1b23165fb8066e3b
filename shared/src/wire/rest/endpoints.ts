import type { EndpointSpec } from './endpoint.ts';
import { liveEndpoint, metricsEndpoint, readyEndpoint, statusEndpoint } from './operations.ts';
import { quoteEndpoint } from './quote.ts';

/** Every endpoint of the HTTP interface; a gateway serves exactly these. */
export const endpoints: readonly EndpointSpec[] = [statusEndpoint, liveEndpoint, readyEndpoint, metricsEndpoint, quoteEndpoint];
