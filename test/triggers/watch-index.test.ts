import { beforeEach, describe, expect, it } from 'vitest';
import { slotMs, WatchRig, watchOf, mint, wallet } from './watch-rig.ts';

let rig: WatchRig;
beforeEach(() => {
  rig = new WatchRig();
});

describe('a level', () => {
  it('fires when it held for its time, and says at which value and slot', () => {
    rig.add('stop');
    rig.add('deeper', { when: { kind: 'level', metric: 'priceSol', op: '<=', value: 0.3 } });
    rig.add('profit', { when: { kind: 'level', metric: 'priceSol', op: '>=', value: 2 } });
    rig.tick(1);
    rig.nextSlot();
    rig.tick(0.45);
    rig.pass(499);
    expect(rig.take()).toEqual([]);
    rig.pass(1);
    expect(rig.take()).toMatchObject([{ id: 'stop', mint, value: 0.45, slot: 1_001, late: false, cause: null }]);
    rig.nextSlot();
    rig.tick(2.5);
    rig.pass(500);
    expect(rig.fired()).toEqual(['profit']);
    expect(rig.index.size).toBe(1);
  });

  it('fires at once with a hold of 0, also if it holds when it is armed', () => {
    rig.add('first', { holdMs: 0 });
    rig.add('far', { when: { kind: 'level', metric: 'priceSol', op: '<=', value: 0.1 } });
    rig.tick(0.5);
    expect(rig.fired()).toEqual(['first']);
    rig.add('second', { holdMs: 0 });
    expect(rig.fired()).toEqual(['second']);
    rig.add('third');
    expect(rig.fired()).toEqual([]);
    rig.pass(500);
    expect(rig.fired()).toEqual(['third']);
  });

  it('holds from its own arming, and does not make others wait', () => {
    rig.add('early');
    rig.tick(0.4);
    rig.pass(400);
    rig.add('second', { when: { kind: 'level', metric: 'priceSol', op: '<=', value: 0.6 } });
    rig.pass(100);
    expect(rig.fired()).toEqual(['early']);
    rig.pass(399);
    expect(rig.fired()).toEqual([]);
    rig.pass(1);
    expect(rig.fired()).toEqual(['second']);
  });

  it('waits until it is taken, and stops to wait when it does not hold any more', () => {
    rig.add('stop');
    rig.tick(0.4);
    rig.pass(2_000);
    expect(rig.index.waiting).toBe(1);
    rig.nextSlot();
    rig.tick(0.6);
    expect(rig.index.waiting).toBe(0);
    rig.nextSlot();
    rig.tick(0.4);
    rig.pass(499);
    expect(rig.index.waiting).toBe(0);
    rig.pass(1);
    expect(rig.index.takeMet(10, (id) => id !== 'stop')).toEqual([]);
    expect(rig.fired()).toEqual(['stop']);
  });

  it('counts market caps, USD and the progress of a curve by the facts that were read', () => {
    rig.add('cap', { when: { kind: 'level', metric: 'marketCapSol', op: '>=', value: 900 } });
    rig.add('usd', { when: { kind: 'level', metric: 'priceUsd', op: '>=', value: 90 } });
    rig.add('capUsd', { when: { kind: 'level', metric: 'marketCapUsd', op: '>=', value: 200_000 } });
    rig.add('progress', { when: { kind: 'level', metric: 'curveProgress', op: '>=', value: 75 } });
    rig.tick(0.9, { curve: { realBase: 250, realQuote: 0 } });
    rig.pass(500);
    expect(rig.fired()).toEqual(['usd']);
    expect(rig.reasons()).toMatchObject({ cap: 'supply_unknown', progress: 'curve_unknown' });
    expect(rig.index.needed(10, rig.nowMs)).toEqual([mint]);
    rig.read(null, { goal: { reserve: 'realBase', from: 1_000n, to: 0n } });
    rig.pass(500);
    expect(rig.fired().toSorted()).toEqual(['cap', 'progress']);
    expect(rig.reasons()).toEqual({ capUsd: null });
  });
});

describe('who moves the price to fire a stop of somebody else', () => {
  beforeEach(() => {
    rig.add('stop');
    rig.tick(1);
    rig.nextSlot();
  });

  it('achieves nothing with a sandwich within one slot', () => {
    rig.tick(0.2);
    rig.pass(300);
    rig.tick(0.99);
    rig.pass(5_000);
    expect(rig.fired()).toEqual([]);
  });

  it('achieves nothing in one slot, even if it began early in the slot and ends late', () => {
    rig.tick(0.7);
    rig.pass(350);
    rig.tick(0.2);
    rig.pass(450);
    rig.slot++;
    rig.tick(1);
    rig.pass(5_000);
    expect(rig.fired()).toEqual([]);
  });

  it('achieves nothing in a pool that holds too little, or whose depth is not known', () => {
    for (const heldSol of [0.99, null]) {
      rig.tick(0.2, { heldSol });
      rig.pass(2_000);
      rig.slot++;
    }
    expect(rig.fired()).toEqual([]);
    expect(rig.reasons()).toEqual({ stop: 'shallow_pool' });
    rig.tick(0.2);
    rig.pass(499);
    expect(rig.fired()).toEqual([]);
    rig.pass(1);
    expect(rig.fired()).toEqual(['stop']);
  });

  it('achieves nothing on a fork that dies', () => {
    const id = rig.tick(0.2);
    rig.pass(450);
    rig.retract(id);
    rig.pass(5_000);
    expect(rig.fired()).toEqual([]);
    rig.slot++;
    rig.tick(0.2);
    rig.pass(400);
    rig.slot++;
    rig.tick(0.3);
    rig.verdict({ dead: [rig.slot - 1] });
    rig.pass(499);
    expect(rig.fired()).toEqual([]);
    rig.pass(1);
    expect(rig.fired()).toEqual(['stop']);
  });

  it('achieves nothing before the slot is confirmed, if only confirmed trades count', () => {
    rig.add('sure', { confirm: 'confirmed', holdMs: 0 });
    rig.tick(0.2);
    rig.pass(5_000);
    expect(rig.fired()).toEqual(['stop']);
    expect(rig.reasons()).toEqual({ sure: 'unconfirmed' });
    rig.verdict({ alive: [rig.slot - 1], dead: [rig.slot] });
    expect(rig.fired()).toEqual([]);
    rig.slot++;
    rig.tick(0.2);
    rig.tick(0.3);
    rig.verdict({ alive: [rig.slot] });
    expect(rig.take()).toMatchObject([{ id: 'sure', value: 0.3 }]);
  });

  it('cannot hold the price by a slot that does not exist', () => {
    rig.tick(1, { slot: rig.slot + 5_000 });
    rig.nextSlot();
    rig.tick(0.2);
    rig.nextSlot();
    rig.tick(0.2);
    rig.pass(500);
    expect(rig.fired()).toEqual(['stop']);
  });
});

describe('who wants to keep a stop from firing', () => {
  it('achieves nothing with prices that he takes back in the same slot, in each slot', () => {
    rig.add('stop');
    rig.tick(1);
    for (let slots = 0; slots < 3; slots++) {
      rig.nextSlot();
      rig.tick(0.4);
      rig.pass(100);
      rig.tick(0.9);
      rig.pass(50);
      rig.tick(0.4);
    }
    expect(rig.fired()).toEqual(['stop']);
  });

  it('achieves nothing with a spike against a trailing stop, and a held high raises it', () => {
    rig.add('trail', { when: { kind: 'trailing', metric: 'priceSol', percent: 10 } });
    rig.tick(1);
    rig.pass(500);
    rig.slot++;
    rig.tick(5);
    rig.nextSlot();
    rig.tick(1);
    rig.pass(5_000);
    expect(rig.fired()).toEqual([]);
    expect([...rig.index.watermarks(rig.nowMs)]).toEqual([['trail', 1]]);
    rig.slot++;
    rig.tick(2);
    rig.nextSlot();
    rig.tick(2.2);
    rig.pass(200);
    rig.slot++;
    rig.tick(1.79);
    rig.pass(500);
    expect(rig.take()).toMatchObject([{ id: 'trail', value: 1.79 }]);
  });

  it('cannot lower a watermark, and a restored one counts', () => {
    rig.add('sell', { when: { kind: 'trailing', metric: 'priceSol', percent: 10 }, watermark: 4 });
    rig.add('buy', { when: { kind: 'trailing', metric: 'priceSol', percent: 50 }, side: 'buy' });
    rig.tick(3.7);
    rig.pass(1_000);
    rig.slot++;
    rig.tick(1);
    rig.pass(1_000);
    expect(rig.fired()).toEqual(['sell']);
    expect([...rig.index.watermarks(rig.nowMs)]).toEqual([['buy', 1]]);
    rig.slot++;
    rig.tick(1.49);
    rig.pass(1_000);
    rig.slot++;
    rig.tick(1.5);
    rig.pass(1_000);
    expect(rig.fired()).toEqual(['buy']);
  });
});

describe('what is not known', () => {
  it('fires nothing after a loss of entries, until the next tick or a read, and is late then', () => {
    rig.add('stop');
    rig.tick(0.4);
    rig.pass(490);
    rig.verdict({ lost: { from: 990, to: 999, signatures: [] } });
    rig.pass(5_000);
    expect(rig.fired()).toEqual([]);
    expect(rig.reasons()).toEqual({ stop: 'gap' });
    expect(rig.index.needed(10, rig.nowMs)).toEqual([mint]);
    rig.read(rig.tickOf(0.3, { id: '' }));
    rig.pass(500);
    expect(rig.take()).toMatchObject([{ id: 'stop', late: true }]);
  });

  it('drops what was met and not taken when the log loses entries', () => {
    rig.add('stop', { holdMs: 0 });
    rig.tick(0.4);
    expect(rig.index.waiting).toBe(1);
    rig.index.lose(rig.nowMs, rig.wallMs);
    expect(rig.fired()).toEqual([]);
    rig.slot++;
    rig.tick(0.6);
    expect(rig.fired()).toEqual([]);
  });

  it('fires nothing in USD while the price of SOL is not known, and follows it without a trade', () => {
    rig.add('usd', { when: { kind: 'level', metric: 'priceUsd', op: '>=', value: 150 } });
    rig.tick(1);
    rig.solUsd = null;
    rig.pass(2_000);
    expect(rig.reasons()).toEqual({ usd: 'stale_price' });
    rig.solUsd = 151;
    rig.pass(1_000);
    expect(rig.take()).toMatchObject([{ id: 'usd', value: 151 }]);
  });
});

describe('the profit of a position', () => {
  it('is watched from when the average cost is known, and follows it', () => {
    rig.add('take', { when: { kind: 'profit', op: '>=', percent: 100 } });
    rig.add('stop', { when: { kind: 'profit', op: '<=', percent: -50 } });
    rig.tick(0.4);
    rig.pass(1_000);
    expect(rig.reasons()).toEqual({ take: 'position_unknown', stop: 'position_unknown' });
    rig.index.setPosition(wallet, mint, 0.3);
    rig.pass(1_000);
    expect(rig.reasons()).toEqual({ take: null, stop: null });
    expect(rig.fired()).toEqual([]);
    rig.index.setPosition(wallet, mint, 0.2);
    rig.pass(500);
    expect(rig.fired()).toEqual(['take']);
    rig.index.setPosition(wallet, mint, 0.9);
    rig.pass(500);
    expect(rig.fired()).toEqual(['stop']);
    expect(rig.index.mints).toBe(0);
  });
});

describe('a trade of a followed account', () => {
  const follow = { kind: 'account', account: 'leader', side: 'buy', minSol: 1, times: 1 } as const;

  it('fires once for each trade that is large enough, of its mint or of any', () => {
    rig.add('any', { mint: null, side: 'buy', when: { ...follow, times: 3 } });
    rig.add('own', { side: 'buy', when: follow });
    rig.trade({ sizeSol: 0.99 });
    rig.trade({ side: 'sell' });
    rig.trade({ mint: 'other' });
    const id = rig.trade();
    rig.trade({ id });
    const position = { epoch: 'epoch', offset: 3 };
    const cause = { mint: 'other', baseAmount: '7000', quoteAmount: '2000000000', position };
    expect(rig.index.oldestPinned(rig.nowMs)).toEqual(position);
    const first = rig.take();
    expect(first).toMatchObject([
      { id: 'any', mint: 'other', cause },
      { id: 'own', mint, cause: { eventId: id } },
    ]);
    const second = rig.take();
    expect(second).toMatchObject([{ id: 'any', cause: { eventId: id } }]);
    expect(rig.take()).toEqual([]);
    expect(rig.index.size).toBe(1);
    for (const met of [...first, ...second]) rig.index.stored(met);
    expect(rig.index.oldestPinned(rig.nowMs)).toBeNull();
  });

  it('counts no trade from before its arming, and none that fired it before a restart', () => {
    const early = rig.wallMs * 1000 - 1;
    rig.add('follow', { mint: null, side: 'buy', when: { ...follow, times: 9 }, after: { epoch: 'epoch', offset: 7 } });
    rig.trade({ receivedUs: early, offset: 8 });
    rig.trade({ offset: 7 });
    expect(rig.take()).toEqual([]);
    rig.trade({ offset: 8 });
    expect(rig.take()).toHaveLength(1);
    rig.index.enterEpoch('later', false);
    rig.trade({ offset: 1 });
    expect(rig.take()).toHaveLength(1);
  });

  it('fires no buy when it is old, and a sell that is late', () => {
    rig.add('in', { side: 'buy', when: follow });
    rig.add('out', { when: follow });
    rig.pass(40_000);
    rig.trade({ atMs: rig.wallMs - 30_001 });
    expect(rig.take()).toMatchObject([{ id: 'out', late: true }]);
    expect(rig.reasons()).toEqual({ in: 'late_trade' });
  });

  it('fires nothing if it is taken back, and once if it comes again from another fork', () => {
    rig.add('follow', { side: 'buy', when: { ...follow, times: 9 } });
    rig.add('sure', { side: 'buy', when: { ...follow, times: 9 }, confirm: 'confirmed' });
    const id = rig.trade();
    rig.retract(id, 'event');
    expect(rig.take()).toEqual([]);
    rig.trade({ id });
    expect(rig.take()).toMatchObject([{ id: 'follow' }]);
    rig.retract(id, 'event');
    rig.slot++;
    rig.trade({ id });
    expect(rig.take()).toEqual([]);
    rig.verdict({ alive: [rig.slot] });
    expect(rig.take()).toMatchObject([{ id: 'sure' }]);
    rig.slot++;
    rig.trade();
    rig.verdict({ dead: [rig.slot] });
    expect(rig.fired()).toEqual(['follow']);
  });
});

describe('a time', () => {
  it('fires once when it is reached, however long nothing was watching', () => {
    rig.index.add(watchOf('at', { mint: null, when: { kind: 'at', atMs: rig.wallMs + 1_000 } }));
    rig.index.add(watchOf('every', { when: { kind: 'every', everyMs: 2_000, times: 5 }, nextAtMs: rig.wallMs + 2_000 }));
    rig.index.add(watchOf('cancelled', { when: { kind: 'at', atMs: rig.wallMs + 1_000 } }));
    rig.index.remove('cancelled');
    rig.pass(980);
    expect(rig.take()).toEqual([]);
    rig.pass(20);
    expect(rig.take()).toMatchObject([{ id: 'at', late: false }]);
    rig.nowMs += 20_000;
    rig.pass(0);
    expect(rig.take()).toMatchObject([{ id: 'every', mint, late: true }]);
    expect(rig.index.size).toBe(0);
  });
});

describe('a migration', () => {
  it('fires the watches of its mint once', () => {
    rig.add('here', { when: { kind: 'migration' } });
    rig.add('elsewhere', { mint: 'other', when: { kind: 'migration' } });
    const us = rig.wallMs * 1000;
    const event = {
      kind: 'migration',
      mint,
      id: 'm',
      slot: rig.slot,
      isSettled: false,
      atMs: rig.wallMs,
      receivedUs: us,
      publishedUs: us,
    } as const;
    rig.index.note({ ...event, offset: 1 }, rig.nowMs, rig.wallMs);
    expect(rig.take()).toMatchObject([{ id: 'here', mint, cause: null, position: { epoch: 'epoch', offset: 1 } }]);
    rig.pass(slotMs);
    expect(rig.index.size).toBe(1);
  });
});
