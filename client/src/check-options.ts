/** Refuses a name that is not known: a typo would otherwise be an option that is silently ignored. Throws a `TypeError`. */
export function checkNames(owner: string, options: unknown, known: Readonly<Record<string, true>>): void {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`${owner} takes an object of options; it got ${String(options)}.`);
  const unknown = unknownName(options, known);
  if (unknown !== undefined) throw new TypeError(`${owner} has no option ${unknown}. It has ${Object.keys(known).join(', ')}.`);
}

export function unknownName(options: object, known: Readonly<Record<string, true>>): string | undefined {
  return Object.keys(options).find((name) => !Object.hasOwn(known, name));
}

/** Throws a `TypeError`. */
export function checkNumber(name: string, value: unknown, least: number, most: number): void {
  if (typeof value === 'number' && value >= least && value <= most) return;
  throw new TypeError(`${name} must be a number from ${least} to ${most}; it is ${String(value)}.`);
}

/** Throws a `TypeError`. */
export function checkStrings(name: string, value: unknown): void {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return;
  throw new TypeError(`${name} must be a list of strings; it is ${String(value)}.`);
}

/** `fetch` reports another value as if the network had failed. */
export function isHeaderValue(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}
