import { setTimeout as delay } from 'node:timers/promises';

/** What is waited for. */
export interface Settling {
  /** Everybody has everything that happened, as far as it is known now. */
  readonly isSettled: () => Promise<boolean>;
  /** Frames that came so far. */
  readonly frames: () => number;
}

export interface SettleTimes {
  /** So long no frame may have come: what is on its way to one client, and came to another, is not missing. */
  readonly quietMs: number;
  /** Where it does not settle: given up when no frame came for so long. */
  readonly giveUpMs: number;
  /** And in any case after so long. */
  readonly atMostMs: number;
  readonly lookEveryMs: number;
}

/** Resolves when all have everything and nothing comes any more, or when that is not to be expected. */
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
