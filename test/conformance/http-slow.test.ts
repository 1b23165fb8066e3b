import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';

/** Both transports drop a client that makes no progress within some twelve seconds. */
const withinMs = 17_000;
const dribbleEveryMs = 4_000;
const post = 'POST /quote HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n';

/** What each client sends, one piece every four seconds. */
const clients: Readonly<Record<string, readonly string[]>> = {
  'says nothing': [],
  'stops in the head': ['GET /livez HTTP/1.1\r\nHo'],
  'sends its head slowly': 'GET /livez HTTP/1.1\r\nHost: a'.split(''),
  'stops in the body': [`${post}{"side"`],
  'sends its body slowly': [post, ...'{"side":"buy"'.split('')],
  'stays after its answer': ['GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'],
};

/** How long the server leaves the connection open; null: too long. */
function heldMs(port: number, pieces: readonly string[]): Promise<number | null> {
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
    const end = (held: number | null): void => {
      clearInterval(dribble);
      clearTimeout(deadline);
      socket.destroy();
      resolve(held);
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
      const held = await Promise.all(
        Object.entries(clients).map(async ([what, pieces]) => [what, await heldMs(server.gateway.port, pieces)] as const),
      );
      expect(held.filter(([, ms]) => ms === null)).toEqual([]);
      // A client that only pauses for a moment is not cut off.
      for (const [, ms] of held) expect(ms).toBeGreaterThan(5_000);
    } finally {
      await server.close();
    }
  });
});
