import { AgreedTime, type Party } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { manualClock, type ManualClock } from '../support/clocks.ts';

const dayMs = 86_400_000;

let clock: ManualClock;
let startMs: number;
/** How long the machine was suspended, which the steady clock does not count. */
let suspendedMs: number;
let time: AgreedTime;
beforeEach(() => {
  clock = manualClock();
  [startMs, suspendedMs] = [clock.wallMs(), 0];
  time = new AgreedTime(clock, () => clock.steadyMs() + suspendedMs);
});

/** By how much the agreed time is ahead of the time that really passed. */
const wrongBy = (): number => time.nowMs() - startMs - clock.steadyMs();
const hear = (party: Party, wrongByMs: number): void => time.heard(party, startMs + clock.steadyMs() + wrongByMs, clock.steadyMs());

describe('the time of a process alone', () => {
  it('follows small corrections of its clock', () => {
    clock.jump(-20_000);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([-20_000, null]);
  });

  it.each([-dayMs, -60_000, 60_000, 500 * dayMs])('does not follow a jump by %d ms, and agrees again when the jump is undone', (jumpMs) => {
    clock.jump(jumpMs);
    expect(wrongBy()).toBe(0);
    clock.suspend(10_000);
    time.look();
    expect(wrongBy()).toBe(0);
    expect(time.fault()).toMatch(
      new RegExp(
        `^The clock of this machine is ${Math.abs(jumpMs) / 1000} s ${jumpMs < 0 ? 'behind' : 'ahead of'} the time that has passed`,
      ),
    );
    clock.jump(-jumpMs);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([0, null]);
  });

  it('knows that the machine was suspended', () => {
    suspendedMs += dayMs;
    clock.jump(dayMs);
    time.look();
    expect([time.nowMs(), time.fault()]).toEqual([clock.wallMs(), null]);
    // The suspension explains one jump only.
    clock.jump(dayMs);
    time.look();
    expect(time.nowMs()).toBe(clock.wallMs() - dayMs);
  });
});

describe('the time of processes with a database', () => {
  it('is the database’s from the beginning, even if this machine shows another', () => {
    hear('database', -dayMs);
    expect([wrongBy(), time.fault()]).toEqual([-dayMs, 'The clock of this machine is 86400 s ahead of that of the database.']);
    expect([...time.aheadMs]).toEqual([['database', dayMs]]);
    hear('database', 0);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([0, null]);
  });

  it('does not follow a jump of the database or of the machine alone, but one that both show', () => {
    hear('database', 0);
    hear('database', dayMs);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([0, 'The clock of this machine is 86400 s behind that of the database.']);
    hear('database', 0);
    clock.jump(dayMs);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([0, 'The clock of this machine is 86400 s ahead of that of the database.']);
    hear('database', dayMs);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([dayMs, null]);
  });

  it('does not follow a jump of both at one moment, because they are one clock, unless a third shows it', () => {
    hear('redis', 0);
    time.look();
    clock.jump(dayMs);
    for (let looks = 0; looks < 3; looks++) {
      hear('redis', dayMs);
      time.look();
      expect(wrongBy()).toBe(0);
    }
    expect(time.fault()).toMatch(/^The clock of this machine is 86400 s ahead of the time that has passed/);
    hear('chain', dayMs);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([dayMs, null]);
  });

  it('passes by the steady clock while the database does not answer', () => {
    hear('database', 0);
    clock.jump(dayMs);
    clock.suspend(3_600_000);
    time.look();
    expect(wrongBy()).toBe(0);
  });

  it('prefers the database to Redis, and both to the machine; the chain is only a witness', () => {
    hear('chain', dayMs);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([0, 'The clock of this machine is 86400 s behind that of the chain.']);
    clock.jump(dayMs);
    time.look();
    expect([wrongBy(), time.fault()]).toEqual([dayMs, null]);
    hear('redis', 3 * dayMs);
    hear('database', 2 * dayMs);
    time.look();
    expect(wrongBy()).toBe(3 * dayMs);
    hear('redis', 2 * dayMs);
    time.look();
    expect(wrongBy()).toBe(2 * dayMs);
  });

  it('knows the earliest time that any clock shows', () => {
    hear('database', -5_000);
    hear('redis', 5_000);
    clock.jump(1_000);
    expect(time.earliestMs() - startMs).toBe(-5_000);
    clock.jump(-10_000);
    expect(time.earliestMs() - startMs).toBe(-9_000);
  });
});
