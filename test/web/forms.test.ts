import { requestOf } from '@sluice/site/web/docs/request.ts';
import { endpointsOf, tryForm } from '@sluice/site/docs/sections/shown-endpoint.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { describe, expect, it } from 'vitest';

const shown = endpointsOf(openApiDocument(endpoints, { version: '1.0.0', plans: Object.values(defaultPlans) }));

describe('the forms of the documentation', () => {
  it.each(shown)('have the inputs of $id, and make its example of them', (endpoint) => {
    const { operation } = endpoint;
    const { method, path: formPath, inputs } = tryForm(endpoint);
    const { parameters, requestBody } = operation as unknown as {
      parameters: { name: string }[];
      requestBody?: { content: { 'application/json': { example: unknown } } };
    };
    expect(inputs.filter(({ place }) => place !== 'body').map(({ name }) => name)).toEqual(parameters.map(({ name }) => name));
    const [path, init] = requestOf(method, formPath, inputs, false);
    expect(path).toMatch(/^\/[\w./-]+(\?[\w=&.-]+)?$/);
    expect(typeof init.body === 'string' ? JSON.parse(init.body) : undefined).toEqual(requestBody?.content['application/json'].example);
  });

  it('are dry runs unless the reader decides otherwise, and have a switch for it wherever one can spend', () => {
    const spending = shown.filter(({ spends }) => spends !== 'no');
    expect(spending.map(({ id, spends }) => [id, spends])).toEqual([
      ['tradeBuy', 'dryRun'],
      ['tradeSell', 'dryRun'],
      ['tradeBatch', 'always'],
      ['transactionSend', 'always'],
      ['pumpPortalTrade', 'always'],
      ['armTrigger', 'always'],
    ]);
    const body = { place: 'body', name: 'body', text: '{"amount":0.1}' };
    expect(requestOf('POST', '/trade/buy', [body], true)[1].body).toBe('{"amount":0.1,"dryRun":true}');
  });

  it('put values where they belong', () => {
    const inputs = [
      { place: 'path', name: 'mint', text: 'a/b' },
      { place: 'query', name: 'interval', text: '1m' },
      { place: 'query', name: 'limit', text: '' },
      { place: 'header', name: 'Idempotency-Key', text: 'k' },
    ];
    expect(requestOf('GET', '/api/candles/{mint}', inputs, false)).toEqual([
      '/api/candles/a%2Fb?interval=1m',
      { method: 'GET', headers: { 'Idempotency-Key': 'k' } },
    ]);
    expect(() => requestOf('POST', '/x', [{ place: 'body', name: 'body', text: '{' }], false)).toThrow(SyntaxError);
  });
});
