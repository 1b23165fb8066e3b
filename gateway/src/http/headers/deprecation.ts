import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { linesOf } from '../answers.ts';

const unixSeconds = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 1000;

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and the successor (RFC 5829) of a deprecated endpoint, as header lines. */
export function deprecationLines({ deprecated }: EndpointSpec): string {
  if (deprecated === undefined) return '';
  const { since, sunset, successor } = deprecated;
  return linesOf({
    Deprecation: `@${unixSeconds(since)}`,
    Sunset: new Date(unixSeconds(sunset) * 1000).toUTCString(),
    ...(successor === null ? {} : { Link: `<${successor}>; rel="successor-version"` }),
  });
}
