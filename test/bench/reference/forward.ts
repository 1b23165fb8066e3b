import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import type * as Uws from 'uWebSockets.js';

/**
 * The smallest gateway there is: whatever Redis announces goes to everybody. No key, no topic, no position, no history, no
 * format, no limit for the slow. What it costs is the floor that the fan-out is measured against.
 */
const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
const [redisUrl = ''] = process.argv.slice(2);
const app = uws.App().ws('/*', { maxBackpressure: 64 * 1024 * 1024, idleTimeout: 0, open: (socket) => void socket.subscribe('events') });
const redis = new Redis(redisUrl);
redis.on('messageBuffer', (_channel: Buffer, message: Buffer) => app.publish('events', message));
await redis.subscribe('bench-events');
app.listen('127.0.0.1', 0, (token) => {
  if (token === false) throw new Error('cannot listen');
  process.stdout.write(`listening http://127.0.0.1:${uws.us_socket_local_port(token)}\n`);
});
