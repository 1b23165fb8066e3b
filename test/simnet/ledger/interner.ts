/** Strings remembered; emptied when full. */
const maxStrings = 50_000;
/** Longer strings (event data) are almost never repeated. */
const maxLength = 120;

/** Stores equal strings once: log lines and addresses repeat in almost every transaction. */
export function createInterner(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    if (text.length > maxLength) return text;
    const same = known.get(text);
    if (same !== undefined) return same;
    if (known.size >= maxStrings) known.clear();
    known.set(text, text);
    return text;
  };
}
