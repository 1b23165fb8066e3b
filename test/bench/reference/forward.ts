import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import type * as Uws from 'uWebSockets.js';

/**
 * The smallest possible gateway: what Redis announces on a topic's channel goes to all clients that follow the topic. No key, no position,
 * no history, no format, no heartbeat, no limit for slow clients. Our gateway is compared with its cost.
 */
const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
const prefix = 'bench:';
const [redisUrl = ''] = process.argv.slice(2);
const app = uws.App().ws('/*', {
  maxBackpressure: 64 * 1024 * 1024,
  maxPayloadLength: 1024 * 1024,
  idleTimeout: 0,
  message: (socket, message) => {
    const { channel, mints } = JSON.parse(Buffer.from(message).toString()) as {
      readonly channel: string;
      readonly mints?: readonly string[];
    };
    for (const topic of mints?.map((mint) => `${channel}:${mint}`) ?? [channel]) socket.subscribe(topic);
    socket.send('{"op":"subscribed"}');
  },
});
const redis = new Redis(redisUrl);
redis.on('pmessageBuffer', (_pattern: string, channel: Buffer, message: Buffer) => {
  app.publish(channel.toString('latin1', prefix.length), message);
});
await redis.psubscribe(`${prefix}*`);
app.listen('127.0.0.1', 0, (token) => {
  if (token === false) throw new Error('cannot listen');
  process.stdout.write(`listening http://127.0.0.1:${uws.us_socket_local_port(token)}\n`);
});
