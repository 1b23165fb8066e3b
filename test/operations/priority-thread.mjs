import { readlinkSync } from 'node:fs';
import { getPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';

const nice = getPriority(Number(basename(readlinkSync('/proc/thread-self'))));
parentPort?.postMessage(nice, []);
// A listener keeps the thread alive until the process ends it, so that the process can count it.
parentPort?.on('message', () => undefined);
