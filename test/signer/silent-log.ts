import { createLog, type Logger } from '@sluice/shared/runtime/log/log.ts';

export const silentLog: Logger = createLog({ level: 'silent', name: 'test' });
