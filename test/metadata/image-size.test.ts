import { imageSizeOf, isDrawable } from '@sluice/shared/metadata/images/image-size.ts';
import { imageTypeOf, type ImageType } from '@sluice/shared/metadata/images/image-type.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pngOf } from './images.ts';

const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
const u16 = (...values: readonly number[]): Buffer => Buffer.concat(values.map((value) => Buffer.of(value >> 8, value & 0xff)));
const u16le = (...values: readonly number[]): Buffer => Buffer.concat(values.map((value) => Buffer.of(value & 0xff, value >> 8)));
const u24le = (value: number): Buffer => Buffer.of(value & 0xff, (value >> 8) & 0xff, value >> 16);
const u32le = (value: number): Buffer => {
  const made = Buffer.alloc(4);
  made.writeUInt32LE(value);
  return made;
};

/** A segment of JPEG with its length. */
const segment = (marker: number, data: Buffer): Buffer => Buffer.concat([Buffer.of(0xff, marker), u16(data.length + 2), data]);
const frame = (width: number, height: number, marker = 0xc0): Buffer =>
  segment(marker, Buffer.concat([Buffer.of(8), u16(height, width), Buffer.of(1, 1, 0x11, 0)]));
const jpeg = (...parts: readonly Buffer[]): Buffer => Buffer.concat([Buffer.of(0xff, 0xd8), ...parts, Buffer.of(0xff, 0xda, 0, 8)]);

const gifPicture = (left: number, top: number, width: number, height: number): Buffer =>
  Buffer.concat([Buffer.of(0x2c), u16le(left, top, width, height), Buffer.of(0, 2, 1, 0x44, 0)]);
const gif = (width: number, height: number, ...pictures: readonly Buffer[]): Buffer =>
  Buffer.concat([
    latin('GIF89a'),
    u16le(width, height),
    Buffer.of(0x80, 0, 0),
    Buffer.alloc(6),
    latin('!\xf9\x04....\0'),
    ...pictures,
    latin(';'),
  ]);

const chunk = (type: string, data: Buffer): Buffer => Buffer.concat([latin(type), u32le(data.length), data, Buffer.alloc(data.length % 2)]);
const webp = (...chunks: readonly Buffer[]): Buffer => Buffer.concat([latin('RIFF'), u32le(4), latin('WEBP'), ...chunks]);
const canvas = (width: number, height: number): Buffer =>
  chunk('VP8X', Buffer.concat([Buffer.alloc(4), u24le(width - 1), u24le(height - 1)]));
const lossy = (width: number, height: number): Buffer =>
  chunk('VP8 ', Buffer.concat([Buffer.of(0, 0, 0, 0x9d, 1, 0x2a), u16le(width, height), Buffer.alloc(3)]));
const lossless = (width: number, height: number): Buffer =>
  chunk('VP8L', Buffer.concat([Buffer.of(0x2f), u32le((width - 1) | ((height - 1) << 14))]));

describe('the size that an image declares', () => {
  it.each<[what: string, bytes: Buffer, size: readonly [number, number, number]]>([
    ['PNG', pngOf(300, 200), [300, 200, 1]],
    ['an animated PNG', pngOf(300, 200, { frames: 12 }), [300, 200, 12]],
    ['JPEG', jpeg(segment(0xe0, Buffer.alloc(14)), segment(0xdb, Buffer.alloc(65)), frame(640, 480)), [640, 480, 1]],
    ['a progressive JPEG with a preview in its metadata', jpeg(segment(0xe1, jpeg(frame(9, 9))), frame(640, 480, 0xc2)), [640, 480, 1]],
    ['JPEG with fill bytes', jpeg(Buffer.of(0xff, 0xff), frame(640, 480)), [640, 480, 1]],
    ['GIF', gif(50, 40, gifPicture(0, 0, 50, 40)), [50, 40, 1]],
    ['an animated GIF', gif(50, 40, gifPicture(0, 0, 50, 40), gifPicture(1, 1, 5, 5)), [50, 40, 2]],
    ['GIF with a picture larger than its screen', gif(1, 1, gifPicture(10, 20, 5_000, 4_000)), [5_010, 4_020, 1]],
    ['WebP', webp(lossy(640, 480)), [640, 480, 1]],
    ['lossless WebP', webp(lossless(640, 480)), [640, 480, 1]],
    [
      'an animated WebP',
      webp(canvas(640, 480), chunk('ANIM', Buffer.alloc(6)), chunk('ANMF', Buffer.alloc(17)), chunk('ANMF', Buffer.alloc(16))),
      [640, 480, 2],
    ],
    ['WebP with a picture larger than its canvas', webp(canvas(1, 1), lossy(9_000, 9_000)), [9_000, 9_000, 1]],
  ])('%s', (_what, bytes, [width, height, frames]) => {
    const type = imageTypeOf(bytes);
    expect(imageSizeOf(type!, bytes)).toEqual({ width, height, frames });
  });

  // A viewer that skips what is no segment would find a later frame, of any size.
  it.each<[what: string, type: ImageType, bytes: Buffer]>([
    ['PNG without a header', 'image/png', latin('\x89PNG\r\n\x1a\n').fill(0, 8)],
    ['PNG whose first chunk is another', 'image/png', Buffer.from(pngOf(1, 1)).fill('tEXt', 12, 16)],
    ['JPEG without a frame', 'image/jpeg', jpeg(segment(0xe0, Buffer.alloc(14)))],
    ['JPEG with a marker that has no length', 'image/jpeg', jpeg(Buffer.of(0xff, 0x01), frame(9_000, 9_000))],
    ['JPEG with a stuffed byte', 'image/jpeg', jpeg(Buffer.of(0xff, 0x00), frame(9_000, 9_000))],
    ['JPEG with bytes between segments', 'image/jpeg', jpeg(Buffer.of(1, 2, 3), frame(9_000, 9_000))],
    ['GIF with an unknown block', 'image/gif', gif(1, 1, Buffer.from('\0'), gifPicture(0, 0, 9_000, 9_000))],
    ['WebP without a picture', 'image/webp', webp(chunk('EXIF', Buffer.alloc(20)))],
  ])('is not known of %s', (_what, type, bytes) => expect(imageSizeOf(type, bytes)).toBeNull());

  it('never throws, on any bytes and on any part of an image', () => {
    const images = [
      pngOf(3, 3, { frames: 2 }),
      jpeg(frame(3, 3)),
      gif(3, 3, gifPicture(0, 0, 3, 3)),
      webp(canvas(3, 3), lossy(3, 3)),
      webp(lossless(3, 3)),
    ];
    for (const image of images) for (let end = 0; end <= image.length; end++) imageSizeOf(imageTypeOf(image)!, image.subarray(0, end));
    fc.assert(
      fc.property(
        fc.constantFrom('image/png', 'image/jpeg', 'image/gif', 'image/webp'),
        fc.uint8Array({ maxLength: 200 }),
        (type, bytes) => {
          imageSizeOf(
            type,
            Buffer.concat([latin(type === 'image/webp' ? 'RIFF....WEBP' : type === 'image/jpeg' ? '\xff\xd8\xff' : 'GIF89a'), bytes]),
          );
        },
      ),
    );
  });
});

it.each([
  [4_000, 4_000, 1, true],
  [27_000, 27_000, 1, false],
  [16_000_001, 1, 1, false],
  [0, 5, 1, false],
  [500, 500, 400, true],
  [500, 500, 401, false],
])('a picture of %i by %i in %i frames may be drawn: %s', (width, height, frames, expected) =>
  expect(isDrawable({ width, height, frames })).toBe(expected),
);
