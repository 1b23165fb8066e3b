/** Null: the part is healthy; otherwise its fault, a sentence without addresses or secrets. */
export type PartFault = string | null;

/** Every part that a process depends on, by name. */
export type Parts = Readonly<Record<string, PartFault>>;

export interface PartReport {
  readonly ok: boolean;
  readonly reason: string | null;
}

/** The form of `/readyz`. */
export function partReports(parts: Parts): Record<string, PartReport> {
  return Object.fromEntries(Object.entries(parts).map(([name, reason]) => [name, { ok: reason === null, reason }]));
}

/** The parts that are not healthy. */
export function unhealthyParts(parts: Parts): readonly string[] {
  return Object.entries(parts).flatMap(([name, reason]) => (reason === null ? [] : [name]));
}
