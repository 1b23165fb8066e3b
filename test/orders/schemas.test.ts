import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import {
  BuyBody,
  SellBody,
  SendBody,
  tradeBuyEndpoint,
  tradeSellEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
} from '@sluice/shared/wire/rest/trading/trade.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { describe, expect, it } from 'vitest';
import { addressOf } from '../support/events/stream-events.ts';

const base = { publicKey: addressOf(1), mint: addressOf(2) };
const buy = validator(BuyBody);
const sell = validator(SellBody);
const send = validator(SendBody);

/** The fields that a check reports; empty if the body is valid. */
function faults(check: typeof buy | typeof sell | typeof send, body: unknown): readonly string[] {
  const outcome = check(body);
  return outcome.ok ? [] : Object.keys(outcome.fields);
}

describe('the body of a buy', () => {
  it.each([
    [{}],
    [{ amount: 0.001, slippage: 0.1, priorityFee: 0.00001 }],
    [{ amount: 100, slippage: 50, priorityFee: 0.01 }],
    [{ pool: 'auto', maxIn: '0', minOut: '18446744073709551615', dryRun: true, skipSimulation: false }],
    [{ pool: 'pump-amm' }],
  ])('takes %j', (more) => {
    expect(faults(buy, { ...base, amount: 1, ...more })).toEqual([]);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ amount: 0 }, 'amount'],
    [{ amount: -1 }, 'amount'],
    [{ amount: '1' }, 'amount'],
    [{ amount: null }, 'amount'],
    [{ amount: undefined }, 'amount'],
    [{ slippage: 0.05 }, 'slippage'],
    [{ slippage: 51 }, 'slippage'],
    [{ slippage: '10' }, 'slippage'],
    [{ priorityFee: 0.000009 }, 'priorityFee'],
    [{ priorityFee: 0.0101 }, 'priorityFee'],
    [{ publicKey: 'me' }, 'publicKey'],
    [{ publicKey: undefined }, 'publicKey'],
    [{ mint: undefined }, 'mint'],
    [{ pool: 'pancake' }, 'pool'],
    [{ minOut: '-1' }, 'minOut'],
    [{ minOut: 5 }, 'minOut'],
    [{ maxIn: '1'.repeat(21) }, 'maxIn'],
    [{ dryRun: 'yes' }, 'dryRun'],
    [{ sellAll: true }, 'sellAll'],
    [{ slipage: 10 }, 'slipage'],
  ])('refuses %j, and says which field', (more, field) => {
    const body = JSON.parse(JSON.stringify({ ...base, amount: 1, ...more })) as unknown;
    expect(faults(buy, body)).toEqual([field]);
  });
});

it('an error names the unit of a number', () => {
  expect(buy({ ...base, amount: 0, slippage: 50.1, priorityFee: 0.000001 })).toEqual({
    ok: false,
    fields: { amount: 'must be above 0', slippage: 'must be at most 50 percent', priorityFee: 'must be at least 0.00001 SOL' },
  });
});

it('an error describes the form of a valid text', () => {
  expect(buy({ ...base, amount: 1, minOut: '1.5' })).toEqual({ ok: false, fields: { minOut: 'must match ^[0-9]+$' } });
});

describe('the body of a sell', () => {
  it.each([[{ amount: 1 }], [{ amount: '50%' }], [{ sellAll: true }], [{ sellAll: true, amount: 5 }], [{ amount: 1_000_000_000_000 }]])(
    'takes %j',
    (more) => {
      expect(faults(sell, { ...base, ...more })).toEqual([]);
    },
  );

  it.each<[Record<string, unknown>, string]>([
    [{ amount: '1'.repeat(17) }, 'amount'],
    [{ amount: true }, 'amount'],
    [{ sellAll: 'true' }, 'sellAll'],
    [{ amount: 1, slippage: 51 }, 'slippage'],
  ])('refuses %j, and says which field', (more, field) => {
    expect(faults(sell, { ...base, ...more })).toEqual([field]);
  });
});

describe('the body of a transaction to send', () => {
  it('is base64 of a bounded length', () => {
    expect(faults(send, { transaction: Buffer.alloc(1_232, 7).toString('base64') })).toEqual([]);
    expect(faults(send, { transaction: Buffer.alloc(4_096, 7).toString('base64'), skipSimulation: true })).toEqual([]);
    for (const transaction of ['', 'a b', 'AA-_', Buffer.alloc(4_099, 7).toString('base64'), 5]) {
      expect(faults(send, { transaction })).toEqual(['transaction']);
    }
  });
});

describe('the endpoints of trades', () => {
  const specs = [tradeBuyEndpoint, tradeSellEndpoint, transactionBuyEndpoint, transactionSellEndpoint, transactionSendEndpoint];

  it('form one document with all others, with examples that match their schemas', () => {
    const ids = new Set(specs.map(({ id }) => id));
    const document = openApiDocument([...endpoints.filter(({ id }) => !ids.has(id as never)), ...specs], { version: '1.0.0', plans: [] });
    const paths = document['paths'] as Record<string, { post?: { requestBody: { content: Record<string, { example: unknown }> } } }>;
    for (const { path, body } of specs) {
      for (const form of [path, `/api${path}`]) {
        const example = paths[form]!.post!.requestBody.content['application/json']!.example;
        if (body !== SendBody) expect(validator(body)(example), path).toMatchObject({ ok: true });
      }
    }
  });

  it('require the scope `trade` wherever something is sent, and accept an Idempotency-Key only there', () => {
    for (const spec of specs) {
      const isSent = spec.path.startsWith('/trade/') || spec.path === '/transaction/send';
      expect(spec.access).toBe(isSent ? 'trade' : 'read');
      expect('idempotent' in spec).toBe(isSent);
      expect(spec.withApiPrefix).toBe(true);
    }
  });
});
