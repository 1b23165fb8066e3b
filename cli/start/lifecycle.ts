import { endWithinMs } from '@sluice/gateway/operations/process-life.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { onStop } from '@sluice/shared/runtime/process/on-stop.ts';
import { showProgress } from '../command-line/progress.ts';

/** After this time, the process exits even if not everything is closed. */
const closeTimeoutMs = endWithinMs;

/** Closes what was opened, in the opposite order. */
export class Closers {
  readonly #closers: { readonly name: string; readonly close: () => Promise<void> }[] = [];

  add(name: string, close: () => Promise<void>): void {
    this.#closers.push({ name, close });
  }

  /** Closes each part once. A failure is logged, and the next part is closed. Returns whether all succeeded. */
  async closeAll(log: Logger): Promise<boolean> {
    let clean = true;
    for (let next = this.#closers.pop(); next !== undefined; next = this.#closers.pop()) {
      try {
        await next.close();
      } catch (error) {
        clean = false;
        log.error({ err: error, part: next.name }, 'close_failed');
      }
    }
    return clean;
  }
}

/** Aborts, closes all and exits. `onStop` says when. */
export function closeOnStop(log: Logger, closers: Closers): AbortSignal {
  const controller = new AbortController();
  onStop(process.env, (reason) => {
    log.info({ reason }, 'stopping');
    showProgress(() => 'stopping; Ctrl-C again stops at once');
    controller.abort();
    setTimeout(() => process.exit(1), closeTimeoutMs).unref();
    void closers.closeAll(log).then((clean) => process.exit(clean ? 0 : 1));
  });
  return controller.signal;
}
