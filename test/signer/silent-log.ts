import { createLog, type Logger } from '@sluice/shared/log/log.ts';

export const silentLog: Logger = createLog({ level: 'silent', name: 'test' });
