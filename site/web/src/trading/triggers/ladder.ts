/** Hundredths of a percent: parts of an amount are integers, so that they add up. */
const whole = 10_000;
const perPercent = 100;

/** Reads `33.33` or `33.33 %`; null if it is not more than nothing and at most all. */
export function readPart(text: string): number | null {
  const [, units, decimals = ''] = /^(\d{1,3})(?:\.(\d{1,2}))?\s?%?$/.exec(text.trim()) ?? [];
  if (units === undefined) return null;
  const part = Number(units) * perPercent + Number(decimals.padEnd(2, '0'));
  return part > 0 && part <= whole ? part : null;
}

/** What the server calls a part: `33.33%`. */
export const partText = (part: number): string => `${part / perPercent}%`;

/** What is left of the whole; less than nothing if the parts are too large. */
export const restOf = (parts: readonly number[]): number => parts.reduce((rest, part) => rest - part, whole);

/** Equal parts that add up to the whole. The last one has the remainder. */
export function equalParts(count: number): readonly number[] {
  const each = Math.floor(whole / count);
  return Array.from({ length: count }, (_, at) => (at < count - 1 ? each : whole - each * (count - 1)));
}
