import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientAddressOf } from '@sluice/gateway/http/callers/client-address.ts';
import { inProcessLimiter } from '@sluice/gateway/ratelimit/local-limits.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { askOnce, RawConnection, type RawAnswer } from '../support/clients/raw-http.ts';
import { transports } from '../support/transports.ts';

const key = 'sluice_hurried';
const perMinute = 120;
const burst = 4;

describe.each(transports)('a key with a small plan over %s', (transport) => {
  let server: TestGateway;
  let nowUs = 0;
  beforeAll(async () => {
    server = await startTestGateway({ transport, limiter: inProcessLimiter({ nowUs: () => nowUs }) });
  });
  afterAll(() => server.close());
  const addKey = (keyId: string): void => {
    server.keys.add(keyId, { scopes: ['read'], plan: { ...defaultPlans.standard, requestsPerMinute: perMinute, burst } });
  };
  const usage = async (connection: RawConnection, of: string): Promise<RawAnswer> => {
    const answer = await connection.ask({ method: 'GET', target: '/usage', headers: { Authorization: `Bearer ${of}` } });
    if (answer === null) throw new Error('no answer');
    return answer;
  };

  it('never gets a second 429 if it waits as long as the first one says', async () => {
    addKey(key);
    const connection = await RawConnection.open(server.gateway.port);
    let refusals = 0;
    let before = 200;
    for (let asked = 0; refusals < 3 && asked < 100; asked++) {
      const answer = await usage(connection, key);
      if (answer.status === 429) {
        refusals++;
        expect(before, 'two refusals in a row').toBe(200);
        const seconds = answer.headers.get('retry-after');
        expect(seconds).toMatch(/^[1-9]\d*$/);
        expect(answer.json()).toMatchObject({ error: { code: 'RATE_LIMIT', retryable: true } });
        nowUs += Number(seconds) * 1_000_000;
      } else expect(answer.status).toBe(200);
      before = answer.status;
    }
    expect(refusals).toBe(3);
    connection.close();
  });

  it('gets its burst, then its rate, over any number of connections', async () => {
    const many = 'sluice_many';
    addKey(many);
    const seconds = 1.2;
    const endUs = nowUs + seconds * 1_000_000;
    const connections = await Promise.all(Array.from({ length: 10 }, () => RawConnection.open(server.gateway.port)));
    const statuses: number[] = [];
    await Promise.all(
      connections.map(async (connection) => {
        for (; nowUs < endUs; nowUs += 4_000) statuses.push((await usage(connection, many)).status);
        connection.close();
      }),
    );
    const admitted = statuses.filter((status) => status === 200).length;
    expect(admitted).toBeLessThanOrEqual(burst + (perMinute / 60) * seconds);
    expect(admitted).toBeGreaterThanOrEqual(burst + 1);
    expect(statuses.length).toBeGreaterThan(admitted);
  });

  it('reads in each answer what is left, one less each time', async () => {
    const counted = 'sluice_counted';
    addKey(counted);
    const left: number[] = [];
    for (let i = 0; i < burst; i++) {
      const answer = await askOnce(server.gateway.port, {
        method: 'GET',
        target: '/usage',
        headers: { Authorization: `Bearer ${counted}` },
      });
      left.push(Number(answer?.headers.get('x-ratelimit-remaining')));
    }
    expect(left).toEqual([3, 2, 1, 0]);
  });
});

describe('the identity of a client', () => {
  const of = (remote: string, forwarded: string | undefined, ...trusted: string[]): string =>
    clientAddressOf(trusted)(remote, () => forwarded);

  it.each<[string, string | undefined, string[], string]>([
    // No proxy is trusted, because anyone can write the forwarded header.
    ['203.0.113.5', '1.2.3.4', [], '203.0.113.5'],
    ['203.0.113.5', '1.2.3.4', ['10.0.0.0/8'], '203.0.113.5'],
    ['10.0.0.1', '1.2.3.4', ['10.0.0.0/8'], '1.2.3.4'],
    ['10.0.0.1', undefined, ['10.0.0.0/8'], '10.0.0.1'],
    ['10.0.0.1', '', ['10.0.0.0/8'], '10.0.0.1'],
    // What a client wrote is to the left of what the proxy added.
    ['10.0.0.1', '6.6.6.6, 1.2.3.4', ['10.0.0.0/8'], '1.2.3.4'],
    ['10.0.0.1', '6.6.6.6, 1.2.3.4, 10.9.9.9', ['10.0.0.0/8'], '1.2.3.4'],
    ['10.0.0.1', '10.1.1.1, 10.2.2.2', ['10.0.0.0/8'], '10.1.1.1'],
    ['10.0.0.1', '6.6.6.6, unknown', ['10.0.0.0/8'], '10.0.0.1'],
    ['10.0.0.1', '6.6.6.6, _hidden, 10.2.2.2', ['10.0.0.0/8'], '10.2.2.2'],
    // Forms of addresses.
    ['::ffff:10.0.0.1', '1.2.3.4:5678', ['10.0.0.1'], '1.2.3.4'],
    ['0000:0000:0000:0000:0000:ffff:0a00:0001', '[2001:db8::7]:443', ['10.0.0.1'], '2001:db8::7'],
    ['::1', '2001:db8::7', ['::1'], '2001:db8::7'],
    ['fd00::1', '::ffff:1.2.3.4', ['fd00::/8'], '1.2.3.4'],
    ['10.0.0.1', `${'6.6.6.6, '.repeat(5_000)}10.0.0.2`, ['10.0.0.0/8'], '6.6.6.6'],
  ])('%s, forwarded for %s, proxies %j: %s', (remote, forwarded, trusted, client) => {
    expect(of(remote, forwarded, ...trusted)).toBe(client);
  });
});
