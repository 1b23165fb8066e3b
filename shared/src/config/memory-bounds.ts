import { busLimits } from '../bus/bus.ts';

const mebibyte = 1024 * 1024;

export interface LogBounds {
  readonly maxEntries: number;
  /** JSON and MessagePack of all entries together. */
  readonly maxBytes: number;
}

/** Bounds of the largest structures of a process. At its bound, a structure drops its oldest entries. */
export interface MemoryBounds {
  /** The log of the in-process bus. Redis bounds its own. */
  readonly log: LogBounds;
  /** Events that a gateway retains for resuming clients; JSON only. */
  readonly history: LogBounds;
  /** The in-process state of the market. A bucket needs about 150 bytes, a mint up to 100 trades of 1.2 KB. */
  readonly market: { readonly mints: number; readonly buckets: number };
  /** Pools, curves and mints that ingest remembers, about 2 KB each. One that was dropped is read from the chain again. */
  readonly pools: number;
  /** Signatures that ingest remembers, about 200 bytes each. If one was dropped and is reported again, its events are published again. */
  readonly signatures: number;
}

/** For a real cluster: 120 s at 2,000 events per second, with room for 1.3 KB of JSON for each. */
export const standardMemory: MemoryBounds = {
  log: { maxEntries: busLimits.maxEntries, maxBytes: busLimits.maxBytes },
  history: { maxEntries: busLimits.maxEntries, maxBytes: 330 * mebibyte },
  market: { mints: 20_000, buckets: 500_000 },
  pools: 200_000,
  signatures: 400_000,
};

/**
 * For the simulated chain, whose market makes 8 trades and 20 events per second and drops a coin after half an hour. The embedded start
 * then needs less than 400 MB. The log has about the last four minutes, the history the last 13.
 */
export const simnetMemory: MemoryBounds = {
  log: { maxEntries: 32_768, maxBytes: 8 * mebibyte },
  history: { maxEntries: 65_536, maxBytes: 16 * mebibyte },
  market: { mints: 300, buckets: 40_000 },
  pools: 1_500,
  signatures: 20_000,
};
