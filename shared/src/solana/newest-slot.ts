/** The shortest average slot that a cluster can have. */
export const shortestSlotMs = 100;

/**
 * The newest slot that a cluster can have reached. A larger slot is invalid. It is not computed from a clock, because a clock that is wrong
 * would refuse right slots: Solana reached slot 460 million in 2026, and needs more than ten years for the rest at 100 ms a slot.
 */
export const newestPossibleSlot = 2 ** 32 - 1;
