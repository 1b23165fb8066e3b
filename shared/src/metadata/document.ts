import type { OffChainMetadata } from './outcome.ts';
import { parseUrl } from './parse-url.ts';

/** Characters that are kept of each text; the rest is cut off. */
const maxChars = { name: 128, symbol: 64, description: 1_000 } as const;
/** A longer address is left out: cut off it would be another one. */
const maxLinkChars = 512;

/** Reads the JSON behind a token's `uri`; null where it is no JSON object in UTF-8. Never throws. */
export function readDocument(bytes: Uint8Array): OffChainMetadata | null {
  const document = parse(bytes);
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return null;
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
    // No JSON, no UTF-8, or nested too deeply to be read.
    if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) return null;
    throw error;
  }
}

/** Without control and format characters (direction marks, which make a text read as another) and halves of characters. */
function text(value: unknown, max: number): string | null {
  if (typeof value !== 'string') return null;
  const cut = value.slice(0, 8 * max).replaceAll(/[\t\n\v\f\r\u2028\u2029]+/g, ' ');
  // A joiner inside an emoji is no mark.
  const clean = cut.replaceAll(/(?!\u200D)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu, '').trim();
  const short = clean.length > max ? clean.slice(0, max).replace(/[\uD800-\uDBFF]$/, '') : clean;
  return short === '' ? null : short;
}

/** An address of the web or of IPFS, as one writes it; null for anything else. */
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
