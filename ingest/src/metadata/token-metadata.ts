import { systemClock, type Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import { MetadataFetcher } from '@sluice/shared/metadata/fetch.ts';
import type { FetchFault } from '@sluice/shared/guarded-http/fetch-fault.ts';
import type { OffChainMetadata } from '@sluice/shared/metadata/outcome.ts';
import type { NewTokenEvent, TokenMetadataEvent } from '@sluice/shared/wire/events/events.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { metadataIdOf } from '../publisher/outgoing.ts';

/** Tokens whose document is not fetched yet. Above this limit, the oldest is given up. */
const maxWaiting = 2_000;
/** Concurrent requests for documents. */
const maxUnderWay = 32;
/** A file often appears after its token: delays until it is requested again, up to the last time. */
const retryAfterMs = [35_000, 240_000] as const;
/** How long a token waits while another process leads and fetches. */
const standbyRetainsMs = 8_000;
/** Faults that may be over by the next time. */
const temporary: ReadonlySet<FetchFault> = new Set<FetchFault>(['unresolved', 'unreachable', 'status', 'timeout', 'busy']);

interface Waiting {
  readonly token: NewTokenEvent;
  /** When the token was added, and until when its document is not requested. By the steady clock. */
  readonly addedAtMs: number;
  readonly notBeforeMs: number;
  readonly attempts: number;
}

/** While this process leads, fetches the documents of new tokens in the background, and publishes their contents. */
export class NewTokenMetadata {
  readonly counts = {
    /** Published `tokenMetadata` events. */
    published: 0,
    /** Documents that could not be fetched, or were invalid. */
    failed: 0,
    /** Tokens given up because too many waited. */
    dropped: 0,
  };
  readonly #book: TokenMetadataBook;
  readonly #fetcher: MetadataFetcher | null;
  readonly #publish: (event: TokenMetadataEvent) => void;
  readonly #leads: () => boolean;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #waiting: Waiting[] = [];
  #underWay = 0;
  #closed = false;

  constructor(parts: {
    /** Where documents come from; the public internet if it is undefined. */
    readonly book: TokenMetadataBook | undefined;
    readonly ipfsGateways: readonly string[];
    readonly publish: (event: TokenMetadataEvent) => void;
    readonly leads: () => boolean;
    readonly clock?: Pick<Clock, 'steadyMs'>;
  }) {
    this.#fetcher = parts.book === undefined ? new MetadataFetcher(parts) : null;
    this.#book = parts.book ?? new TokenMetadataBook(this.#fetcher!);
    this.#publish = parts.publish;
    this.#leads = parts.leads;
    this.#clock = parts.clock ?? systemClock;
  }

  get waiting(): number {
    return this.#waiting.length + this.#underWay;
  }

  /** A token was created and published. */
  add(token: NewTokenEvent): void {
    if (token.uri === '') return;
    this.#keep({ token, addedAtMs: this.#clock.steadyMs(), notBeforeMs: 0, attempts: 0 });
    this.requestDue();
  }

  /** Called regularly: requests the documents that are due. */
  requestDue(): void {
    if (this.#closed) return;
    const nowMs = this.#clock.steadyMs();
    if (!this.#leads()) {
      this.#waiting = this.#waiting.filter(({ addedAtMs }) => nowMs - addedAtMs <= standbyRetainsMs);
      return;
    }
    while (this.#underWay < maxUnderWay) {
      const at = this.#waiting.findIndex(({ notBeforeMs }) => notBeforeMs <= nowMs);
      if (at < 0) return;
      void this.#ask(this.#waiting.splice(at, 1)[0]!);
    }
  }

  close(): void {
    this.#closed = true;
    this.#waiting = [];
    this.#fetcher?.close();
  }

  #keep(one: Waiting): void {
    this.#waiting.push(one);
    if (this.#waiting.length <= maxWaiting) return;
    this.#waiting.shift();
    this.counts.dropped++;
  }

  async #ask({ token, addedAtMs, attempts }: Waiting): Promise<void> {
    this.#underWay++;
    const outcome = await this.#book.load(token.uri);
    this.#underWay--;
    if (this.#closed) return;
    const nextMs = retryAfterMs[attempts];
    if (outcome.ok) {
      this.counts.published++;
      this.#publish(metadataEvent(token, outcome.metadata, nowUs()));
    } else if (temporary.has(outcome.reason) && nextMs !== undefined) {
      this.#keep({ token, addedAtMs, notBeforeMs: this.#clock.steadyMs() + nextMs, attempts: attempts + 1 });
    } else this.counts.failed++;
    this.requestDue();
  }
}

/** The event of a token's document. `receivedUs` is when the document arrived. */
function metadataEvent(token: NewTokenEvent, document: OffChainMetadata, receivedUs: number): TokenMetadataEvent {
  const event: TokenMetadataEvent = {
    type: 'tokenMetadata',
    id: metadataIdOf(token.id),
    mint: token.mint,
    quoteMint: token.quoteMint,
    pool: token.pool,
    poolAddress: token.poolAddress,
    signature: token.signature,
    slot: token.slot,
    blockTime: token.blockTime,
    commitment: token.commitment,
    ts: { received: receivedUs, published: 0 },
    name: token.name,
    symbol: token.symbol,
    uri: token.uri,
    creator: token.creator,
    initialBuy: token.initialBuy,
    traits: token.traits,
    creatorFeeBps: token.creatorFeeBps,
    description: document.description,
    image: document.image,
    twitter: document.twitter,
    telegram: document.telegram,
    website: document.website,
  };
  if (token.late === true) event.late = true;
  if (token.simulated === true) event.simulated = true;
  return event;
}
