import { parentPort } from 'node:worker_threads';
import { keepTransactions } from './keep-transactions.ts';
import { serveParser } from './serve-parser.ts';

if (parentPort === null) throw new TypeError('This is a thread of a process that reads from nodes.');
serveParser(parentPort, keepTransactions);
