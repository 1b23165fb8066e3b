import { crc32 } from 'node:zlib';

/** A checksum of the log lines of a transaction. Null for cut logs, because each node cuts them where it is configured to. */
export function digestLogs(logs: unknown): number | null {
  if (!Array.isArray(logs) || logs.length === 0 || logs.includes('Log truncated')) return null;
  return crc32(JSON.stringify(logs));
}
