/** What one stream connection may ask for. The numbers stand in PROTOCOL.md, made from here. */
export const streamLimits = {
  /** Time for the first message to authenticate where the handshake did not. */
  authTimeoutMs: 5_000,
  /** Bytes of one message from a client; more closes with 4513. */
  messageBytes: 512 * 1024,
  /** Keys (mints and accounts together count each) of one list in one command. */
  keysPerCommand: 5_000,
  /** Topics that one connection follows, both dialects together. */
  subscriptionsPerConnection: 20_000,
  /** Topics of one command that asks for a snapshot. */
  snapshotTopics: 1_000,
  /** Commands in one burst; as many come back each second. */
  commandBurst: 200,
  /** Commands refused for their rate, without a pause, after which the connection is closed with 4029. */
  rateRefusals: 5_000,
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
