/** Late things differ by at most this many slots, about an hour. Beyond that the newer slot was wrong, and must not make all after it look late. */
export const maxLateSlots = 20_000;

/** True if `slot` is before `newest`, and both can be slots of one chain now. */
export function isLate(slot: number, newest: number): boolean {
  return slot < newest && newest - slot <= maxLateSlots;
}
