import { Halt, haltPollMs, maxHaltAgeMs } from '@sluice/gateway/store/halt/halt.ts';
import { mayUseWallet } from '@sluice/gateway/accounts/wallet-access.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { HaltTable } from '@sluice/gateway/store/sql/tables/operation/halt.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { newPlace, storeKinds, type StorePlace } from '../contract/store-harness.ts';
import { sharedPostgres, type SharedPostgres } from '../support/servers/postgres.ts';
import { manualClock, type ManualClock } from '../support/clocks.ts';
import { silentLog } from './harness.ts';

let postgres: SharedPostgres;
beforeAll(async () => {
  postgres = await sharedPostgres();
});

function haltOf(halt: HaltTable, clock: Clock): Halt {
  const made = new Halt({ halt }, silentLog, clock);
  onTestFinished(() => made.close());
  return made;
}

/** When the listener receives `halted`, milliseconds from now. */
function notifiedWithin(halt: Halt, halted: boolean, clock: Clock): Promise<number> {
  const from = clock.steadyMs();
  return new Promise((resolve) => {
    const stop = halt.onChange((now) => {
      if (now !== halted) return;
      stop();
      resolve(clock.steadyMs() - from);
    });
  });
}

describe.each(storeKinds)('the kill switch in %s', (kind) => {
  let place: StorePlace;
  let clock: ManualClock;
  beforeEach(async () => {
    clock = manualClock();
    place = await newPlace(kind, postgres);
  });
  afterEach(() => place.end());

  it('is seen by two gateways at their next poll, each time it changes', async () => {
    const operator = await place.open();
    const gateways = [haltOf((await place.open()).halt, clock), haltOf((await place.open()).halt, clock)];
    for (const gateway of gateways) expect(await gateway.read()).toMatchObject({ halted: false });
    for (let turn = 0; turn < 6; turn++) {
      const halted = turn % 2 === 0;
      const notified = Promise.all(gateways.map((gateway) => notifiedWithin(gateway, halted, clock)));
      expect(await operator.halt.set(halted, null, Date.now())).toBe(true);
      await clock.pass(haltPollMs);
      expect(await notified).toEqual([haltPollMs, haltPollMs]);
      for (const gateway of gateways) expect(gateway.halted).toBe(halted);
    }
  });

  it('is the same after a gateway restarts', async () => {
    await (await place.open()).halt.set(true, null, Date.now());
    expect(await haltOf((await place.open()).halt, clock).read()).toMatchObject({ halted: true });
  });

  it('counts as halted if its row is missing', async () => {
    const gateway = haltOf((await place.open()).halt, clock);
    expect(await gateway.read()).toMatchObject({ halted: false });
    const notified = notifiedWithin(gateway, true, clock);
    await (await place.database()).run('DELETE FROM trading_halt');
    await clock.pass(maxHaltAgeMs + 1_000);
    expect(await notified).toBeLessThan(maxHaltAgeMs + 1_000);
    expect(await gateway.read()).toMatchObject({ halted: true });
  });
});

describe('the kill switch of a gateway', () => {
  const running = { halted: false, reason: null, changedAtMs: 0 };
  let clock: ManualClock;
  beforeEach(() => {
    clock = manualClock();
  });

  it('counts as halted until it was read, and while the store does not answer', async () => {
    let answer = (): void => undefined;
    const read = vi.fn(
      () =>
        new Promise<typeof running>((resolve) => {
          answer = () => resolve(running);
        }),
    );
    const gateway = haltOf({ read, set: async () => false }, clock);
    expect(gateway.halted).toBe(true);
    const notified = notifiedWithin(gateway, false, clock);
    answer();
    await notified;
    expect(gateway.halted).toBe(false);
    // From here on the store never answers.
    const stopped = notifiedWithin(gateway, true, clock);
    await clock.pass(maxHaltAgeMs);
    expect(gateway.halted).toBe(false);
    await clock.pass(1_000);
    expect(await stopped).toBeLessThan(maxHaltAgeMs + 1_000);
    expect(gateway.halted).toBe(true);
  });

  it('reports nothing that it does not know', async () => {
    const gateway = haltOf({ read: () => Promise.reject(new Error('unavailable')), set: async () => false }, clock);
    expect(await gateway.read()).toMatchObject({ halted: true });
    expect(gateway.halted).toBe(true);
    expect(await gateway.status()).toBe('unknown');
  });

  it('reports an unknown state without waiting if the store does not answer', async () => {
    const gateway = haltOf({ read: () => new Promise(() => {}), set: async () => false }, clock);
    const status = gateway.status();
    await clock.pass(maxHaltAgeMs);
    expect(await status).toBe('unknown');
  });

  it('reads again after the process was suspended, and reports no halt that no operator ordered', async () => {
    const gateway = haltOf({ read: async () => running, set: async () => false }, clock);
    await gateway.read();
    const notified: boolean[] = [];
    gateway.onChange((halted) => notified.push(halted));
    for (let stall = 0; stall < 2; stall++) {
      clock.suspend(maxHaltAgeMs + 200);
      expect(gateway.halted).toBe(true);
      expect(await gateway.status()).toBe('running');
      clock.suspend(maxHaltAgeMs + 200);
      expect(gateway.halted).toBe(true);
      // The next poll.
      await clock.pass(0);
      expect(gateway.halted).toBe(false);
    }
    expect(notified).toEqual([]);
  });

  it('detects a change that happened while the process was suspended', async () => {
    let stored = running;
    const gateway = haltOf({ read: async () => stored, set: async () => false }, clock);
    await gateway.read();
    stored = { ...running, halted: true };
    clock.suspend(maxHaltAgeMs + 200);
    expect(await gateway.status()).toBe('halted');
  });
});

describe('a wallet', () => {
  it.each([
    [null, null, true],
    [null, 'operator', true],
    ['operator', null, true],
    ['operator', 'operator', true],
    ['one', 'one', true],
    ['one', 'two', false],
    ['one', null, false],
    ['one', 'operator', false],
    [null, 'one', false],
    ['operator', 'one', false],
  ])('key of %s, wallet of %s: %s', (key, owner, may) => {
    expect(mayUseWallet({ accountId: key }, { accountId: owner })).toBe(may);
  });
});
