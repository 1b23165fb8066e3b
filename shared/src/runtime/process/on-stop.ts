import { isBroken, launchersOf, processTable, type Link, type ProcessTable } from './launchers.ts';

export type StopReason = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'launcher_ended';

/** How often the launchers are looked at. The first time, a script that starts programs in the background has usually ended. */
const lookEveryMs = 1_000;

/**
 * Calls `stop` once: at SIGINT, SIGTERM or SIGHUP (the terminal was closed), or when the package manager that started this process has ended
 * without passing on its signal. A second SIGINT or SIGTERM ends the process at once. `env`: of this process.
 */
export function onStop(env: NodeJS.ProcessEnv, stop: (reason: StopReason) => void): void {
  let reason: StopReason | null = null;
  const begin = (why: StopReason): void => {
    if (reason !== null) return;
    reason = why;
    stop(why);
  };
  let asked = false;
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(name, () => {
      if (asked) process.exit(code);
      asked = true;
      begin(name);
    });
  }
  // A closing terminal may send it several times.
  process.on('SIGHUP', () => begin('SIGHUP'));
  watchLaunchers(processTable(env), () => begin('launcher_ended'));
}

function watchLaunchers(table: ProcessTable, onEnd: () => void): void {
  let links: readonly Link[] | null = null;
  const timer = setInterval(() => {
    let ended = false;
    if (links === null) ({ links, orphaned: ended } = launchersOf(process.pid, table));
    else ended = isBroken(links, table);
    if (ended || links.length === 0) clearInterval(timer);
    if (ended) onEnd();
  }, lookEveryMs);
  timer.unref();
}
