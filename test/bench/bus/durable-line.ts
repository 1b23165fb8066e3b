import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';

export interface Cost {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Sorts the array in place. */
export function costOf(tookMs: Float64Array): Cost {
  tookMs.sort();
  return { p50Ms: tookMs[Math.floor(tookMs.length * 0.5)]!, p99Ms: tookMs[Math.floor(tookMs.length * 0.99)]! };
}

/** How long the disk takes to write a line of the audit log. No signature leaves before that. */
export function diskCost(file: string): Cost {
  const fd = openSync(file, 'a', 0o600);
  const line = Buffer.alloc(380, 97);
  const tookMs = new Float64Array(1_000);
  for (let index = 0; index < tookMs.length; index++) {
    const startedAt = performance.now();
    writeSync(fd, line);
    fdatasyncSync(fd);
    tookMs[index] = performance.now() - startedAt;
  }
  closeSync(fd);
  return costOf(tookMs);
}
