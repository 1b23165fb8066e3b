import { yieldThisThread } from './priority.ts';

/** Every thread of the product starts here: it lowers its priority, then loads its module. */
yieldThisThread();
await import(process.argv[2] ?? '');
