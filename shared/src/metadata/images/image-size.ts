import { bufferOf } from '../../codec/bytes.ts';
import type { ImageType } from './image-type.ts';

/** What an image takes when it is drawn. A small file can declare a picture that fills the memory. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
  /** Pictures of an animation; 1 for a still image. */
  readonly frames: number;
}

/** Pixels of one picture: 64 MB when it is drawn. */
const maxPixels = 16_000_000;
/** Pixels of all pictures of an animation together, each as large as the whole. */
const maxAnimatedPixels = 100_000_000;

export function isDrawable({ width, height, frames }: ImageSize): boolean {
  const pixels = width * height;
  return pixels > 0 && pixels <= maxPixels && (frames <= 1 || pixels * frames <= maxAnimatedPixels);
}

/** The size that the headers of an image declare; null if they cannot be read. Never throws. */
export function imageSizeOf(type: ImageType, bytes: Uint8Array): ImageSize | null {
  const data = bufferOf(bytes);
  switch (type) {
    case 'image/png':
      return pngSize(data);
    case 'image/jpeg':
      return jpegSize(data);
    case 'image/gif':
      return gifSize(data);
    case 'image/webp':
      return webpSize(data);
  }
}

const name = (data: Buffer, at: number): string => data.toString('latin1', at, at + 4);

/** PNG: the first chunk is `IHDR`. An `acTL` before the picture makes it an animation. */
function pngSize(data: Buffer): ImageSize | null {
  if (data.length < 33 || name(data, 12) !== 'IHDR') return null;
  let frames = 1;
  for (let at = 8; at + 12 <= data.length; at += 12 + data.readUInt32BE(at)) {
    const type = name(data, at + 4);
    if (type === 'IDAT') break;
    if (type === 'acTL') frames = Math.max(frames, data.readUInt32BE(at + 8));
  }
  return { width: data.readUInt32BE(16), height: data.readUInt32BE(20), frames };
}

/** `SOF0` to `SOF15` without the tables and the reserved marker between them. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** Other segments before the scan: tables, restart interval, applications, comments. */
const isSegment = (marker: number): boolean => [0xc4, 0xcc, 0xdb, 0xdd, 0xfe].includes(marker) || (marker >= 0xe0 && marker <= 0xef);

/** JPEG: segments, one of which is the frame. Viewers skip what is no segment, so anything unusual before the frame is refused. */
function jpegSize(data: Buffer): ImageSize | null {
  for (let at = 2; at + 9 <= data.length && data[at] === 0xff;) {
    const marker = data[at + 1]!;
    if (isFrame(marker)) return { width: data.readUInt16BE(at + 7), height: data.readUInt16BE(at + 5), frames: 1 };
    // Fill bytes may stand before a marker.
    if (marker === 0xff) at++;
    else if (isSegment(marker)) at += 2 + data.readUInt16BE(at + 2);
    else return null;
  }
  return null;
}

const gifExtension = 0x21;
const gifPicture = 0x2c;
const gifEnd = 0x3b;

/** GIF: blocks. A picture may be larger than the screen that the header declares. */
function gifSize(data: Buffer): ImageSize | null {
  if (data.length < 13) return null;
  let [width, height, frames] = [data.readUInt16LE(6), data.readUInt16LE(8), 0];
  let at = 13 + colourBytes(data[10]!);
  while (at + 10 <= data.length) {
    const block = data[at];
    if (block === gifPicture) {
      frames++;
      width = Math.max(width, data.readUInt16LE(at + 1) + data.readUInt16LE(at + 5));
      height = Math.max(height, data.readUInt16LE(at + 3) + data.readUInt16LE(at + 7));
      at = afterSubBlocks(data, at + 11 + colourBytes(data[at + 9]!));
    } else if (block === gifExtension) {
      at = afterSubBlocks(data, at + 2);
    } else if (block === gifEnd) {
      break;
    } else return null;
  }
  return { width, height, frames: Math.max(1, frames) };
}

/** Bytes of a table of colours. */
const colourBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

function afterSubBlocks(data: Buffer, start: number): number {
  let at = start;
  for (let length = data[at]; length !== undefined && length !== 0; length = data[at]) at += 1 + length;
  return at + 1;
}

const webpHeader = 12;

/** WebP: chunks. `VP8X` declares the canvas; a plain file has one picture. */
function webpSize(data: Buffer): ImageSize | null {
  let [width, height, pictures] = [0, 0, 0];
  for (let at = webpHeader; at + 8 <= data.length;) {
    const part = webpPart(data, at);
    if (part !== null) [width, height] = [Math.max(width, part[0]), Math.max(height, part[1])];
    if (name(data, at) === 'ANMF') pictures++;
    const bytes = data.readUInt32LE(at + 4);
    at += 8 + bytes + (bytes % 2);
  }
  return width === 0 ? null : { width, height, frames: Math.max(1, pictures) };
}

/** Width and height that a chunk declares; null for other chunks. */
function webpPart(data: Buffer, at: number): readonly [number, number] | null {
  const start = at + 8;
  if (start + (name(data, at) === 'VP8L' ? 5 : 10) > data.length) return null;
  switch (name(data, at)) {
    case 'VP8 ':
      return [data.readUInt16LE(start + 6) & 0x3fff, data.readUInt16LE(start + 8) & 0x3fff];
    case 'VP8L': {
      const bits = data.readUInt32LE(start + 1);
      return [1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff)];
    }
    case 'VP8X':
      return [1 + data.readUIntLE(start + 4, 3), 1 + data.readUIntLE(start + 7, 3)];
    default:
      return null;
  }
}
