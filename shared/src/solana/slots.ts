/**
 * Two things may differ by this many slots if one of them is merely late: about an hour, far more than any lagging endpoint that still
 * answers. If the difference is larger, the newer slot was wrong, and must not make everything after it look late.
 */
export const maxLateSlots = 20_000;

/** True if `slot` is before `newest`, and both can be slots of one chain now. */
export function isLate(slot: number, newest: number): boolean {
  return slot < newest && newest - slot <= maxLateSlots;
}
