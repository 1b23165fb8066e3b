import { holdLogs } from '@sluice/shared/runtime/log/held.ts';
import { showProgress } from '../command-line/progress.ts';
import { print } from '../command-line/terminal.ts';

/** A normal start is faster. A slower start prints its log before the summary, so that the user sees the reason. */
const holdLogsMs = 30_000;

/** The output of `start` until its log is printed. */
export type StartOutput = ReturnType<typeof startOutput>;

/** Create it before the logs and threads, because it holds their lines. */
export function startOutput(terminal: Parameters<typeof showProgress>[1] = process.stderr) {
  const held = holdLogs(holdLogsMs);
  let step = 'starting';
  const stop = showProgress(() => step, terminal);
  return {
    /** The part of the start that begins now. A terminal shows it. */
    step: (text: string): void => void (step = text),
    /** Prints `block` (the summary with link, key and wallet), and then the stored log lines. */
    succeed: (block: string): void => {
      stop();
      print(block);
      held.release();
    },
    fail: (): void => {
      stop();
      held.release();
    },
  };
}
