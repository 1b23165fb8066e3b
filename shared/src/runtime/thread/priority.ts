import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';

/** Nice value of the other threads relative to the main one. If both need the same core, they get about a tenth of it. */
const behindMain = 10;
const nicest = 19;
/**
 * Threads of the engine, which collect garbage and compile. Node.js creates them first: one that keeps time and four workers
 * (`--v8-pool-size`). The main thread depends on the other threads at once: they read files, write to disks and look up names.
 */
const engineThreads = 5;
/** The kernel's limit (`pid_max`). */
const highestThreadId = 2 ** 22;
const threadsFolder = '/proc/self/task';
const ownThread = '/proc/thread-self';

/**
 * Gives the engine's own threads a lower priority than the main one, whose results clients wait for. On a shared core, a turn of an engine
 * thread takes some milliseconds. Call it once, when the process starts. It does nothing on systems without `/proc`, that is, outside
 * Linux.
 */
export function yieldEngineThreads(): void {
  if (!existsSync(threadsFolder)) return;
  for (const thread of engineThreadsOf(readdirSync(threadsFolder).map(Number), process.pid)) yieldThread(thread);
}

/** The ids of the engine's threads among those of a process: the first ones after the main thread. Linux begins again after the highest id. */
export function engineThreadsOf(threads: readonly number[], mainThread: number): readonly number[] {
  const place = (thread: number): number => (thread < mainThread ? thread + highestThreadId : thread);
  return threads.toSorted((a, b) => place(a) - place(b)).slice(1, 1 + engineThreads);
}

/** Gives the calling thread a lower priority than the main one. It does nothing on systems without `/proc`. */
export function yieldThisThread(): void {
  if (existsSync(ownThread)) yieldThread(Number(basename(readlinkSync(ownThread))));
}

function yieldThread(thread: number): void {
  setPriority(thread, Math.min(nicest, getPriority(thread) + behindMain));
}
