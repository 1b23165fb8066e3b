import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { publishEvents } from './bus-events.ts';

/** A publisher in a process of its own: `node bus-publisher.ts <redis url> <events>`. */
const [url, count] = process.argv.slice(2) as [string, string];
const bus = await createBus({ redisUrls: [url], log: createLog({ level: 'warn', name: 'bench' }) });
await publishEvents(await bus.publisher(), Number(count));
await bus.close();
