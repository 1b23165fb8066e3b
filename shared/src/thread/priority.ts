import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename } from 'node:path';

/** How much nicer than the main thread the others are: where both want the same core they get about a tenth of it. */
const behindMain = 10;
const nicest = 19;
/**
 * Threads of the engine, which collect garbage and compile: Node.js makes them before anything else, one that keeps time and four that work
 * (`--v8-pool-size`). The main thread needs the other threads at once: they read files, write to disks, look up names.
 */
const engineThreads = 5;
const threadsFolder = '/proc/self/task';
const ownThread = '/proc/thread-self';

/**
 * The engine's own threads yield to the main one, whose work somebody waits for: on a core that they share a turn of one of them is
 * some milliseconds. To be called once, at the start of a process. Does nothing where the system has no `/proc`, as outside Linux.
 */
export function yieldEngineThreads(): void {
  if (!existsSync(threadsFolder)) return;
  const threads = readdirSync(threadsFolder)
    .map(Number)
    .toSorted((a, b) => a - b);
  for (const thread of threads.slice(1, 1 + engineThreads)) yieldThread(thread);
}

/** The thread that calls this yields to the main one. Does nothing where the system has no `/proc`. */
export function yieldThisThread(): void {
  if (existsSync(ownThread)) yieldThread(Number(basename(readlinkSync(ownThread))));
}

function yieldThread(thread: number): void {
  setPriority(thread, Math.min(nicest, getPriority(thread) + behindMain));
}
