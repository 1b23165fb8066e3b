import type { ImageOutcome, MetadataFetcher } from './fetch.ts';
import type { MetadataOutcome, OffChainMetadata } from './outcome.ts';
import { FetchCache } from './fetch-cache.ts';

type Document = Extract<MetadataOutcome, { ok: true }>;
type Image = Extract<ImageOutcome, { ok: true }>;

const bookLimits = {
  documentBytes: 32 * 1024 * 1024,
  documentsUnderWay: 2_000,
  imageBytes: 64 * 1024 * 1024,
  /** Each fetch may need 5 MB meanwhile. */
  imagesUnderWay: 16,
} as const;

/** Off-chain metadata by `uri`, and images by address. They are fetched on request and cached for a while. */
export class TokenMetadataBook {
  readonly #documents: FetchCache<Document>;
  readonly #images: FetchCache<Image>;

  constructor(fetcher: Pick<MetadataFetcher, 'metadata' | 'image'>) {
    this.#documents = new FetchCache<Document>({
      fetch: (uri) => fetcher.metadata(uri),
      bytesOf: ({ metadata }) => 2 * Object.values(metadata).join('').length,
      maxBytes: bookLimits.documentBytes,
      maxUnderWay: bookLimits.documentsUnderWay,
    });
    this.#images = new FetchCache<Image>({
      fetch: (address) => fetcher.image(address),
      bytesOf: ({ image }) => image.bytes.length,
      maxBytes: bookLimits.imageBytes,
      maxUnderWay: bookLimits.imagesUnderWay,
    });
  }

  /** The cached document; null if there is none. A document that was never requested is then fetched in the background. */
  get(uri: string): OffChainMetadata | null {
    const known = this.#documents.known(uri);
    if (known === undefined) void this.#documents.load(uri);
    return known?.ok === true ? known.metadata : null;
  }

  /** The document; fetched if it is not cached. Never rejects. */
  load(uri: string): Promise<MetadataOutcome> {
    return this.#documents.load(uri);
  }

  /** The image at an address; fetched if it is not cached. Never rejects. */
  image(address: string): Promise<ImageOutcome> {
    return this.#images.load(address);
  }
}
