import { oneLine } from '@sluice/shared/runtime/log/terminal-text.ts';

export type FindingState = 'ok' | 'warn' | 'fail';

/** What one check of `doctor` found. */
export interface Finding {
  readonly name: string;
  readonly state: FindingState;
  readonly detail: string;
}

export const ok = (name: string, detail: string): Finding => ({ name, state: 'ok', detail: oneLine(detail) });
export const warn = (name: string, detail: string): Finding => ({ name, state: 'warn', detail: oneLine(detail) });
export const fail = (name: string, detail: string): Finding => ({ name, state: 'fail', detail: oneLine(detail) });

/** An error's message, for a finding. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
