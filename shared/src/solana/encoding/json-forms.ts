/** Forms of values in the answers of nodes. Nothing from a node is used before its form was checked. */

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Slot and value of a notification's `params`, or of an answer with a context; null if the input does not have that form. */
export function contextAndValue(holder: unknown): { readonly slot: number; readonly value: unknown } | null {
  if (!isRecord(holder)) return null;
  const { context, value } = holder;
  if (!isRecord(context) || !isSlot(context['slot'])) return null;
  return { slot: context['slot'], value };
}
