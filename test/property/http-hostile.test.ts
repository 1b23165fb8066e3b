import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paperKeystore } from '@sluice/trading/signer/custody/passphrase.ts';
import { ownerOf } from '@sluice/gateway/store/order-model/order.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultPlans, type Plan } from '@sluice/shared/config/plans.ts';
import { errorTable } from '@sluice/shared/wire/errors.ts';
import { ErrorAnswer } from '@sluice/shared/wire/rest/answers.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { createRandom } from '../simnet/market/random.ts';
import { openEmbeddedStore } from '../support/keys.ts';
import { startMarketGateway, type MarketGateway } from '../support/market-gateway.ts';
import { RawConnection, requestBytes, type RawAnswer } from '../support/clients/raw-http.ts';
import { garbage, HostileRequests, type Hostile } from './http/hostile-requests.ts';
import { readOperations, type JsonObject } from './http/operations.ts';
import { fuzzCases, fuzzMs } from '../support/fuzz.ts';

/** The same requests every time; `TEST_SEED=… pnpm test http-hostile` sends others. */
const seed = process.env['TEST_SEED'] ?? 'hostile';
const connections = 48;
/** A request that has no answer by then hangs. The server drops half a request after some ten seconds. */
const answerWithinMs = 8_000;
const lookEveryMs = 500;
const garbageWithinMs = 16_000;
/** The first faults are printed; any others are only counted. */
const maxPrinted = 8;

const unhurried = (plan: Plan): Plan => ({ ...plan, requestsPerMinute: 600_000, burst: 100_000 });
const keys = {
  sluice_all: { plan: unhurried(defaultPlans.enterprise), scopes: ['stream', 'read', 'trade'] },
  sluice_read: { plan: unhurried(defaultPlans.premium), scopes: ['read'] },
  sluice_none: { plan: unhurried(defaultPlans.standard), scopes: [] },
  // A twentieth of the requests is several times this burst.
  sluice_slow: { plan: { ...defaultPlans.standard, burst: 8 }, scopes: ['read'] },
} as const;
const good = new Set(Object.keys(keys));
const badKeys = ['sluice_nobody', `sluice_${'a'.repeat(10)}_${'b'.repeat(40)}`, 'x', 'sluice_all x'];
/** Most requests should get as far as a handler. */
const sentKeys = [
  ...Array.from({ length: 12 }, () => 'sluice_all'),
  ...Array.from({ length: 4 }, () => 'sluice_read'),
  ...good,
  ...badKeys,
];

const checkError = validator(ErrorAnswer);

interface Tally {
  readonly statuses: Map<number, number>;
  readonly faults: string[];
  faultCount: number;
}

/** Undefined if it is not JSON. */
function parsed(answer: RawAnswer): unknown {
  try {
    return answer.json();
  } catch {
    return undefined;
  }
}

describe.each([
  ['uws', fuzzCases(50_000), fuzzCases(2_500)],
  ['node', fuzzCases(8_000), fuzzCases(400)],
] as const)(`random and hostile requests over %s, seed ${seed}`, (transport, requests, pieces) => {
  let market: MarketGateway;
  let store: Store;
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-hostile-'));
  let document: JsonObject;
  const tally: Tally = { statuses: new Map(), faults: [], faultCount: 0 };
  const random = createRandom(`${seed} ${transport}`);

  beforeAll(async () => {
    store = await openEmbeddedStore(dataDir);
    // On paper: nothing that they order is sent.
    const config = { corsOrigins: ['https://app.example.com'], trading: 'paper' as const };
    market = await startMarketGateway({ seed: 9, slots: 150, transport, config, store });
    const { publicKey, mint } = market.holder();
    await store.wallets.insertKeystore(paperKeystore, { salt: new Uint8Array(0), proof: new Uint8Array(0) }, Date.now());
    const onPaper = { publicKey, accountId: null, label: null, imported: false, sealedSeed: new Uint8Array(0), createdAtMs: Date.now() };
    await store.wallets.insert(paperKeystore, onPaper);
    for (const [key, principal] of Object.entries(keys)) market.server.keys.add(key, principal);
    document = (await (await fetch(`http://${market.server.host}/api/openapi.json`)).json()) as JsonObject;
    // If this order is refused, no random one can be placed.
    const ordered = await fetch(`http://${market.server.host}/trade/buy`, {
      method: 'POST',
      headers: { Authorization: 'Bearer sluice_all', 'Content-Type': 'application/json' },
      body: JSON.stringify({ publicKey, mint, amount: 0.01 }),
    });
    expect(ordered.status, await ordered.text()).toBe(200);
  }, 120_000);
  afterAll(async () => {
    // The setup may have failed.
    await market?.close();
    await store?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const fault = (what: string, about: string): void => {
    tally.faultCount++;
    if (tally.faults.length < maxPrinted) tally.faults.push(`${what}: ${about.slice(0, 600)}`);
  };

  function generator(): HostileRequests {
    const operations = readOperations(document);
    expect(operations.length).toBeGreaterThan(10);
    const held = market.holder();
    const addresses = [
      ...Array.from({ length: 20 }, () => [held.mint, held.publicKey]).flat(),
      ...market.mints.slice(0, 40),
      ...market.wallets.slice(0, 20),
      ...Object.keys(keys),
    ];
    return new HostileRequests(document, operations, { addresses, keys: sentKeys }, random);
  }

  function judge({ request, key }: Hostile, answer: RawAnswer): void {
    const { status, headers } = answer;
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    const about = (): string => `${JSON.stringify(request)} → ${status} ${answer.body.toString().slice(0, 300)}`;
    // The chain of these tests is frozen, and `/readyz` reports that.
    const isUnready = status === 503 && request.target.startsWith('/readyz');
    if (status >= 500 && !isUnready) fault('a 5xx', about());
    // Written by the native server itself, before any of our code runs.
    if (status === 431) return;
    if (!headers.has('x-request-id') || !headers.has('x-api-version')) fault('common headers are missing', about());
    // Our own pages have no keys.
    const isPage = /^\/($|\?|dashboard)/.test(request.target);
    if (headers.has('ratelimit') !== (!isPage && key !== null && good.has(key))) fault('limits are reported wrongly', about());
    if (status < 400 || request.method === 'HEAD') return;
    // Browsers get a page.
    if (status === 404 && headers.get('content-type')?.startsWith('text/html') === true) return;
    const body = parsed(answer);
    const checked = checkError(body);
    if (!checked.ok) fault('an error of another form', about());
    else if (errorTable[checked.value.error.code].status !== status) fault('an error with a status of another', about());
  }

  it(`answers ${requests} of them, none with a 5xx`, { timeout: fuzzMs(150_000) }, async () => {
    const hostile = generator();
    const due = new Map<RawConnection, { looks: number; readonly about: string }>();
    // Looks are counted, because this process, which is the server too, may pause.
    const watchdog = setInterval(() => {
      for (const [connection, one] of due) {
        if (++one.looks < answerWithinMs / lookEveryMs) continue;
        fault('no answer in time', one.about);
        connection.close();
      }
    }, lookEveryMs);
    let left: number = requests;
    const client = async (): Promise<void> => {
      let connection = await RawConnection.open(market.server.gateway.port);
      let before = 'nothing';
      while (left-- > 0) {
        if (connection.closed) connection = await RawConnection.open(market.server.gateway.port);
        const one = hostile.next();
        due.set(connection, { looks: 0, about: JSON.stringify(one.request) });
        const answer = await connection.ask(one.request);
        due.delete(connection);
        if (answer === null) fault('closed without an answer', `${JSON.stringify(one.request)} after ${before}`);
        else judge(one, answer);
        before = `${JSON.stringify(one.request).slice(0, 300)}: ${answer?.status}, ${answer?.headers.get('connection') ?? 'keep-alive'}`;
        if (answer?.headers.get('connection') === 'close') connection.close();
      }
      connection.close();
    };
    try {
      await Promise.all(Array.from({ length: connections }, client));
    } finally {
      clearInterval(watchdog);
    }
    expect(tally.faults).toEqual([]);
    expect(tally.faultCount).toBe(0);
    // Not all of them were refused by the first check.
    for (const status of [200, 204, 400, 401, 403, 404, 405, 413, 415, 429])
      expect(tally.statuses.get(status) ?? 0, String(status)).toBeGreaterThan(0);
    expect(tally.statuses.get(200)!).toBeGreaterThan(requests * 0.1);
    // Few of the random requests are orders that can be placed, so fewer requests may have none.
    if (requests < 50_000) return;
    const owner = ownerOf({ keyId: 'sluice_all', accountId: null });
    expect(await store.orders.page({ owner, before: null, state: null, limit: 2 })).toHaveLength(2);
  });

  it(`survives ${pieces} pieces of garbage`, { timeout: fuzzMs(150_000) }, async () => {
    const hostile = generator();
    const send = (bytes: Buffer): Promise<string | null> =>
      new Promise((resolve) => {
        let text = '';
        const socket = connect(market.server.gateway.port, '127.0.0.1');
        const timer = setTimeout(() => {
          socket.destroy();
          resolve(null);
        }, garbageWithinMs);
        socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
        socket.on('error', () => socket.destroy());
        socket.on('close', () => {
          clearTimeout(timer);
          resolve(text);
        });
        socket.on('connect', () => socket.end(bytes));
      });
    let left: number = pieces;
    const client = async (): Promise<void> => {
      while (left-- > 0) {
        const bytes = garbage(random, requestBytes(hostile.next().request));
        const text = await send(bytes);
        if (text === null) fault('a connection that hangs', JSON.stringify(bytes.toString('latin1')));
        for (const [, status] of (text ?? '').matchAll(/(?:^|\n|\})HTTP\/1\.1 (\d{3})/g)) {
          // 505 is the native server's own answer to a line that is not a request.
          const isUnready = status === '503' && bytes.includes('/readyz');
          if (Number(status) >= 500 && status !== '505' && !isUnready) fault(`a ${status}`, JSON.stringify(bytes.toString('latin1')));
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    expect(tally.faults).toEqual([]);
  });

  it('works as before, after all that', async () => {
    for (const path of ['/livez', '/readyz?exclude=ingest', `/token/info/${market.mints[0]}`]) {
      const answer = await fetch(`http://${market.server.host}${path}`, { headers: { Authorization: 'Bearer sluice_all' } });
      expect(answer.status).toBe(200);
    }
  });
});
