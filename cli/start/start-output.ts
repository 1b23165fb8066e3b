import { holdLogs } from '@sluice/shared/runtime/log/held.ts';
import { showProgress } from '../command-line/progress.ts';
import { print } from '../command-line/terminal.ts';

/** A normal start is faster. A slower start prints its log before the summary, so that the user sees the reason. */
const holdLogsMs = 30_000;

/** The output of `start` until its log is printed. */
export interface StartOutput {
  /** The part of the start that begins now. A terminal shows it. */
  step(text: string): void;
  /** Prints `block` (the summary with link, key and wallet), and then the stored log lines. */
  succeed(block: string): void;
  /** Prints the log. */
  fail(): void;
}

/** Create it before the logs and threads, because it holds their lines. */
export function startOutput(terminal: Parameters<typeof showProgress>[1] = process.stderr): StartOutput {
  const held = holdLogs(holdLogsMs);
  let step = 'starting';
  const stop = showProgress(() => step, terminal);
  return {
    step: (text) => void (step = text),
    succeed: (block) => {
      stop();
      print(block);
      held.release();
    },
    fail: () => {
      stop();
      held.release();
    },
  };
}
