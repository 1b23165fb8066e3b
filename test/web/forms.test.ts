import { endpointOf, requestOf, type OpenApi } from '@sluice/site/web/docs/operation.ts';
import { choicesOf, valueOf } from '@sluice/site/web/docs/schema.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { openApiDocument } from '@sluice/shared/wire/openapi/openapi.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { describe, expect, it } from 'vitest';

const openApi = openApiDocument(endpoints, { version: '1.0.0', plans: Object.values(defaultPlans) }) as unknown as OpenApi;
const textsOf = ({ fields }: ReturnType<typeof endpointOf>) => Object.fromEntries(fields.map(({ name, text }) => [name, text]));

describe('the forms of the documentation', () => {
  it.each(endpoints.map(({ id }) => id))('have the fields of %s, and make its example of them', (id) => {
    const endpoint = endpointOf(openApi, id);
    const { path, init } = requestOf(endpoint, textsOf(endpoint), false);
    const paths = Object.entries(openApi.paths).flatMap(([template, methods]) =>
      Object.values(methods).map((one) => ({ template, ...one })),
    );
    const { requestBody } = paths.find(({ operationId }) => operationId === id)!;
    expect(path).toMatch(/^\/[\w./-]+(\?[\w=&.-]+)?$/);
    const body = typeof init.body === 'string' ? (JSON.parse(init.body) as Record<string, unknown>) : undefined;
    const example = requestBody?.content['application/json'].example;
    // A form cannot tell the text "true" from the value, and both are accepted.
    expect(body).toEqual(example?.['denominatedInSol'] === 'true' ? { ...example, denominatedInSol: true } : example);
  });

  it('are dry runs unless the reader decides otherwise, and have a switch for it wherever one can spend', () => {
    const spends = (['no', 'dryRun', 'always'] as const).map((how) => endpoints.filter(({ id }) => endpointOf(openApi, id).spends === how));
    expect(spends.slice(1).map((all) => all.map(({ id }) => id))).toEqual([
      ['tradeBuy', 'tradeSell'],
      ['transactionSend', 'pumpPortalTrade'],
    ]);
    const buy = endpointOf(openApi, 'tradeBuy');
    expect(buy.fields.map(({ name }) => name)).not.toContain('dryRun');
    expect(requestOf(buy, textsOf(buy), true).init.body).toContain('"dryRun":true');
  });

  it('put values where they belong', () => {
    const candles = endpointOf(openApi, 'tokenCandles');
    expect(requestOf(candles, { mint: 'a/b', interval: '1m', limit: '5' }, false).path).toBe(
      '/api/token/candles/a%2Fb?interval=1m&limit=5',
    );
    const buy = endpointOf(openApi, 'tradeBuy');
    expect(requestOf(buy, { 'Idempotency-Key': 'k', amount: '0.1' }, false).init).toMatchObject({
      headers: { 'Idempotency-Key': 'k', 'Content-Type': 'application/json' },
      body: '{"amount":0.1}',
    });
  });

  it('read texts by the schema', () => {
    const number = { type: 'number' };
    const list = { type: 'array', items: { type: 'string' } };
    expect(valueOf('1e-3', number)).toBe(0.001);
    expect(valueOf('50%', { anyOf: [number, { type: 'string' }] })).toBe('50%');
    expect(valueOf('5', { type: 'string' })).toBe('5');
    expect(valueOf('a, b', list)).toEqual(['a', 'b']);
    expect(valueOf('["a b"]', list)).toEqual(['a b']);
    expect(valueOf('{"minSol":1}', { type: 'object' })).toEqual({ minSol: 1 });
    expect(() => valueOf('{', { type: 'object' })).toThrow(SyntaxError);
    expect(choicesOf({ type: 'boolean' })).toEqual(['true', 'false']);
  });
});
