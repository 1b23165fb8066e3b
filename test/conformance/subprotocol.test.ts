import { request, type IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '@sluice/gateway/auth/key-format.ts';
import { startTestGateway, until, type TestGateway } from '../support/gateway.ts';

/** A key as it is made, because the gateway recognises its form. */
const { key } = newApiKey('subprotoco');
const example = 'A'.repeat(43);

describe.each(['uws', 'node'] as const)('subprotocols, over %s', (transport) => {
  let server: TestGateway;
  beforeAll(async () => {
    server = await startTestGateway({ transport });
    server.keys.add(key);
  });
  afterAll(() => server.close());

  const ticket = async (): Promise<string> => {
    const answer = await fetch(`http://${server.host}/api/ws-ticket`, { method: 'POST', headers: { Authorization: `Bearer ${key}` } });
    return ((await answer.json()) as { ticket: string }).ticket;
  };

  /** Status, subprotocol and whole text of the answer to a handshake. */
  function offer(subprotocols: string, query = '', headers: Record<string, string> = {}): Promise<[number, string | undefined, string]> {
    const [host, port] = server.host.split(':');
    return new Promise((resolve, reject) => {
      const upgrade = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': `${'A'.repeat(22)}==`,
      };
      const asked = request({
        host,
        port,
        path: `/api/data${query}`,
        headers: { ...upgrade, 'Sec-WebSocket-Protocol': subprotocols, ...headers },
      });
      const answered = ({ statusCode, headers: received, rawHeaders }: IncomingMessage, body: string): void =>
        resolve([statusCode ?? 0, received['sec-websocket-protocol'], `${rawHeaders.join(' ')} ${body}`]);
      asked.on('error', reject);
      asked.on('upgrade', (answer, socket) => {
        socket.destroy();
        answered(answer, '');
      });
      asked.on('response', (answer) => {
        let body = '';
        answer.setEncoding('utf8').on('data', (piece: string) => (body += piece));
        answer.on('end', () => answered(answer, body));
      });
      asked.end();
    });
  }

  it('a browser sends its key or ticket as one, and reads `sluice`', async () => {
    for (const credential of [key, await ticket()]) {
      const socket = new WebSocket(`ws://${server.host}/api/data`, ['sluice', credential]);
      const replies: unknown[] = [];
      socket.on('message', (data: Buffer) => replies.push(JSON.parse(data.toString())));
      socket.on('open', () => socket.send(JSON.stringify({ id: 1, op: 'subscribe', channel: 'newTokens' })));
      await until('the reply', () => replies.length > 0);
      expect([socket.protocol, replies[0]]).toMatchObject(['sluice', { id: 1, op: 'subscribed' }]);
      socket.terminate();
    }
  });

  it.each([
    ['nothing that it speaks', 'first, second', 101, undefined],
    ['a key without `sluice`', key, 401, undefined],
    ['a key before `sluice`', `${key}, sluice`, 101, 'sluice'],
    ['a key among others', `first, ${key}`, 401, undefined],
    ['only `sluice`', 'sluice', 101, 'sluice'],
    ['a wrong key', `sluice, ${newApiKey('subprotoco').key}`, 401, undefined],
    ['a ticket that was never issued', `sluice, ${example}`, 401, undefined],
    ['two keys', `sluice, ${key}, ${key}x`, 401, undefined],
  ])('%s: the answer never repeats what was offered', async (_what, offered, status, subprotocol) => {
    const [answered, echoed, text] = await offer(offered);
    expect([answered, echoed]).toEqual([status, subprotocol]);
    for (const name of offered.split(', ')) if (name !== 'sluice') expect(text).not.toContain(name);
  });

  it('a key or ticket is sent in one way only', async () => {
    const statusOf = async (query: string, headers?: Record<string, string>): Promise<number> =>
      (await offer(`sluice, ${key}`, query, headers))[0];
    expect(await statusOf(`?api-key=${key}`)).toBe(401);
    expect(await statusOf('', { Authorization: `Bearer ${key}` })).toBe(401);
    expect(await statusOf(`?ticket=${await ticket()}`)).toBe(401);
    expect((await offer('sluice', `?api-key=${key}`))[0]).toBe(101);
  });
});
