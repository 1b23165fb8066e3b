import { terminalJson, terminalText } from '@sluice/shared/runtime/log/terminal-text.ts';

/** Prints lines on standard output. Nothing else in the command line writes texts there, so every text is free of escape sequences. */
export function print(text: string): void {
  console.log(terminalText(text));
}

/** Prints lines on standard error. */
export function printError(text: string): void {
  console.error(terminalText(text));
}

export function printJson(value: unknown): void {
  console.log(terminalJson(JSON.stringify(value)));
}

/** The headings and the rows in aligned columns. */
export function tableText(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [headings, ...rows].map(line).join('\n');
}

/** A time as `2026-11-21 10:15:00`, UTC. */
export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ');
}

let readerGone = (): void => process.exit(0);

/** Calls `stop`, maybe several times, when the reader of standard output has ended (`sluice watch trades | head`). The default is to exit. */
export function onReaderGone(stop: () => void): void {
  readerGone = stop;
}

/** Exits with 1 if the output cannot be written. A reader that has ended is not an error. */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? readerGone() : process.exit(1)));
}
