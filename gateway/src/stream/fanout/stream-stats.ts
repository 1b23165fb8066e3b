import type { Gap } from '@sluice/shared/wire/stream/replies.ts';
import { LatencyHistogram } from '@sluice/shared/operations/latency-histogram.ts';

/** Counters of one gateway's stream. Hot paths count here and do not log. */
export class StreamStats {
  /** Entries received from the bus. */
  events = 0;
  /** Messages published to a group of sockets. Each message counts once, even if the group has many sockets. */
  publishes = 0;
  /** Bytes of the published messages, counted once for each group. */
  publishedBytes = 0;
  replayedFrames = 0;
  /** Losses reported to clients that followed a topic. */
  losses = 0;
  /** Gaps reported to resuming clients: their position was too old, or belongs to another log. */
  incompleteResumes = 0;
  lostEntries = 0;
  /** Entries of the bus that could not be parsed. Ingest never writes such entries. */
  unreadableEntries = 0;
  /** Messages that were dropped because the send buffer of a socket was full. */
  drops = 0;
  slowCloses = 0;
  /** Connections closed because the client had sent nothing for too long. */
  idleCloses = 0;
  connectionsOpened = 0;
  commands = 0;
  refusedCommands = 0;
  refusedHandshakes = 0;
  /** From an event's `ts.published` until it was passed to the transport; at most one sample a millisecond. */
  readonly latencyUs = new LatencyHistogram();

  noteGap({ from, to, reason }: Gap, isResuming: boolean): void {
    // Nothing is missing if the numbers continue in a new epoch.
    if (to !== null && to < from) return;
    if (isResuming) this.incompleteResumes++;
    // Candles that nobody followed were never made.
    else if (reason !== 'unwatched') this.losses++;
  }
}
