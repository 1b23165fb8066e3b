import { setTimeout as pause } from 'node:timers/promises';
import { startDeadline } from '@sluice/shared/runtime/abort/deadline.ts';
import { whenAborted } from '@sluice/shared/runtime/abort/when-aborted.ts';
import { describe, expect, it } from 'vitest';

const longMs = 60_000;

describe('a deadline', () => {
  it('fires once when its time has run out, and reports that', async () => {
    const deadline = startDeadline(5);
    let fired = 0;
    whenAborted(deadline, () => fired++);
    expect([deadline.aborted, deadline.passed, fired]).toEqual([false, false, 0]);
    await pause(30);
    deadline.cut();
    expect([deadline.aborted, deadline.passed, fired]).toEqual([true, true, 1]);
  });

  it('fires with a source of any kind, and does not report a timeout', () => {
    const [signal, outer] = [new AbortController(), startDeadline(longMs)];
    const [one, other] = [startDeadline(longMs, signal.signal, undefined), startDeadline(longMs, undefined, outer)];
    const fired: string[] = [];
    whenAborted(one, () => fired.push('one'));
    whenAborted(other, () => fired.push('other'));
    signal.abort();
    outer.cut();
    expect(fired).toEqual(['one', 'other']);
    expect([one, other].map(({ aborted, passed }) => [aborted, passed])).toEqual([
      [true, false],
      [true, false],
    ]);
    for (const each of [one, other, outer]) each.end();
  });

  it('has fired from the start if a source already had', () => {
    const deadline = startDeadline(longMs, AbortSignal.abort());
    expect([deadline.aborted, deadline.passed]).toEqual([true, false]);
    let fired = 0;
    whenAborted(deadline, () => fired++);
    expect(fired).toBe(1);
    deadline.end();
  });

  it('can be cut early, and does not time out later', async () => {
    const deadline = startDeadline(5);
    deadline.cut();
    await pause(30);
    expect([deadline.aborted, deadline.passed]).toEqual([true, false]);
  });

  it('does not call listeners that stopped listening, even during the firing', () => {
    const deadline = startDeadline(longMs);
    const fired: string[] = [];
    const forget = whenAborted(deadline, () => fired.push('forgotten'));
    let stop = (): void => undefined;
    whenAborted(deadline, () => {
      fired.push('first');
      stop();
    });
    stop = whenAborted(deadline, () => fired.push('second'));
    forget();
    deadline.cut();
    expect(fired).toEqual(['first']);
    deadline.end();
  });

  it('does not fire after its work is over', async () => {
    const source = new AbortController();
    const deadline = startDeadline(5, source.signal);
    let fired = 0;
    whenAborted(deadline, () => fired++);
    deadline.end();
    source.abort();
    await pause(30);
    expect([deadline.aborted, deadline.passed, fired]).toEqual([false, false, 0]);
  });
});
