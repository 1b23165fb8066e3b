import { holdLogs } from '@sluice/shared/log/held.ts';
import { showProgress } from './progress.ts';

/** Longer than a warm start may take. If the start takes even longer, the log is written before the block, so that the user sees the reason. */
const holdLogsMs = 30_000;

/** What a start writes until its log follows. */
export interface StartOutput {
  /** The part of the start that begins now. A terminal shows it. */
  step(text: string): void;
  /** Prints the block as the first output, and then the log. */
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
      console.log(block);
      held.release();
    },
    fail: () => {
      stop();
      held.release();
    },
  };
}
