import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { getPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { engineThreadsOf } from '@sluice/shared/runtime/thread/priority.ts';
import { expect, it } from 'vitest';
import { nodeFlags } from '../support/command-line.ts';

it.skipIf(!existsSync('/proc/thread-self'))(
  'the threads of the engine, and other started threads, have a lower priority than the main one',
  () => {
    const child = fileURLToPath(new URL('priority-child.ts', import.meta.url));
    const output = execFileSync(process.execPath, [...nodeFlags('cli/gateway.ts'), '--import', 'tsx', child], { encoding: 'utf8' });
    const { main, thread, all } = JSON.parse(output) as { readonly main: number; readonly thread: number; readonly all: readonly number[] };
    // For a process that already has a low priority, as far as possible.
    const behind = Math.min(19, getPriority() + 10) - getPriority();
    expect({ main, thread }).toEqual({ main: 0, thread: behind });
    // The engine's five threads, and the started thread. The main thread and those that wait for disks do not yield.
    expect(all.filter((nice) => nice === behind)).toHaveLength(6);
    expect(all.filter((nice) => nice === 0).length).toBeGreaterThanOrEqual(1);
  },
);

it('finds the threads of the engine when the ids of threads start again', () => {
  expect(engineThreadsOf([100, 101, 102, 103, 104, 105, 106], 100)).toEqual([101, 102, 103, 104, 105]);
  expect(engineThreadsOf([3, 4, 5, 6, 32_766, 32_767], 32_766)).toEqual([32_767, 3, 4, 5, 6]);
});
