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
