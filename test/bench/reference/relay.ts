import { Redis } from 'ioredis';
import { WebSocket } from 'ws';

/**
 * The smallest possible ingest: passes each notification on, with the time of its arrival, to the smallest gateway (`forward.ts`). It decodes
 * nothing, and asks no node. Our way from a node to a subscriber is compared with it.
 */
const [nodeUrl = '', redisUrl = ''] = process.argv.slice(2);
const redis = new Redis(redisUrl);
const socket = new WebSocket(nodeUrl, { perMessageDeflate: false });
/** About the length of a trade. */
const padding = 'x'.repeat(1_300);
socket.on('message', (data: Buffer) => {
  const received = Math.round((performance.timeOrigin + performance.now()) * 1000);
  const [type, topic] = data.includes('Instruction: CreateV2') ? ['newToken', 'newTokens'] : ['trade', 'trades'];
  void redis.publish(`bench:${topic}`, `{"type":"${type}","received":${received},"padding":"${padding}"}`);
});
socket.on('open', () => process.stdout.write('http://127.0.0.1:0\n'));
