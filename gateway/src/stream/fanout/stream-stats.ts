import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';

/** Counters of one gateway's stream. Hot paths count here and do not log. */
export class StreamStats {
  /** Entries received from the bus. */
  events = 0;
  /** Messages published to a room. A message counts once, however many sockets are in the room. */
  publishes = 0;
  /** Bytes of the published messages, counted once for each room. */
  publishedBytes = 0;
  /** Frames replayed to single connections. */
  replayedFrames = 0;
  /** Gaps reported to rooms and connections. */
  gaps = 0;
  /** Entries that the bus reported as lost. */
  lostEntries = 0;
  /** Entries of the bus that could not be read; ingest writes none. */
  unreadableEntries = 0;
  /** Messages for which a socket had no room left. */
  drops = 0;
  slowCloses = 0;
  silentCloses = 0;
  connectionsOpened = 0;
  commands = 0;
  refusedCommands = 0;
  refusedHandshakes = 0;
  /** From an event's `ts.published` until it was passed to the transport; at most one sample a millisecond. */
  readonly latencyUs = new LatencyHistogram();
}
