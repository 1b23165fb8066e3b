import { UsageError } from './command.ts';

/** Reads the whole number that an option requires. Throws `UsageError` outside `min` to `max`. */
export function readInteger(option: string, text: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new UsageError(`${option} takes a whole number from ${min} to ${max}`);
  return value;
}
