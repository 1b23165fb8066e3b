import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { beginThread } from '@sluice/shared/runtime/thread/restarting-thread.ts';
import { yieldEngineThreads } from '@sluice/shared/runtime/thread/priority.ts';

/** Prints the priority of each thread of this process: the main one, all others, and the one that it starts. */
const base = getPriority();
yieldEngineThreads();
const thread = beginThread(new URL('./priority-thread.mjs', import.meta.url), 'priority', {});
const threadNice = await new Promise((resolve) => thread.once('message', resolve));
const all = readdirSync('/proc/self/task').map((tid) => getPriority(Number(tid)) - base);
process.stdout.write(JSON.stringify({ main: getPriority(process.pid) - base, thread: Number(threadNice) - base, all }));
await thread.terminate();
