import { Sluice } from '@sluice/client';
import type { Emitted } from './judge.ts';
import type { FaultKind } from './resuming-client.ts';

const channels = ['trades', 'newTokens', 'migrations'] as const;
/** Events that the chain emitted this long after a gap was reported must arrive. Earlier ones may belong to the gap. */
const afterGapMs = 5_000;
/** Ids that one fault lists. */
const namedIds = 3;

/** What an application has of one topic since its last gap. */
interface Content {
  readonly ids: Set<string>;
  sinceMs: number;
}

/**
 * An application that uses the client library: it sees events and gaps, and no numbers. Between two gaps it must receive each event that the
 * chain emitted and did not retract, once.
 */
export class LibraryClient {
  readonly #name: string;
  readonly #sluice: Sluice;
  readonly #contents = new Map<string, Content>();
  readonly #live = new Set<string>();
  readonly #onFault: (kind: FaultKind, what: string) => void;

  constructor(name: string, hosts: readonly string[], apiKey: string, onFault: (client: string, kind: FaultKind, what: string) => void) {
    this.#name = name;
    this.#onFault = (kind, what) => onFault(this.#name, kind, what);
    this.#sluice = new Sluice({ url: hosts.map((host) => `http://${host}`), apiKey });
    for (const channel of channels) {
      this.#sluice.subscribe(channel, {
        onEvent: ({ type, id }) => this.#receive(channel, type, id),
        onGap: ({ topic }) => this.#begin(topic),
        onStatus: ({ state }) => {
          if (state !== 'live') this.#live.delete(channel);
          else this.#live.add(channel);
          if (state === 'live' && !this.#contents.has(channel)) this.#begin(channel);
        },
        onError: ({ message }) => this.#onFault('other', `${channel} ended: ${message}`),
      });
    }
  }

  /** The gateways follow all channels. */
  get isFollowing(): boolean {
    return this.#live.size === channels.length;
  }

  /** Whether it has everything that it must have. */
  isWhole(emitted: Emitted): boolean {
    return channels.every((topic) => this.#missing(topic, emitted).length === 0);
  }

  judge(emitted: Emitted): void {
    for (const topic of channels) {
      const missing = this.#missing(topic, emitted);
      if (missing.length > 0) this.#onFault('gap', `${topic}: lacks ${missing.length}: ${missing.slice(0, namedIds).join(', ')}`);
    }
  }

  close(): void {
    this.#sluice.close();
  }

  #begin(topic: string): void {
    this.#contents.set(topic, { ids: new Set(), sinceMs: performance.now() });
  }

  #receive(topic: string, type: string, id: string): void {
    const ids = this.#contents.get(topic)?.ids;
    if (type === 'retract') ids?.delete(id);
    else if (ids?.has(id) === true) this.#onFault('double', `${topic}: ${type} ${id} came again`);
    else ids?.add(id);
  }

  #missing(topic: string, emitted: Emitted): string[] {
    const { ids, sinceMs } = this.#contents.get(topic) ?? { ids: new Set(), sinceMs: Infinity };
    const keys = [...(emitted.get(topic) ?? [])].filter(([, atMs]) => atMs > sinceMs + afterGapMs).map(([key]) => key);
    return keys.filter((key) => !ids.has(key.slice(key.indexOf(' ') + 1)));
  }
}
