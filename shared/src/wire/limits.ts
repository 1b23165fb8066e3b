/**
 * What one stream connection may ask for, whatever its plan: limits of the plan are defined there alone. The numbers are in
 * REFERENCE.md, made from here.
 */
export const streamLimits = {
  /** Time for the first message to authenticate where the handshake did not. */
  authTimeoutMs: 5_000,
  /** Bytes of one message from a client; more closes with 4513. */
  messageBytes: 512 * 1024,
  /** Bytes of one message beyond which it is not read at all: the link is cut, without a reply or a close frame (1006). */
  cutMessageBytes: 2 * 1024 * 1024,
  /** Keys (mints and accounts together count each) of one list in one command. */
  keysPerCommand: 5_000,
  /** Topics in the map `since` of one command. */
  sinceTopics: 10_000,
  /** Topics that one page of `list` names. */
  listTopics: 1_000,
  /** Topics that one connection follows, both dialects together. */
  subscriptionsPerConnection: 20_000,
  /** Topics of one command that asks for a snapshot. */
  snapshotTopics: 1_000,
  /** Retained events that one command with `snapshot` looks at, over all its topics. */
  snapshotEvents: 2_048,
  /** Work that a connection may ask for at once: bytes of its commands and of their replies, and `commandWork` for each … */
  workBurst: 8 * 1024 * 1024,
  /** … and that comes back each second. */
  workPerSecond: 256 * 1024,
  /** The same for all connections of one key together. */
  keyWorkBurst: 32 * 1024 * 1024,
  keyWorkPerSecond: 2 * 1024 * 1024,
  /** Work of a connection that has not authenticated yet. */
  unauthenticatedWork: 32 * 1024,
  /** Commands at once of such a connection, and as many each second; that of the others is their plan's. */
  unauthenticatedCommands: 20,
  /** What every command counts for, beside its bytes. */
  commandWork: 1024,
  /** What every topic in a map `since` counts for, beside its bytes. */
  sinceWork: 200,
  /** A command that is refused for its rate is read for its `id` up to so many bytes; in a longer one `id` has to stand first. */
  refusedIdBytes: 1024,
  /** Commands refused for their rate, without a pause, after which the connection is closed with 4029. */
  rateRefusals: 5_000,
  /** Different filters of one key on one topic of one gateway; a filter counts for the key that used it first. */
  filtersPerKeyAndTopic: 100,
  /** Connections of one gateway that have not authenticated yet. */
  unauthenticatedConnections: 5_000,
  /** Addresses or venues in one list of a filter. */
  filterValues: 100,
  /** Topics up to which a heartbeat names all positions; beyond, those that moved. */
  heartbeatTopics: 100,
  heartbeatMs: 1_000,
  /** A client from which nothing came for this long is sent a WebSocket ping … */
  pingAfterMs: 20_000,
  /** … and after this long without any sign it is closed with 4009. */
  silentMs: 45_000,
  /** Bytes waiting in the gateway for one client, beyond which it is closed with 4008. */
  softBufferBytes: 2 * 1024 * 1024,
  /** With `?batch=1`: events are collected for this long (timers are late by up to a millisecond), … */
  batchMs: 10,
  /** … this many, … */
  batchEvents: 256,
  /** … or this many bytes, whichever comes first. */
  batchBytes: 64 * 1024,
} as const;
