import { isRecord } from '../solana/encoding/json-forms.ts';
import { cleanText } from './clean-text.ts';
import type { OffChainMetadata } from './outcome.ts';
import { parseUrl } from '../guarded-http/parse-url.ts';

/** Characters of each text; the rest is cut off. */
const maxChars = { name: 128, symbol: 64, description: 1_000 } as const;
/** A longer address is left out, because a shortened one would be another address. */
const maxLinkChars = 512;

/** Reads the JSON document of a token's `uri`; null if it is not a JSON object in UTF-8. Never throws. */
export function readDocument(bytes: Uint8Array): OffChainMetadata | null {
  const document = parse(bytes);
  if (!isRecord(document)) return null;
  const fields = new Map(Object.entries(document));
  return {
    name: text(fields.get('name'), maxChars.name),
    symbol: text(fields.get('symbol'), maxChars.symbol),
    description: text(fields.get('description'), maxChars.description),
    image: link(fields.get('image')),
    twitter: link(fields.get('twitter')),
    telegram: link(fields.get('telegram')),
    website: link(fields.get('website')) ?? link(fields.get('external_url')),
  };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // Not JSON, not UTF-8, or nested too deeply to read.
    if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) return null;
    throw error;
  }
}

function text(value: unknown, max: number): string | null {
  if (typeof value !== 'string') return null;
  const clean = cleanText(value, max);
  return clean === '' ? null : clean;
}

/** An address of the web or of IPFS in its usual form; null for anything else. */
function link(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > maxLinkChars) return null;
  const trimmed = value.trim();
  const ipfs = /^(?:ipfs:\/\/(?:ipfs\/)?|\/?ipfs\/)([\w%./~-]+)$/i.exec(trimmed)?.[1];
  if (ipfs !== undefined) return `ipfs://${ipfs}`;
  if (!/^https?:\/\//i.test(trimmed)) return null;
  const url = parseUrl(trimmed);
  if (url === null || url.username !== '' || url.password !== '' || url.href.length > maxLinkChars) return null;
  return url.href;
}
