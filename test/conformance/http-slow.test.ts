import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';

/** Both transports give up on a client that does not get on within some twelve seconds. */
const withinMs = 17_000;
const dribbleEveryMs = 4_000;
const post = 'POST /quote HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n';

/** What each client sends, a piece every four seconds. */
const clients: Readonly<Record<string, readonly string[]>> = {
  'says nothing': [],
  'stops in the head': ['GET /livez HTTP/1.1\r\nHo'],
  'dribbles its head': 'GET /livez HTTP/1.1\r\nHost: a'.split(''),
  'stops in the body': [`${post}{"side"`],
  'dribbles its body': [post, ...'{"side":"buy"'.split('')],
  'stays after its answer': ['GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'],
};

/** How long the server keeps the connection; null: too long. */
function keptMs(port: number, pieces: readonly string[]): Promise<number | null> {
  return new Promise((resolve) => {
    const startedMs = performance.now();
    const socket = connect(port, '127.0.0.1');
    let sent = 0;
    const send = (): void => {
      const piece = pieces[sent++];
      if (piece !== undefined && socket.writable) socket.write(piece);
    };
    const dribble = setInterval(send, dribbleEveryMs);
    const deadline = setTimeout(() => end(null), withinMs);
    const end = (kept: number | null): void => {
      clearInterval(dribble);
      clearTimeout(deadline);
      socket.destroy();
      resolve(kept);
    };
    socket.on('connect', send);
    socket.resume();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => end(performance.now() - startedMs));
  });
}

describe.concurrent.each(['uws', 'node'] as const)('slow clients of %s', (transport) => {
  it('are disconnected', { timeout: 30_000 }, async () => {
    const server = await startTestGateway({ transport });
    try {
      const kept = await Promise.all(
        Object.entries(clients).map(async ([what, pieces]) => [what, await keptMs(server.gateway.port, pieces)] as const),
      );
      expect(kept.filter(([, ms]) => ms === null)).toEqual([]);
      // Nobody is cut off who only thinks for a moment.
      for (const [, ms] of kept) expect(ms).toBeGreaterThan(5_000);
    } finally {
      await server.close();
    }
  });
});
