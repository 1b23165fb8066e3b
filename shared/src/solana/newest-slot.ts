/** A time before the first slot of any cluster, and the shortest average slot that a cluster can have had since then. */
const genesisMs = Date.UTC(2020, 2, 16);
export const shortestSlotMs = 100;

/** The newest slot that a cluster can have reached by its age. A larger slot is invalid. */
export function newestPossibleSlot(nowMs: number): number {
  return Math.floor((nowMs - genesisMs) / shortestSlotMs);
}
