import { readPumpPortalOrder } from '@sluice/trading/api/endpoints/pumpportal/endpoints.ts';
import { venues } from '@sluice/venues/registry.ts';
import { pumpPortalLimits, pumpPortalLocalEndpoint, type PumpPortalBody } from '@sluice/shared/wire/rest/trading/pumpportal.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wallet } from '../simnet/runtime/wallets.ts';

const [publicKey, mint] = [wallet('pumpportal', 'reads').publicKey, wallet('pumpportal', 'a mint').publicKey];
const isBody = validator(pumpPortalLocalEndpoint.body);

const flag = fc.constantFrom(true, false, 1, 0, 'true', 'false', 'True', 'FALSE', '1', '0');
/** Numbers in the forms that people and programs write. */
const decimal = (max: number): fc.Arbitrary<{ readonly value: number; readonly written: number | string }> =>
  fc
    .oneof(fc.double({ min: 1e-9, max, noNaN: true }), fc.integer({ min: 1, max: Math.max(1, Math.floor(max)) }))
    .filter((value) => value <= max)
    .chain((value) => fc.constantFrom(value, String(value), value.toExponential()).map((written) => ({ value, written })));
const order = fc.record({
  action: fc.constantFrom('buy', 'sell'),
  amount: decimal(100),
  denominatedInSol: flag,
  slippage: decimal(pumpPortalLimits.maxSlippage),
  priorityFee: decimal(pumpPortalLimits.maxPriorityFee),
  pool: fc.constantFrom('pump', 'pump-amm', 'auto', undefined),
  skipPreflight: fc.option(flag, { nil: undefined }),
  jitoOnly: fc.option(flag, { nil: undefined }),
});

const isTrue = (one: unknown): boolean => ['true', '1'].includes(String(one).toLowerCase());
const within = (raw: bigint | null, value: number, decimals: number): void => {
  expect(Math.abs(Number(raw) / 10 ** decimals - value)).toBeLessThan(10 ** -decimals + value * 1e-12);
};

describe('orders of PumpPortal clients', () => {
  it('have the same meaning in every form in which they can be written', () => {
    fc.assert(
      fc.property(order, ({ amount, slippage, priorityFee, ...said }) => {
        const body = { publicKey, mint, ...said, amount: amount.written, slippage: slippage.written, priorityFee: priorityFee.written };
        const present = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as unknown as PumpPortalBody;
        expect(isBody(present)).toMatchObject({ ok: true });
        const read = readPumpPortalOrder(present, venues);
        if ('error' in read) throw new Error(JSON.stringify({ present, read }));
        expect(read).toMatchObject({ publicKey, jitoOnly: isTrue(said.jitoOnly) });
        const request = read.of(publicKey);
        expect(request).toMatchObject({ publicKey, skipSimulation: isTrue(said.skipPreflight), dryRun: false });
        expect(request.order).toMatchObject({ side: said.action, mint, pool: said.pool ?? 'pump' });
        expect(request.order.amount).toEqual({
          kind: 'coins',
          of: isTrue(said.denominatedInSol) ? 'sol' : 'base',
          text: String(amount.written),
        });
        within(request.order.slippageBps, slippage.value, 2);
        within(request.priorityFeeLamports, priorityFee.value, 9);
        // Cutting off decimals never increases an amount.
        expect(Number(request.priorityFeeLamports)).toBeLessThanOrEqual(priorityFee.value * 1e9 * (1 + 1e-12));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['slippage', '100.001', 'must be a number from 0 to 100 percent'],
    ['slippage', 100.001, 'must be a number from 0 to 100 percent'],
    ['slippage', '100.0000000000000000001', 'must be a number from 0 to 100 percent'],
    ['priorityFee', '0.1000000001', 'must be a number from 0 to 0.1 SOL'],
    ['amount', '100.0000000001', 'must be at most 100 SOL'],
  ])('are refused if %s is above its limit, however little: %s', (field, value, why) => {
    const body = { publicKey, mint, action: 'buy', amount: '1', denominatedInSol: 'true', [field]: value };
    expect(readPumpPortalOrder(body, venues)).toMatchObject({ error: 'INVALID_REQUEST', details: { fields: { [field]: why } } });
  });

  it('of any form of the schema are read or refused, and never throw', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('100%', '0%', '1e99', '1e-99', '0', '-0', '9'.repeat(40), 'true', publicKey, mint));
    const value = fc.oneof(text, fc.double(), fc.boolean());
    const names = Object.keys(pumpPortalLocalEndpoint.body.properties).filter((name) => name !== 'action');
    const fields = fc.dictionary(fc.constantFrom(...names), value);
    let [read, refused] = [0, 0];
    fc.assert(
      fc.property(fc.constantFrom('buy', 'sell', 'create'), fields, fc.boolean(), (action, some, good) => {
        const body = { ...(good ? { publicKey, mint, amount: '1', denominatedInSol: 'true' } : {}), ...some, action };
        const checked = isBody(body);
        if (!checked.ok) return;
        const outcome = readPumpPortalOrder(checked.value, venues);
        if ('error' in outcome) {
          refused++;
          const faults = (outcome.details?.['fields'] ?? {}) as Record<string, string>;
          expect(outcome.error === 'INVALID_MINT' || Object.keys(faults).length > 0).toBe(true);
        } else {
          read++;
          const { priorityFeeLamports, order: requested } = outcome.of(publicKey);
          expect(requested.slippageBps >= 0n && requested.slippageBps <= 10_000n).toBe(true);
          expect(priorityFeeLamports === null || (priorityFeeLamports >= 0n && priorityFeeLamports <= 100_000_000n)).toBe(true);
        }
      }),
      { numRuns: 5_000 },
    );
    expect(Math.min(read, refused)).toBeGreaterThan(50);
  });
});
