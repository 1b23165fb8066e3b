import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import { readVerdict } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { isPoolNews } from '@sluice/shared/market/pools/pool-news.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';

/** The event of an entry of the log; empty for an entry that is not sent to clients. */
export function eventsOfEntry(entry: LogEntry): StreamEvent[] {
  if (readVerdict(entry) !== null || isPoolNews(entry)) return [];
  return [JSON.parse(Buffer.from(entry.json).toString()) as StreamEvent];
}
