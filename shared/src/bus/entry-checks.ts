import { busLimits, type BusEntry } from './bus.ts';
import { BusError } from './bus-error.ts';

/** Throws `INVALID` for an entry beyond the bounds. Both implementations use it, so they refuse the same entries. */
export function checkEntry(entry: BusEntry): void {
  checkTopics(entry.topics);
  if (entry.tickTopics !== undefined) checkTopics(entry.tickTopics);
  if (entry.record.length > busLimits.maxEntryBytes) {
    throw new BusError('INVALID', `An entry must have at most ${busLimits.maxEntryBytes} bytes.`);
  }
}

function checkTopics(topics: readonly string[]): void {
  if (topics.length === 0 || topics.length > busLimits.maxTopicsPerEntry) {
    throw new BusError('INVALID', `An entry must have 1 to ${busLimits.maxTopicsPerEntry} topics, not ${topics.length}.`);
  }
  for (let i = 0; i < topics.length; i += 1) {
    const topic = topics[i] as string;
    // UTF-8 needs at most three bytes for each UTF-16 unit, so most names need not be counted.
    if (topic.length === 0 || (topic.length * 3 > busLimits.maxTopicBytes && Buffer.byteLength(topic) > busLimits.maxTopicBytes)) {
      throw new BusError('INVALID', `The name of a topic must have 1 to ${busLimits.maxTopicBytes} bytes.`);
    }
    if (topics.indexOf(topic) !== i) throw new BusError('INVALID', 'An entry must not have the same topic twice.');
  }
}

/** Throws `INVALID` for a status beyond the bounds; returns the value as JSON text. */
export function statusText(name: string, value: Readonly<Record<string, unknown>>, ttlMs: number): string {
  const text = JSON.stringify(value);
  const { maxStatusNameLength, maxStatusBytes, maxProcessStatusMs } = busLimits;
  if (name.length === 0 || name.length > maxStatusNameLength) {
    throw new BusError('INVALID', `The name of a status must have 1 to ${maxStatusNameLength} characters.`);
  }
  if (Buffer.byteLength(text) > maxStatusBytes) throw new BusError('INVALID', `A status must have at most ${maxStatusBytes} bytes.`);
  if (!Number.isSafeInteger(ttlMs) || ttlMs < 1)
    throw new BusError('INVALID', 'The time of a status must be a positive whole number of milliseconds.');
  if (ttlMs > maxProcessStatusMs && name.includes(':')) {
    throw new BusError('INVALID', `The status of a process lasts at most ${maxProcessStatusMs} ms.`);
  }
  return text;
}

/** Throws `INVALID` for a lease's name beyond the bounds. */
export function checkLeaseName(name: string): void {
  if (name.length > 0 && name.length <= busLimits.maxLeaseNameLength) return;
  throw new BusError('INVALID', `The name of a lease must have 1 to ${busLimits.maxLeaseNameLength} characters.`);
}
