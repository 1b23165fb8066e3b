import { crc32, deflateSync } from 'node:zlib';
import type { ImageOutcome, MetadataFetcher } from '@sluice/shared/metadata/fetch.ts';
import type { MetadataOutcome } from '@sluice/shared/metadata/outcome.ts';

type Fetcher = Pick<MetadataFetcher, 'metadata' | 'image'>;
type Colour = readonly [red: number, green: number, blue: number];

/** A name that is never looked up (RFC 6761), so no real token can have its metadata there. */
const place = 'https://simnet.invalid';
const metadataForm = /^https:\/\/simnet\.invalid\/pictured\/(\d{1,9})$/;
const imageForm = /^https:\/\/simnet\.invalid\/image\/(\d{1,9})\.png$/;
const side = 64;

/** Metadata address of a coin that has an image. */
export const picturedUri = (number: number): string => `${place}/pictured/${number}`;

/**
 * Answers the addresses of the market's own coins from memory, without any request, and leaves all others to `fetcher`. Only the process that runs
 * the market can: elsewhere these coins have no metadata.
 */
export function withSimulatedImages(fetcher: Fetcher): Fetcher {
  return {
    metadata: async (uri) => metadataAt(uri) ?? fetcher.metadata(uri),
    image: async (address) => imageAt(address) ?? fetcher.image(address),
  };
}

function metadataAt(uri: string): MetadataOutcome | null {
  const number = metadataForm.exec(uri)?.[1];
  if (number === undefined) return null;
  const empty = { name: null, symbol: null, twitter: null, telegram: null, website: null };
  const description = 'A simulated coin with a simulated image, worth nothing.';
  return { ok: true, metadata: { ...empty, description, image: `${place}/image/${number}.png` } };
}

function imageAt(address: string): ImageOutcome | null {
  const number = imageForm.exec(address)?.[1];
  return number === undefined ? null : { ok: true, image: { type: 'image/png', bytes: png(Number(number)) } };
}

/** A coin with a face, as PNG (RFC 2083): 8 bits of red, green and blue for each pixel. */
function png(number: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 2], 8);
  const rows = Buffer.alloc(side * (3 * side + 1));
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) rows.set(pixel(number, (x + 0.5) / side - 0.5, (y + 0.5) / side - 0.5), y * (3 * side + 1) + 1 + 3 * x);
  }
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, sum]);
}

/** Colour at a place of the picture, whose centre is 0, 0 and whose sides are 1. */
function pixel(number: number, x: number, y: number): Colour {
  const hue = (number * 137) % 360;
  const fromCentre = Math.hypot(x, y);
  if (fromCentre > 0.44) return colour(hue, 45, 24);
  if (fromCentre > 0.38) return colour(hue + 40, 75, 45);
  const isEye = Math.hypot(Math.abs(x) - 0.13, y + 0.09) < 0.05;
  return isEye || mouths[number % mouths.length]!(x, y) ? colour(hue, 60, 16) : colour(hue + 40, 85, 62 - 14 * (y + x));
}

/** Whether a place belongs to the mouth: a smile, an open mouth, a straight one. */
const mouths: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => y > 0.06 && Math.abs(Math.hypot(x, y - 0.02) - 0.18) < 0.028,
  (x, y) => Math.hypot(x, y - 0.15) < 0.09,
  (x, y) => Math.abs(x) < 0.14 && Math.abs(y - 0.15) < 0.025,
];

/** A colour from its hue in degrees, and its saturation and lightness in percent. */
function colour(hue: number, saturation: number, lightness: number): Colour {
  const strength = (saturation * Math.min(lightness, 100 - lightness)) / 10_000;
  const part = (shift: number): number => {
    const at = (shift + hue / 30) % 12;
    return Math.round(255 * (lightness / 100 - strength * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return [part(0), part(8), part(4)];
}
