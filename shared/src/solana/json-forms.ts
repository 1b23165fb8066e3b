/** Forms in which nodes tell things: what they send is checked before it is believed. */

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Slot and value of a notification's `params`, or of an answer with a context; null where they are not of that form. */
export function contextAndValue(holder: unknown): { readonly slot: number; readonly value: unknown } | null {
  if (!isRecord(holder)) return null;
  const { context, value } = holder;
  if (!isRecord(context) || !isSlot(context['slot'])) return null;
  return { slot: context['slot'], value };
}
