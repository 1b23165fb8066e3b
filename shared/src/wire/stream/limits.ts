/**
 * Limits of one stream connection, the same in every plan, each with its meaning. The limits of plans are in `shared/src/config/plans.ts`. Work is the
 * bytes of commands and replies, and what the entries below add.
 */
export const streamLimitTable = {
  authTimeoutMs: [5_000, 'Time for the first message to authenticate, if the handshake did not.'],
  messageBytes: [512 * 1024, 'Bytes of one message from a client. A larger one closes the connection with 4513.'],
  frameBytes: [32 * 1024, 'Bytes of one message of the gateway, unless it is one larger event: what clients in Go read by default.'],
  cutMessageBytes: [2 * 1024 * 1024, 'Bytes of one message above which the connection is cut, without a reply or a close frame (1006).'],
  keysPerCommand: [5_000, 'Keys in one list of one command.'],
  sinceTopics: [10_000, 'Topics in the map `since` of one command.'],
  lastFrames: [10_000, 'Frames of the past of each topic that one command can request with `last`.'],
  listTopics: [500, 'Topics on one page of `list`; fewer if they have long filters and would exceed `frameBytes`.'],
  subscriptionsPerConnection: [20_000, 'Topics of one connection, both protocols together.'],
  snapshotTopics: [1_000, 'Topics of one command with `snapshot`.'],
  snapshotEvents: [2_048, 'Retained events that one command with `snapshot` searches, in all its topics.'],
  workBurst: [8 * 1024 * 1024, 'Burst of work of a connection: bytes of its commands and of their replies, and `commandWork` for each.'],
  workPerSecond: [256 * 1024, 'Work of a connection per second, after the burst.'],
  keyWorkBurst: [32 * 1024 * 1024, 'Burst of work of all connections of one key together.'],
  keyWorkPerSecond: [2 * 1024 * 1024, 'Work of all connections of one key per second, after the burst.'],
  unauthenticatedWork: [32 * 1024, 'Work of a connection that has not authenticated yet.'],
  unauthenticatedCommands: [20, 'Commands of such a connection: burst, and per second after it. With a key, the plan sets the limit.'],
  dialectCommands: [100, 'Commands of a PumpPortal client per second, if its plan has a lower rate. Faster ones wait.'],
  delayedBytes: [32 * 1024 * 1024, 'Bytes of the commands that wait, of all keys, and as much again of all addresses without a key.'],
  delayedKeyBytes: [8 * 1024 * 1024, 'The same of one key, at most as much as is still free. One more message closes with 4029.'],
  delayedAddressBytes: [4 * 1024 * 1024, 'The same of one address without a key.'],
  commandWork: [1024, 'Work of every command, in addition to its bytes.'],
  sinceWork: [200, 'Work of every topic in a map `since`, in addition to its bytes, and of every topic of a command with `last`.'],
  refusedIdBytes: [1024, 'Bytes. If a command that is refused for its rate is longer, its `id` is found only as its first field.'],
  rateRefusals: [5_000, 'Commands in a row, refused for their rate, after which the connection is closed with 4029.'],
  filtersPerKeyAndTopic: [100, 'Different filters of one key on one topic of one gateway; a filter counts for the key that used it first.'],
  unauthenticatedConnections: [5_000, 'Connections of one gateway that have not authenticated yet.'],
  keylessConnections: [200, 'Connections without a key (`PUMPPORTAL_KEYLESS`) of one address on one gateway. Others get 429.'],
  keylessMints: [5_000, 'Mints of all such connections of one address together.'],
  keylessAccounts: [1_000, 'Accounts of all such connections of one address together.'],
  filterValues: [100, 'Addresses or venues in one list of a filter.'],
  heartbeatTopics: [100, 'Up to this number of topics, a heartbeat has all positions. With more topics, it has those that changed.'],
  heartbeatMs: [1_000, 'Time between heartbeats.'],
  pingAfterMs: [20_000, 'A client that sent nothing for this time gets a WebSocket ping.'],
  silentMs: [45_000, 'A client that sent nothing for this time, not even a pong, is closed with 4009.'],
  softBufferBytes: [2 * 1024 * 1024, 'If more bytes wait in the gateway for one client, it is closed with 4008.'],
  batchMs: [10, 'With `?batch=1`, a batch is sent after this time (timers may be 1 ms late), or at one of the next two limits.'],
  batchPauseMs: [20, 'A batch of a topic that sent nothing for this time is not delayed.'],
  batchEvents: [256, 'Events of one batch. It also ends before it exceeds `frameBytes`.'],
} as const;

type StreamLimit = keyof typeof streamLimitTable;

export const streamLimits = Object.fromEntries(Object.entries(streamLimitTable).map(([name, [value]]) => [name, value])) as {
  readonly [Name in StreamLimit]: (typeof streamLimitTable)[Name][0];
};
