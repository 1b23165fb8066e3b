import { parentPort, workerData } from 'node:worker_threads';
import { createLog, type LevelWithSilent } from '@sluice/shared/runtime/log/log.ts';
import type { ProgramSettings, ToPrograms } from './messages.ts';
import { ProgramThread } from './thread/program-thread.ts';

if (parentPort === null) throw new TypeError('This is a thread of an ingest process.');
const port = parentPort;
const settings = workerData as ProgramSettings;
const log = createLog({ level: settings.level as LevelWithSilent, name: 'programs' });
const thread = new ProgramThread(settings, (message) => port.postMessage(message), log);
port.on('message', (message: ToPrograms) => {
  if (message.kind === 'taken') return thread.taken();
  if (message.kind === 'recheck') return thread.recheck(message.since);
  thread.close();
  port.close();
});
thread.start();
