import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';

/** Counters of one gateway's stream. Hot paths count here and log nothing. */
export class StreamStats {
  /** Entries taken from the bus. */
  events = 0;
  /** Messages handed to the transport for a room: one for all its sockets. */
  publishes = 0;
  /** Bytes of those, once for each room. */
  publishedBytes = 0;
  /** Frames replayed to single connections. */
  replayedFrames = 0;
  /** Gaps told to rooms and connections. */
  gaps = 0;
  /** Entries that the bus could not give, as far as it knew. */
  lostEntries = 0;
  /** Messages for which a socket had no room left. */
  drops = 0;
  slowCloses = 0;
  silentCloses = 0;
  connectionsOpened = 0;
  commands = 0;
  refusedCommands = 0;
  refusedHandshakes = 0;
  /** From an event's `ts.published` to its handing to the transport; at most one sample a millisecond. */
  readonly latencyUs = new LatencyHistogram();
}
