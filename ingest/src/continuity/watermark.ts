import { pause } from '@sluice/shared/runtime/abort/pause.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Publisher } from '../publisher/publisher.ts';

const statusName = 'watermark';
/** Longer than nodes retain what would have to be read. */
const ttlMs = 7 * 86_400_000;

/** The slot up to which everything of this chain is in the log; null if the bus does not know. */
export async function readWatermark(bus: Pick<Bus, 'statuses'>, genesis: string): Promise<number | null> {
  const found = (await bus.statuses()).find(({ name }) => name === statusName)?.value;
  return found !== undefined && found['genesis'] === genesis && isSlot(found['slot']) ? found['slot'] : null;
}

/** False if this process no longer leads under this fence. The new leader writes its own. */
export function writeWatermark(publisher: Publisher, fence: number, genesis: string, slot: number): Promise<boolean> {
  return publisher.setStatus(fence, statusName, { genesis, slot }, ttlMs);
}

/** Every ingest process sets its status once a second. */
const statusesCompleteAfterMs = 1_500;

/**
 * The newest watermark of this chain in the statuses of ingest processes; null if none has one. It waits until each process that runs has
 * set its status: a Redis that was flushed has none of them at first. Rejects if the signal aborts.
 */
export async function watermarkOfOthers(
  bus: Pick<Bus, 'statuses'>,
  genesis: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<number | null> {
  await pause(statusesCompleteAfterMs, signal, { ref: false, clock });
  signal.throwIfAborted();
  let newest = 0;
  for (const { name, value } of await bus.statuses()) {
    const continuity = value['continuity'];
    if (!name.startsWith('ingest:') || !isRecord(continuity) || continuity['genesis'] !== genesis) continue;
    if (isSlot(continuity['watermark'])) newest = Math.max(newest, continuity['watermark']);
  }
  return newest > 0 ? newest : null;
}
