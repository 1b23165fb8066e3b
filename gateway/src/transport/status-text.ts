import { STATUS_CODES } from 'node:http';

/** The text of a status line: `404 Not Found`. */
export function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}
