import type { ImageOutcome, MetadataFetcher } from './fetch.ts';
import type { MetadataOutcome, OffChainMetadata } from './outcome.ts';
import { Shelf } from './shelf.ts';

type Document = Extract<MetadataOutcome, { ok: true }>;
type Image = Extract<ImageOutcome, { ok: true }>;

const bookLimits = {
  documentBytes: 32 * 1024 * 1024,
  documentsUnderWay: 2_000,
  imageBytes: 64 * 1024 * 1024,
  /** Each may take 5 MB meanwhile. */
  imagesUnderWay: 16,
} as const;

/** Off-chain metadata by `uri`, and images by their address: fetched when they are asked for, and kept for a while. */
export class TokenMetadataBook {
  readonly #documents: Shelf<Document>;
  readonly #images: Shelf<Image>;

  constructor(fetcher: Pick<MetadataFetcher, 'metadata' | 'image'>) {
    this.#documents = new Shelf<Document>({
      fetch: (uri) => fetcher.metadata(uri),
      bytesOf: ({ metadata }) => 2 * Object.values(metadata as Record<keyof OffChainMetadata, string | null>).reduce(addChars, 0),
      maxBytes: bookLimits.documentBytes,
      maxUnderWay: bookLimits.documentsUnderWay,
    });
    this.#images = new Shelf<Image>({
      fetch: (address) => fetcher.image(address),
      bytesOf: ({ image }) => image.bytes.length,
      maxBytes: bookLimits.imageBytes,
      maxUnderWay: bookLimits.imagesUnderWay,
    });
  }

  /** What is known now; null where nothing is. What was not asked for yet is fetched from here on, in the background. */
  get(uri: string): OffChainMetadata | null {
    const known = this.#documents.known(uri);
    if (known === undefined) void this.#documents.load(uri);
    return known?.ok === true ? known.metadata : null;
  }

  /** The document, fetched where it is not known. Never rejects. */
  load(uri: string): Promise<MetadataOutcome> {
    return this.#documents.load(uri);
  }

  /** The image at an address, fetched where it is not known. Never rejects. */
  image(address: string): Promise<ImageOutcome> {
    return this.#images.load(address);
  }
}

function addChars(sum: number, text: string | null): number {
  return sum + (text === null ? 0 : text.length);
}
