import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { goodKey, startTestGateway } from '../support/gateway.ts';
import { RawConnection, requestBytes } from '../support/clients/raw-http.ts';
import { waitsForNativeLimits } from '../support/transports.ts';

/** Every character that a header name may have (RFC 9110, section 5.6.2), with the first and last letters and digits. */
const rare = "!#$%&'*+.^_`|~".split('');
const usual = '-09azAZ'.split('');
/** The binary for Node.js 20 (ABI 115) waits for the rest of a request whose header name has one of these. */
const isOldParser = process.versions.modules === '115';
/** The native server's own time limit for half a request: ten seconds, checked every four. */
const nativeGiveUpMs = 14_500;
/** Connections that hang at one time. */
const many = 1_000;

const askWith = (character: string): Buffer =>
  requestBytes({ method: 'GET', target: '/livez', headers: { [`x${character}y`]: '1', Authorization: `Bearer ${goodKey}` } });

describe.each(['uws', 'node'] as const)('header names over %s', (transport) => {
  const hangs = transport === 'uws' && isOldParser;

  it('answers every legal name, and no answer names the server', async () => {
    const server = await startTestGateway({ transport });
    for (const character of hangs ? usual : [...usual, ...rare]) {
      const connection = await RawConnection.open(server.gateway.port);
      const answer = await connection.exchange(askWith(character), 'GET');
      expect(answer?.status, character).toBe(200);
      expect([...(answer?.headers.keys() ?? [])].filter((name) => /^(uwebsockets|server|x-powered-by)$/.test(name))).toEqual([]);
      connection.close();
    }
    await server.close();
  });

  it.runIf(hangs)(`lets ${many} requests with rare names slow no others down`, async () => {
    const server = await startTestGateway({ transport });
    const url = `http://${server.host}`;
    const headers = { Authorization: `Bearer ${goodKey}` };
    const remaining = async (): Promise<number> => Number((await fetch(`${url}/usage`, { headers })).headers.get('x-ratelimit-remaining'));
    const atFirst = await remaining();
    const beforeMb = process.memoryUsage.rss() / 2 ** 20;
    const connections = await Promise.all(Array.from({ length: many }, () => RawConnection.open(server.gateway.port)));
    const startedMs = performance.now();
    const answers = connections.map((connection, index) => connection.exchange(askWith(rare[index % rare.length]!), 'GET'));
    await delay(100);
    const askedMs = performance.now();
    // Only this request counts.
    expect(await remaining()).toBeGreaterThanOrEqual(atFirst - 1);
    expect(performance.now() - askedMs).toBeLessThan(5_000);
    // Both ends are in this process.
    expect(process.memoryUsage.rss() / 2 ** 20 - beforeMb).toBeLessThan(64);
    if (!waitsForNativeLimits) for (const connection of connections) connection.close();
    // The server ends them, if nobody else does.
    expect(await Promise.all(answers)).toEqual(connections.map(() => null));
    expect(performance.now() - startedMs).toBeLessThan(nativeGiveUpMs);
    await server.close();
  });
});
