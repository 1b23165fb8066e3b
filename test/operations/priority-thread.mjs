import { readlinkSync } from 'node:fs';
import { getPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';

const nice = getPriority(Number(basename(readlinkSync('/proc/thread-self'))));
parentPort?.postMessage(nice, []);
