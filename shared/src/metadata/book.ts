import { LruCache } from './lru.ts';
import type { MetadataOutcome, OffChainMetadata } from './outcome.ts';

/** Bytes of all that is kept, by a rough count of its texts. */
const maxKeptBytes = 32 * 1024 * 1024;
/** What an entry takes beside its texts. */
const entryBytes = 400;
/** The document behind a `uri` hardly ever changes. */
const keptMs = 30 * 60_000;
/** What could not be had may be there soon: the files of a new token often come after it. */
const failureKeptMs = 30_000;
/** Addresses being fetched or waiting for it; one more is answered `busy`. */
const maxUnderWay = 2_000;

/** Fetches the JSON behind a `uri`; see `MetadataFetcher`. Never rejects. */
export interface MetadataSource {
  metadata(uri: string): Promise<MetadataOutcome>;
}

/** Off-chain metadata by `uri`: each is fetched once for all who ask at the same time, and kept for a while, failures briefly. */
export class TokenMetadataBook {
  readonly #source: MetadataSource;
  readonly #kept = new LruCache<MetadataOutcome>(maxKeptBytes);
  readonly #underWay = new Map<string, Promise<MetadataOutcome>>();

  constructor(source: MetadataSource) {
    this.#source = source;
  }

  /** What is known now; null where nothing is. What was not asked for yet is fetched from here on, in the background. */
  get(uri: string): OffChainMetadata | null {
    const known = this.#kept.get(uri, performance.now());
    if (known === undefined) void this.load(uri);
    return known?.ok === true ? known.metadata : null;
  }

  /** The document, fetched where it is not known. Never rejects. */
  load(uri: string): Promise<MetadataOutcome> {
    const known = this.#kept.get(uri, performance.now());
    if (known !== undefined) return Promise.resolve(known);
    const asked = this.#underWay.get(uri);
    if (asked !== undefined) return asked;
    if (this.#underWay.size >= maxUnderWay) return Promise.resolve({ ok: false, reason: 'busy' });
    const asking = this.#ask(uri);
    this.#underWay.set(uri, asking);
    return asking;
  }

  async #ask(uri: string): Promise<MetadataOutcome> {
    try {
      const outcome = await this.#source.metadata(uri);
      // What was refused for want of room is no word about the document.
      const isWord = outcome.ok || (outcome.reason !== 'busy' && outcome.reason !== 'closed');
      if (isWord) this.#kept.set(uri, outcome, weightOf(uri, outcome), performance.now() + (outcome.ok ? keptMs : failureKeptMs));
      return outcome;
    } finally {
      this.#underWay.delete(uri);
    }
  }
}

function weightOf(uri: string, outcome: MetadataOutcome): number {
  const texts = outcome.ok ? Object.values(outcome.metadata as unknown as Record<string, string | null>) : [];
  return entryBytes + 2 * texts.reduce((sum, text) => sum + (text?.length ?? 0), uri.length);
}
