import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paperKeystore } from '@sluice/trading/signer/custody/passphrase.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultPlans, type Plan } from '@sluice/shared/config/plans.ts';
import { errorTable, type ErrorCode } from '@sluice/shared/wire/errors.ts';
import { planNames, scopes, type Scope } from '@sluice/shared/wire/values/plans.ts';
import { ErrorAnswer } from '@sluice/shared/wire/rest/answers.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { startMarketGateway, type MarketGateway } from '../support/market-gateway.ts';
import { signTransaction, wallet } from '../simnet/runtime/wallets.ts';
import { newOrder } from '../support/orders.ts';
import { newTrigger } from '../support/triggers/triggers.ts';
import { RawConnection, type RawAnswer, type RawRequest } from '../support/clients/raw-http.ts';
import { until } from '../support/until.ts';

/**
 * Every endpoint at each of its paths, with every method, without a key and with keys of every plan and set of scopes: the answer must be
 * what the endpoint's spec says. A new endpoint is included automatically.
 */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const scopeSets: readonly (readonly Scope[])[] = Array.from({ length: 2 ** scopes.length }, (_, bits) =>
  scopes.filter((_scope, i) => (bits & (2 ** i)) !== 0),
);

interface Caller {
  readonly what: string;
  /** Null: no key is sent. */
  readonly key: string | null;
  /** Null: the key is not valid. */
  readonly plan: Plan | null;
  readonly scopes: readonly Scope[];
}

/** A plan that lacks every endpoint that can be restricted. */
const withholding: Plan = { ...defaultPlans.premium, withoutEndpoints: endpoints.map(({ id }) => id) };
/** The matrix sends more requests than a Standard key may send in a minute; limits have their own tests. */
const unhurried = (plan: Plan): Plan => ({ ...plan, requestsPerMinute: 600_000, burst: 100_000 });
const callers: readonly Caller[] = [
  { what: 'nobody', key: null, plan: null, scopes: [] },
  { what: 'text that is not a key', key: 'sluice_nothing', plan: null, scopes: [] },
  { what: 'a key that is unknown', key: `sluice_${'a'.repeat(10)}_${'b'.repeat(40)}`, plan: null, scopes: [] },
  ...planNames.flatMap((name) =>
    scopeSets.map((set) => ({
      what: `${name} with ${set.join('+') || 'no scope'}`,
      key: `sluice_${name}_${set.join('_')}`,
      plan: unhurried(defaultPlans[name]),
      scopes: set,
    })),
  ),
  { what: 'a plan that withholds it', key: 'sluice_withheld', plan: unhurried(withholding), scopes },
];

/** Documents are limited by address, so each caller has its own address there. */
const documents: readonly string[] = ['openApi', 'asyncApi', 'docs', 'docsPage', 'docsSearch', 'llms'];
const addressFor = ({ id }: EndpointSpec, caller: number): Record<string, string> =>
  documents.includes(id) ? { 'X-Forwarded-For': `192.0.2.${caller + 1}` } : {};

/** All keys are of one account, which has one order and one trigger. */
const accountId = 'routes';
const order = newOrder(1_800_000_000_000, { accountId });
const trigger = newTrigger(1_800_000_000_000, { accountId, paper: true });

let market: MarketGateway;
let store: Store;
/** A paper wallet of the account, and a coin that this address holds on the chain. `tradeBuy`, before `tradeSell`, buys it on paper. */
let held: { readonly publicKey: string; readonly mint: string };
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-routes-'));
beforeAll(async () => {
  store = await openStore({ dataDir, databaseUrl: null });
  await store.orders.insert(order, { idempotency: null, spend: null, followedBy: 'gateway' });
  const term = await store.triggers.openTerm(true);
  await store.triggers.insert(term, [trigger], { idempotency: null, maxArmed: 1 });
  market = await startMarketGateway({ seed: 5, slots: 120, store, config: { trading: 'paper', trustedProxies: ['127.0.0.1'] } });
  held = market.holder();
  await store.accounts.create({ id: accountId, wallet: null, plan: 'standard', createdAtMs: Date.now() });
  const { publicKey } = held;
  await store.wallets.insertKeystore(paperKeystore, { salt: new Uint8Array(0), proof: new Uint8Array(0) }, Date.now());
  const onPaper = { publicKey, accountId, label: null, imported: false, sealedSeed: new Uint8Array(0), createdAtMs: Date.now() };
  await store.wallets.insert(paperKeystore, onPaper);
  for (const [at, { key, plan, scopes: set }] of callers.entries()) {
    if (key === null || plan === null) continue;
    const keyId = `key${String(at).padStart(7, '0')}`;
    market.server.keys.add(key, { keyId, plan, scopes: set, accountId });
  }
}, 120_000);
afterAll(async () => {
  await market.close();
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const sender = wallet('routes', 'sender');
const signed = Buffer.from(
  signTransaction({ version: 0, recentBlockhash: sender.publicKey, instructions: [], signers: [sender] }),
).toString('base64');

/** A request that an endpoint answers with 200. An endpoint that needs more than its path must be listed here. */
function sample(spec: EndpointSpec): { readonly path: string; readonly body?: string } {
  const [mint = ''] = market.mints;
  const [onChain = ''] = market.wallets;
  // For each key that asks, a wallet of the chain would be compared with it.
  const publicKey = spec.id === 'positions' ? held.publicKey : onChain;
  const values: Readonly<Record<string, string>> = {
    signature: order.signature!,
    mint,
    publicKey,
    id: spec.id.endsWith('Trigger') || spec.id === 'trigger' ? trigger.id : order.id,
    page: 'errors',
  };
  const [buy, sell] = [
    { ...held, amount: 0.01 },
    { ...held, amount: '50%' },
  ];
  const ofPumpPortal = { ...held, action: 'buy', amount: '0.01', denominatedInSol: 'true' };
  const bodies: Readonly<Record<string, unknown>> = {
    quote: { side: 'buy', mint, amount: 0.5 },
    tradeBuy: buy,
    tradeSell: sell,
    tradeBatch: {
      orders: [
        { side: 'buy', ...buy },
        { side: 'sell', ...sell },
      ],
    },
    armTrigger: { ...held, side: 'sell', amount: '10%', when: { metric: 'priceSol', op: '>=', value: 1_000 } },
    paperWallet: {},
    paperBalance: { publicKey: held.publicKey, amount: 10 },
    transactionBuy: buy,
    transactionSell: sell,
    transactionSend: { transaction: signed },
    pumpPortalTrade: ofPumpPortal,
    pumpPortalTradeLocal: ofPumpPortal,
  };
  const query = spec.id === 'tokenSearch' ? '?text=a' : '';
  const path = spec.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? `no-sample-for-${name}`) + query;
  const body = bodies[spec.id];
  return body === undefined ? { path } : { path, body: JSON.stringify(body) };
}

const pathsOf = ({ path, withApiPrefix }: EndpointSpec, filled = path): string[] => (withApiPrefix ? [filled, `/api${filled}`] : [filled]);

/** The methods of all endpoints that share the path. */
const methodsAt = ({ path }: EndpointSpec): string[] => endpoints.filter((other) => other.path === path).map(({ method }) => method);

/** Whether another endpoint of the same path answers this method. */
function isOfOther(spec: EndpointSpec, method: string): boolean {
  const used = method === 'HEAD' ? 'GET' : method;
  return used !== spec.method && methodsAt(spec).includes(used);
}

/** The answer before the handler runs; null: the handler's answer. */
function expected(spec: EndpointSpec, method: string, caller: Caller): { status: number; details?: Record<string, unknown> } | null {
  const used = method === 'HEAD' ? 'GET' : method;
  if (method === 'OPTIONS') return { status: 204 };
  if (used !== spec.method) return { status: 405 };
  if (spec.access === 'open') return null;
  if (caller.plan === null) return { status: 401 };
  if (spec.access !== 'key' && !caller.scopes.includes(spec.access)) return { status: 403, details: { scope: spec.access } };
  const { name, withoutEndpoints } = caller.plan;
  return withoutEndpoints.includes(spec.id) ? { status: 403, details: { plan: name, endpoint: spec.id, plans: [...planNames] } } : null;
}

const rateHeaders = ['ratelimit-policy', 'ratelimit', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

const checkError = validator(ErrorAnswer);
const checkAnswer = new Map(endpoints.map(({ id, answer }) => [id, answer === null ? null : validator(answer)]));

function checkCommon(answer: RawAnswer, method: string, caller: Caller): void {
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f]{24}$/);
  expect(answer.headers.get('x-api-version')).toMatch(/^\d+\.\d+\.\d+$/);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  const limited = rateHeaders.filter((name) => answer.headers.has(name));
  expect(limited).toEqual(caller.plan === null ? [] : rateHeaders);
  if (answer.status < 400 || method === 'HEAD') return;
  const body = answer.json() as { error: { code: keyof typeof errorTable }; requestId: string };
  expect(checkError(body)).toMatchObject({ ok: true });
  expect(errorTable[body.error.code].status).toBe(answer.status);
  expect(body.requestId).toBe(answer.headers.get('x-request-id'));
}

function checkRefusal(answer: RawAnswer, spec: EndpointSpec, method: string, refusal: NonNullable<ReturnType<typeof expected>>): void {
  expect(answer.status).toBe(refusal.status);
  if (refusal.status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  if (refusal.status === 405 || refusal.status === 204) {
    const served = methodsAt(spec).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
    expect(answer.headers.get('allow')?.split(', ').toSorted()).toEqual([...served, 'OPTIONS'].toSorted());
  }
  if (refusal.details !== undefined && method !== 'HEAD') {
    expect((answer.json() as { error: { details: unknown } }).error.details).toEqual(refusal.details);
  }
}

/** Endpoints that cannot answer 200 here: the metadata of simulated coins names no image, the chain does not have the signature, and a server in paper mode sends nothing. */
const lacking: Readonly<Record<string, ErrorCode>> = { tokenImage: 'NOT_FOUND', explain: 'NOT_FOUND', transactionSend: 'TRADING_HALTED' };

function checkSuccess(answer: RawAnswer, spec: EndpointSpec, method: string): void {
  const code = lacking[spec.id];
  if (code !== undefined) {
    expect(spec.errors).toContain(code);
    expect(answer.status).toBe(errorTable[code].status);
    return;
  }
  expect(answer.status, answer.body.toString().slice(0, 500)).toBe(200);
  const type = answer.headers.get('content-type');
  if (spec.contentType === 'text/*') expect(type).toMatch(/^text\//);
  else expect(type).toBe(spec.contentType ?? 'application/json; charset=utf-8');
  expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(0);
  if (method === 'HEAD') expect(answer.body.length).toBe(0);
  else expect(checkAnswer.get(spec.id)?.(answer.json()) ?? { ok: true }).toMatchObject({ ok: true });
}

describe('every endpoint', () => {
  it('is served, and nothing else is', () => {
    const ids = (specs: readonly EndpointSpec[]): string[] => specs.map(({ id }) => id).toSorted();
    expect(ids(market.server.gateway.endpoints)).toEqual(ids(endpoints));
    expect(new Set(ids(endpoints)).size).toBe(endpoints.length);
  });

  it('is in the OpenAPI document at each of its paths, and nothing else is', async () => {
    const document = (await (await fetch(`http://${market.server.host}/api/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId?: string }>>;
    };
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((name) => ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'].includes(name))
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = endpoints.flatMap((spec) => pathsOf(spec).map((path) => `${spec.method} ${path}`));
    expect(documented.toSorted()).toEqual(served.toSorted());
  });

  it.each(endpoints.map((spec) => [spec.id, spec] as const))('%s answers each caller and method as its spec says', async (_id, spec) => {
    const { path, body } = sample(spec);
    let answered = 0;
    const connection = await RawConnection.open(market.server.gateway.port);
    for (const [at, caller] of callers.entries()) {
      for (const target of pathsOf(spec, path)) {
        for (const method of methods) {
          if (isOfOther(spec, method)) continue;
          const key: Record<string, string> = caller.key === null ? {} : { Authorization: `Bearer ${caller.key}` };
          const withBody = body !== undefined && method === spec.method;
          const headers = { ...addressFor(spec, at), ...key, ...(withBody ? { 'Content-Type': 'application/json' } : {}) };
          const request: RawRequest = { method, target, headers, ...(withBody ? { body } : {}) };
          const refusal = expected(spec, method, caller);
          let answer = await connection.ask(request);
          if (refusal === null && answer?.status === 503 && !Object.hasOwn(lacking, spec.id)) {
            // On a machine that pauses for seconds, ingest takes its node for lost.
            await until('the gateway to be ready', async () => (await fetch(`http://${market.server.host}/readyz`)).status === 200);
            answer = await connection.ask(request);
          }
          if (answer === null) throw new Error(`no answer to ${method} ${target} of ${caller.what}`);
          checkCommon(answer, method, caller);
          if (refusal === null) checkSuccess(answer, spec, method);
          else checkRefusal(answer, spec, method, refusal);
          answered++;
        }
      }
    }
    connection.close();
    expect(answered).toBe(callers.length * pathsOf(spec).length * methods.filter((method) => !isOfOther(spec, method)).length);
  });

  it.each(endpoints.filter(({ deprecated }) => deprecated !== undefined).map((spec) => [spec.id, spec] as const))(
    '%s, which is deprecated, remains for at least 90 days',
    (_id, { deprecated }) => {
      expect(Date.parse(deprecated!.sunset) - Date.parse(deprecated!.since)).toBeGreaterThanOrEqual(90 * 86_400_000);
    },
  );

  it.each(endpoints.filter(({ withApiPrefix }) => !withApiPrefix).map((spec) => [spec.id, spec] as const))(
    '%s has no second path',
    async (_id, spec) => {
      const { path } = sample(spec);
      const other = path.startsWith('/api/') ? path.slice('/api'.length) : `/api${path}`;
      expect((await fetch(`http://${market.server.host}${other}`, { method: spec.method })).status).toBe(404);
    },
  );
});
