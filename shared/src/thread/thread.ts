import { yieldThisThread } from './priority.ts';

/** Every thread of the product begins here: it yields to the main one, then loads the module that it is begun for. */
yieldThisThread();
await import(process.argv[2] ?? '');
