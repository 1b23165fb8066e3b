import type { EndpointSpec } from './endpoint.ts';
import { liveEndpoint, metricsEndpoint, readyEndpoint, statusEndpoint } from './operations.ts';

/** Every endpoint of the HTTP interface; a gateway serves exactly these. */
export const endpoints: readonly EndpointSpec[] = [statusEndpoint, liveEndpoint, readyEndpoint, metricsEndpoint];
