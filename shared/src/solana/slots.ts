/**
 * Slots by which one thing may be older than another and merely late: two to three hours, far more than any endpoint lags
 * and still answers. A wider gap means that the newer slot was none, and must not silence what comes after it.
 */
export const maxLateSlots = 20_000;

/** True where `slot` comes before `newest`, and both can be slots of one chain now. */
export function isLate(slot: number, newest: number): boolean {
  return slot < newest && newest - slot <= maxLateSlots;
}
