/** ANSI colours, or none. */
export interface Paint {
  readonly buy: (text: string) => string;
  readonly sell: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly strong: (text: string) => string;
}

const wrap = (code: number, text: string): string => `\u001B[${code}m${text}\u001B[0m`;
const colourPaint: Paint = {
  buy: (text) => wrap(32, text),
  sell: (text) => wrap(31, text),
  faint: (text) => wrap(2, text),
  strong: (text) => wrap(1, text),
};
const same = (text: string): string => text;
const plainPaint: Paint = { buy: same, sell: same, faint: same, strong: same };

/** Colours on a terminal, unless NO_COLOR is set. */
export function paintFor({ isTTY }: Pick<NodeJS.WriteStream, 'isTTY'>): Paint {
  const isColourful = isTTY && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb';
  return isColourful ? colourPaint : plainPaint;
}
