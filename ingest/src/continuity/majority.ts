/** How many of so many endpoints have to say the same for it to be believed: two of three, both of two, one where it is alone. */
export function majorityOf(endpoints: number): number {
  return Math.floor(endpoints / 2) + 1;
}

/** As far as the majority has come, out of how far each has: one alone leads nobody ahead, and holds no two others back. */
export function reachedBy(tips: readonly number[]): number {
  return tips.toSorted((a, b) => b - a)[majorityOf(tips.length) - 1]!;
}
