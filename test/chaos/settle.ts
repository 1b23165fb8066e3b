import { setTimeout as delay } from 'node:timers/promises';

/** What the wait depends on. */
export interface Settling {
  /** Whether all clients have everything that is known to have happened. */
  readonly isSettled: () => Promise<boolean>;
  /** Number of frames so far. */
  readonly frames: () => number;
}

export interface SettleTimes {
  /** No frame may have arrived for this long: a frame that has reached one client may still be on its way to another. */
  readonly quietMs: number;
  /** If it does not settle, the wait ends when no frame has arrived for this long. */
  readonly giveUpMs: number;
  /** The wait ends after this time in any case. */
  readonly atMostMs: number;
  readonly lookEveryMs: number;
}

/** Resolves when all clients have everything and nothing arrives any more, or when that is not expected to happen. */
export async function settle({ isSettled, frames }: Settling, { quietMs, giveUpMs, atMostMs, lookEveryMs }: SettleTimes): Promise<void> {
  const endMs = performance.now() + atMostMs;
  let [known, cameAtMs] = [frames(), performance.now()];
  for (let nowMs = cameAtMs; nowMs < endMs && nowMs - cameAtMs < giveUpMs; nowMs = performance.now()) {
    const settled = await isSettled();
    if (frames() > known) [known, cameAtMs] = [frames(), performance.now()];
    else if (settled && performance.now() - cameAtMs >= quietMs) return;
    await delay(lookEveryMs);
  }
}

/** What the wait for clients that are behind depends on. */
export interface CatchingUp {
  /** Whether clients have everything that happened up to a time. */
  readonly hasAll: (untilMs: number) => boolean;
  /** Stops the market until the returned function is called. */
  readonly rest: () => () => void;
}

export interface CatchUpTimes {
  /** The market rests while clients lack something that happened this long ago, so that a slow machine falls no further behind. */
  readonly restAfterMs: number;
  /** The wait ends after this time in any case. */
  readonly atMostMs: number;
  readonly lookEveryMs: number;
}

/** Resolves when clients have everything that happened up to a time. */
export async function catchUp({ hasAll, rest }: CatchingUp, untilMs: number, times: CatchUpTimes): Promise<void> {
  const { restAfterMs, atMostMs, lookEveryMs } = times;
  const endMs = performance.now() + atMostMs;
  let resume: (() => void) | null = null;
  for (let nowMs = performance.now(); nowMs < endMs && !hasAll(untilMs); nowMs = performance.now()) {
    if (nowMs - untilMs >= restAfterMs) resume ??= rest();
    await delay(lookEveryMs);
  }
  resume?.();
}
