import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startNodeTransport } from '@sluice/gateway/transport/node.ts';
import type { HttpAnswer } from '@sluice/gateway/transport/transport.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { startTestGateway } from '../support/gateway.ts';
import { waitsForNativeLimits } from '../support/transports.ts';

const post = 'POST /quote HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n';

/** What each client sends, one piece at each third of the limit. */
const clients: Readonly<Record<string, readonly string[]>> = {
  'says nothing': [],
  'stops in the head': ['GET /livez HTTP/1.1\r\nHo'],
  'sends its head slowly': 'GET /livez HTTP/1.1\r\nHost: localhost'.split(''),
  'stops in the body': [`${post}{"side"`],
  'sends its body slowly': [post, ...'{"side":"buy"'.split('')],
  'stays after its answer': ['GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'],
};

/** How long the server leaves the connection open; null: too long. */
function heldMs(port: number, pieces: readonly string[], limitMs: number): Promise<number | null> {
  return new Promise((resolve) => {
    const startedMs = performance.now();
    const socket = connect(port, '127.0.0.1');
    let sent = 0;
    const send = (): void => {
      const piece = pieces[sent++];
      if (piece !== undefined && socket.writable) socket.write(piece);
    };
    const dribble = setInterval(send, limitMs / 3);
    // node:http adds a second to the time between two requests. A client that sends slowly would not have finished by then.
    const deadline = setTimeout(() => end(null), limitMs * 2 + 2_000);
    // A client that dribbles would still send.
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

async function expectAllEnded(port: number, limitMs: number): Promise<void> {
  const held = await Promise.all(
    Object.entries(clients).map(async ([what, pieces]) => [what, await heldMs(port, pieces, limitMs)] as const),
  );
  expect(held.filter(([, ms]) => ms === null)).toEqual([]);
  // A client that only pauses for a moment is not cut off.
  for (const [, ms] of held) expect(ms).toBeGreaterThan(limitMs * 0.4);
}

describe('slow clients', () => {
  it('of the transport on node:http are disconnected', async () => {
    const slowClientMs = 480;
    const answer: HttpAnswer = { status: 200, lines: '', headers: {}, body: 'here' };
    const transport = await startNodeTransport(
      {
        host: '127.0.0.1',
        port: 0,
        tls: null,
        streamPaths: [],
        sharePort: false,
        slowClientMs,
        log: createLog({ level: 'silent', name: 'test' }),
      },
      { http: () => answer, malformed: () => answer, full: () => answer, fault: () => answer, upgrade: () => ({ refused: answer }) },
    );
    try {
      await expectAllEnded(transport.port, slowClientMs);
    } finally {
      await transport.close();
    }
  });

  describe.runIf(waitsForNativeLimits).concurrent.each(['uws', 'node'] as const)('of a gateway on %s', (transport) => {
    it('are disconnected within some twelve seconds', async () => {
      const server = await startTestGateway({ transport });
      try {
        await expectAllEnded(server.gateway.port, 12_000);
      } finally {
        await server.close();
      }
    });
  });
});
