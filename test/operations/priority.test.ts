import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { getPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { engineThreadsOf } from '@sluice/shared/thread/priority.ts';
import { expect, it } from 'vitest';
import { nodeFlags } from '../support/command-line.ts';

it.skipIf(!existsSync('/proc/thread-self'))('the threads of the engine, and those that are begun beside it, yield to the main one', () => {
  const child = fileURLToPath(new URL('priority-child.ts', import.meta.url));
  const told = execFileSync(process.execPath, [...nodeFlags('gateway/src/main.ts'), '--import', 'tsx', child], { encoding: 'utf8' });
  const { main, thread, all } = JSON.parse(told) as { readonly main: number; readonly thread: number; readonly all: readonly number[] };
  // Of a process that is nice itself, as far as one can be.
  const behind = Math.min(19, getPriority() + 10) - getPriority();
  expect({ main, thread }).toEqual({ main: 0, thread: behind });
  // The engine's five, and the thread that was begun; the main one and those that wait for disks do not.
  expect(all.filter((nice) => nice === behind)).toHaveLength(6);
  expect(all.filter((nice) => nice === 0).length).toBeGreaterThanOrEqual(1);
});

it('finds the threads of the engine when the ids of threads begin again', () => {
  expect(engineThreadsOf([100, 101, 102, 103, 104, 105, 106], 100)).toEqual([101, 102, 103, 104, 105]);
  expect(engineThreadsOf([3, 4, 5, 6, 32_766, 32_767], 32_766)).toEqual([32_767, 3, 4, 5, 6]);
});
