import { placesOf } from './addresses.ts';
import { dataUriBytes } from './data-uri.ts';
import { readDocument } from './document.ts';
import { guardedGet, type Fetched, type GetOptions } from '../guarded-http/guarded-get.ts';
import { imageSizeOf, isDrawable } from './images/image-size.ts';
import { imageTypeOf, type ImageType } from './images/image-type.ts';
import type { FetchFault } from '../guarded-http/fetch-fault.ts';
import type { MetadataOutcome } from './outcome.ts';
import { internetRules, type FetchRules } from '../guarded-http/rules.ts';
import { FetchSlots } from '../guarded-http/slots.ts';

/** Bounds of times, bytes, and concurrent requests. */
const fetchLimits = {
  /** Bytes of a document, both as received and after unpacking. */
  documentBytes: 64 * 1024,
  imageBytes: 5 * 1024 * 1024,
  /** Time for one whole fetch: names, redirects, further gateways. */
  timeoutMs: 5_000,
  /** Time that a fetch may wait for its turn. */
  waitMs: 5_000,
  /** Concurrent requests: in all, and to one host. */
  total: 24,
  perHost: 6,
  /** Fetches that may wait for their turn. */
  maxWaiting: 1_000,
};

export interface FetcherOptions {
  /** Gateways of IPFS, each ending in `/ipfs/`, in the order to try. */
  readonly ipfsGateways: readonly string[];
  readonly rules?: FetchRules;
  readonly limits?: Partial<typeof fetchLimits>;
}

export type ImageOutcome =
  | { readonly ok: true; readonly image: { readonly type: ImageType; readonly bytes: Buffer } }
  | { readonly ok: false; readonly reason: FetchFault };

/**
 * Fetches what the creators of tokens point at: the JSON document of a `uri`, and the image that it names. Anybody can create a token, so
 * only the public internet is ever contacted (`internetRules`), and time, bytes and concurrent requests are bounded. Never rejects.
 */
export class MetadataFetcher {
  readonly #gateways: readonly string[];
  readonly #rules: FetchRules;
  readonly #limits: typeof fetchLimits;
  readonly #slots: FetchSlots;
  readonly #closing = new AbortController();

  constructor({ ipfsGateways, rules = internetRules, limits = {} }: FetcherOptions) {
    this.#gateways = ipfsGateways;
    this.#rules = rules;
    this.#limits = { ...fetchLimits, ...limits };
    this.#slots = new FetchSlots(this.#limits);
  }

  /** The document of a `uri`: at an address, on IPFS, or in the `uri` itself (`data:`). */
  async metadata(uri: string): Promise<MetadataOutcome> {
    // On chain, a text may be padded with zeros.
    const place = uri.replaceAll('\0', '').trim();
    const fetched = /^data:/i.test(place) ? this.#carried(place) : await this.#fetch(place, 'application/json', this.#limits.documentBytes);
    if (!fetched.ok) return fetched;
    const metadata = readDocument(fetched.body);
    return metadata === null ? { ok: false, reason: 'malformed' } : { ok: true, metadata };
  }

  /** The image at an address. Its own bytes must show that it is of a forwarded type, and not too large to be drawn. */
  async image(address: string): Promise<ImageOutcome> {
    const fetched = await this.#fetch(address, 'image/webp,image/png,image/jpeg,image/gif', this.#limits.imageBytes);
    if (!fetched.ok) return fetched;
    const type = imageTypeOf(fetched.body);
    const size = type === null ? null : imageSizeOf(type, fetched.body);
    if (type === null || size === null) return { ok: false, reason: 'malformed' };
    return isDrawable(size) ? { ok: true, image: { type, bytes: fetched.body } } : { ok: false, reason: 'too_large' };
  }

  /** Ends all running fetches. */
  close(): void {
    this.#closing.abort();
  }

  #carried(uri: string): Fetched {
    // Base64 and percent-encoding only make it longer.
    if (uri.length > 3 * this.#limits.documentBytes) return { ok: false, reason: 'too_large' };
    const body = dataUriBytes(uri);
    if (body === null) return { ok: false, reason: 'malformed' };
    return body.length > this.#limits.documentBytes ? { ok: false, reason: 'too_large' } : { ok: true, body };
  }

  async #fetch(uri: string, accept: string, maxBytes: number): Promise<Fetched> {
    if (this.#closing.signal.aborted) return { ok: false, reason: 'closed' };
    const places = placesOf(uri, this.#gateways);
    if (places === null) return { ok: false, reason: 'refused' };
    let last: Fetched = { ok: false, reason: 'refused' };
    let leftMs = this.#limits.timeoutMs;
    for (let i = 0; i < places.length; i++) {
      // The remaining time is divided evenly between the remaining places.
      const options: GetOptions = { accept, maxBytes, timeoutMs: leftMs / (places.length - i), waitMs: this.#limits.waitMs };
      const beganMs = performance.now();
      last = await guardedGet(places[i]!, options, this.#rules, this.#slots, this.#closing.signal);
      if (last.ok || last.reason === 'refused' || last.reason === 'closed') return last;
      leftMs = Math.max(1, leftMs - (performance.now() - beganMs));
    }
    return last;
  }
}
