import { describe, expect, it } from 'vitest';
import { isMainPool, type MainPoolFacts, type PoolSighting } from '@sluice/shared/market/main-pool.ts';
import { addressOf } from '../support/events/stream-events.ts';

const hour = 3_600;
const [curve, pool, other] = [addressOf(1), addressOf(2), addressOf(3)];

function head(changes: Partial<MainPoolFacts> = {}): MainPoolFacts {
  return {
    pool: 'pump-amm',
    poolAddress: pool,
    depthSol: 100,
    mainTradedS: 1_000,
    curveOver: true,
    ...changes,
  };
}
const onCurve = (changes: Partial<MainPoolFacts> = {}): MainPoolFacts =>
  head({ pool: 'pump', poolAddress: curve, curveOver: false, ...changes });
const trade = (changes: Partial<PoolSighting> = {}): PoolSighting => ({
  pool: 'pump-amm',
  poolAddress: other,
  depthSol: 1,
  atS: 1_010,
  ...changes,
});

describe('the main pool of a mint', () => {
  it('is the first one seen, until another one replaces it', () => {
    expect(isMainPool(null, trade())).toBe(true);
    expect(isMainPool(head(), trade({ poolAddress: pool, depthSol: 0 }))).toBe(true);
  });

  it('is the curve until the curve is over, however deep another pool is', () => {
    expect(isMainPool(onCurve(), trade({ depthSol: 5_000 }))).toBe(false);
    expect(isMainPool(head({ curveOver: false }), trade({ pool: 'pump', poolAddress: curve }))).toBe(true);
    expect(isMainPool(head(), trade({ pool: 'pump', poolAddress: curve, depthSol: 5_000 }))).toBe(false);
  });

  it('is replaced as soon as its curve is over, by a pool of some depth', () => {
    expect(isMainPool(onCurve({ curveOver: true }), trade({ depthSol: 10 }))).toBe(true);
    expect(isMainPool(onCurve({ curveOver: true }), trade({ depthSol: 9 }))).toBe(false);
  });

  it('is replaced by a pool that is deeper by a tenth', () => {
    expect(isMainPool(head(), trade({ depthSol: 109 }))).toBe(false);
    expect(isMainPool(head(), trade({ depthSol: 111 }))).toBe(true);
  });

  it('is replaced after an hour without a trade by a pool of some depth', () => {
    const later = { atS: 1_000 + hour + 1 };
    expect(isMainPool(head(), trade({ ...later, depthSol: 9 }))).toBe(false);
    expect(isMainPool(head(), trade({ ...later, depthSol: 10 }))).toBe(true);
    expect(isMainPool(onCurve(), trade({ ...later, depthSol: 10 }))).toBe(true);
    expect(isMainPool(head(), trade({ atS: 1_000 + hour, depthSol: 10 }))).toBe(false);
  });
});
