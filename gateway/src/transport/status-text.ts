import { STATUS_CODES } from 'node:http';

/** The status line's `404 Not Found`. */
export function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}
