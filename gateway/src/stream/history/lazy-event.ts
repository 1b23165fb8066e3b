import type { LogEntry } from '@sluice/shared/bus/bus.ts';
import type { StreamEvent } from '@sluice/shared/wire/events.ts';

/** An event that is parsed from its JSON on first use, and only once. */
export class LazyEvent {
  readonly #json: Uint8Array;
  #parsed: StreamEvent | null = null;

  constructor(entry: Pick<LogEntry, 'json'>) {
    this.#json = entry.json;
  }

  get event(): StreamEvent {
    this.#parsed ??= JSON.parse(
      Buffer.from(this.#json.buffer, this.#json.byteOffset, this.#json.byteLength).toString('utf8'),
    ) as StreamEvent;
    return this.#parsed;
  }
}
