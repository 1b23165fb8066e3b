/** Before the first slot of any cluster, and the shortest slots that one could have made since, on average. */
const genesisMs = Date.UTC(2020, 2, 16);
export const shortestSlotMs = 100;

/** The newest slot that a cluster can have reached by its age; a slot beyond it is none. */
export function newestPossibleSlot(nowMs: number): number {
  return Math.floor((nowMs - genesisMs) / shortestSlotMs);
}
