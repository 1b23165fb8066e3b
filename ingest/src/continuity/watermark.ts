import type { Bus } from '@sluice/shared/bus/bus.ts';
import { isSlot } from '@sluice/shared/solana/json-forms.ts';
import type { Publisher } from '../publisher/publisher.ts';

const statusName = 'watermark';
/** Longer than nodes keep what would have to be read. */
const ttlMs = 7 * 86_400_000;

/** The slot up to which everything of this chain is in the log; null where the bus does not know. */
export async function readWatermark(bus: Pick<Bus, 'statuses'>, genesis: string): Promise<number | null> {
  const found = (await bus.statuses()).find(({ name }) => name === statusName)?.value;
  return found !== undefined && found['genesis'] === genesis && isSlot(found['slot']) ? found['slot'] : null;
}

/** False where the lead with this fence is over: whoever leads now says where it stands. */
export function writeWatermark(publisher: Publisher, fence: number, genesis: string, slot: number): Promise<boolean> {
  return publisher.setStatus(fence, statusName, { genesis, slot }, ttlMs);
}
