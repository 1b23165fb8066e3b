import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { GrpcReader, type FromReader, type ReaderSettings, type ToReader } from './reader.ts';

if (parentPort === null) throw new TypeError('This is a thread of an ingest process.');
const port = parentPort;
const emit = (message: FromReader): void => port.postMessage(message);
const reader = new GrpcReader(workerData as ReaderSettings, emit, systemClock);
port.on('message', (message: ToReader) => reader.take(message));
await reader.run();
port.close();
