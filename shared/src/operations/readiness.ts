/** Null: the part is well; otherwise what is wrong with it, a sentence without addresses or secrets. */
export type PartFault = string | null;

/** Every part that a process stands on, by name. */
export type Parts = Readonly<Record<string, PartFault>>;

export interface PartTold {
  readonly ok: boolean;
  readonly reason: string | null;
}

/** As `/readyz` tells it. */
export function partsTold(parts: Parts): Record<string, PartTold> {
  return Object.fromEntries(Object.entries(parts).map(([name, reason]) => [name, { ok: reason === null, reason }]));
}

/** The parts that are ill. */
export function illParts(parts: Parts): readonly string[] {
  return Object.entries(parts).flatMap(([name, reason]) => (reason === null ? [] : [name]));
}
