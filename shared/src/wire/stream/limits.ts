/**
 * Limits of one stream connection, the same in every plan. The limits of plans are in `shared/src/config/plans.ts`. The table in
 * REFERENCE.md is generated from these.
 */
export const streamLimits = {
  /** Time for the first message to authenticate, if the handshake did not. */
  authTimeoutMs: 5_000,
  /** Bytes of one message from a client. A larger one closes the connection with 4513. */
  messageBytes: 512 * 1024,
  /** Bytes of one message of the gateway, unless it is one larger event. Clients in Go read no longer ones by default. */
  frameBytes: 32 * 1024,
  /** A message with more bytes is not read: the connection is cut, without a reply or a close frame (1006). */
  cutMessageBytes: 2 * 1024 * 1024,
  /** Keys in one list of one command. */
  keysPerCommand: 5_000,
  /** Topics in the map `since` of one command. */
  sinceTopics: 10_000,
  /** Frames of the past of each topic that one command can request with `last`. */
  lastFrames: 10_000,
  /** Topics on one page of `list`; fewer if they have long filters and would exceed `frameBytes`. */
  listTopics: 500,
  /** Topics of one connection, both protocols together. */
  subscriptionsPerConnection: 20_000,
  /** Topics of one command with `snapshot`. */
  snapshotTopics: 1_000,
  /** Retained events that one command with `snapshot` searches, in all its topics. */
  snapshotEvents: 2_048,
  /** Burst of work of a connection: bytes of its commands and of their replies, and `commandWork` for each. */
  workBurst: 8 * 1024 * 1024,
  /** Work of a connection per second, after the burst. */
  workPerSecond: 256 * 1024,
  /** Burst of work of all connections of one key together. */
  keyWorkBurst: 32 * 1024 * 1024,
  keyWorkPerSecond: 2 * 1024 * 1024,
  /** Work of a connection that has not authenticated yet. */
  unauthenticatedWork: 32 * 1024,
  /** Commands of such a connection: burst, and per second after it. For authenticated connections, the plan sets the limit. */
  unauthenticatedCommands: 20,
  /** Commands of a PumpPortal client: the rate per second, if its plan has a lower one. Faster ones wait. */
  dialectCommands: 100,
  /** Bytes of the messages that wait, of all keys together, and as much again of all addresses without a key together. */
  delayedBytes: 32 * 1024 * 1024,
  /** The same of one key, and of one address without a key; at most as much as is still free. One more message closes its connection with 4029. */
  delayedKeyBytes: 8 * 1024 * 1024,
  delayedAddressBytes: 4 * 1024 * 1024,
  /** Work of every command, in addition to its bytes. */
  commandWork: 1024,
  /** Work of every topic in a map `since`, in addition to its bytes, and of every topic of a command with `last`. */
  sinceWork: 200,
  /** If a command is refused for its rate, its `id` is searched only up to this size. In a longer command, `id` must be the first field. */
  refusedIdBytes: 1024,
  /** After so many commands in a row that were refused for their rate, the connection is closed with 4029. */
  rateRefusals: 5_000,
  /** Different filters of one key on one topic of one gateway; a filter counts for the key that used it first. */
  filtersPerKeyAndTopic: 100,
  /** Connections of one gateway that have not authenticated yet. */
  unauthenticatedConnections: 5_000,
  /** Connections without a key from one address on one gateway, if PumpPortal clients without a key are served. One more is refused with 429. */
  keylessConnections: 200,
  /** Mints, and accounts, of all such connections of one address together. */
  keylessMints: 5_000,
  keylessAccounts: 1_000,
  /** Addresses or venues in one list of a filter. */
  filterValues: 100,
  /** Up to this number of topics, a heartbeat has all positions. With more topics, it has those that changed. */
  heartbeatTopics: 100,
  heartbeatMs: 1_000,
  /** A client that sent nothing for this time gets a WebSocket ping. */
  pingAfterMs: 20_000,
  /** A client that sent nothing for this time, not even a pong, is closed with 4009. */
  silentMs: 45_000,
  /** If more bytes wait in the gateway for one client, it is closed with 4008. */
  softBufferBytes: 2 * 1024 * 1024,
  /** With `?batch=1`, a batch is sent after this time (timers are late by up to a millisecond), or at one of the next two limits. */
  batchMs: 10,
  /** A batch of a topic that sent nothing for this time is not delayed. */
  batchPauseMs: 20,
  /** Events of one batch. It also ends before it exceeds `frameBytes`. */
  batchEvents: 256,
} as const;
