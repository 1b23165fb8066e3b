import { parentPort } from 'node:worker_threads';
import { serveParser } from '@sluice/shared/solana/rpc/answers/serve-parser.ts';
import { blockReader } from './block-reader.ts';

if (parentPort === null) throw new TypeError('This is a thread of an ingest process.');
serveParser(parentPort, blockReader.read);
