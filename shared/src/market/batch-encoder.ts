import { bucketKeeping, chunkKeepS, headKeepS } from './keeping.ts';
import type { BucketChange, MintChange } from './market.ts';
import { tallyBytes, writeTally } from './tally.ts';

/** Bytes of a bucket: name of its interval, three u32, its tally. */
const bucketBytes = 1 + 2 + 12 + tallyBytes;

/** The changes of a batch as the script in Redis reads them (see there); one buffer. */
export function encodeChanges(changes: readonly MintChange[]): Buffer {
  const heads = changes.map(({ head }) => JSON.stringify(head));
  let bytes = 0;
  changes.forEach(({ mint, buckets, price, trades }, index) => {
    bytes += 17 + mint.length + heads[index]!.length + (price?.length ?? 0) + buckets.length * bucketBytes;
    for (const trade of trades) bytes += 4 + trade.length;
  });
  const body = Buffer.allocUnsafe(bytes);
  let at = 0;
  changes.forEach(({ mint, head, buckets, price, trades }, index) => {
    at = writeText(body, body.writeUInt8(mint.length, at), mint);
    at = writeText(body, body.writeUInt16BE(heads[index]!.length, at), heads[index]!);
    at = body.writeUInt32BE(headKeepS(head), at);
    at = writeBytes(body, at, price ?? noBytes);
    at = body.writeUInt16BE(trades.length, at);
    for (const trade of trades) at = writeBytes(body, at, trade);
    at = body.writeUInt16BE(buckets.length, at);
    for (const bucket of buckets) at = writeBucket(body, at, bucket, chunkKeepS(bucket.interval, head));
  });
  return body.subarray(0, at);
}

const noBytes = new Uint8Array(0);

function writeText(body: Buffer, at: number, text: string): number {
  return at + body.write(text, at, 'latin1');
}

function writeBytes(body: Buffer, at: number, bytes: Uint8Array): number {
  const start = body.writeUInt32BE(bytes.length, at);
  body.set(bytes, start);
  return start + bytes.length;
}

function writeBucket(body: Buffer, at: number, { interval, startS, tally }: BucketChange, keepS: number): number {
  const { chunkS } = bucketKeeping[interval];
  let next = writeText(body, body.writeUInt8(interval.length, at), interval);
  next = body.writeUInt32BE(startS - (startS % chunkS), next);
  next = body.writeUInt32BE(startS, next);
  next = body.writeUInt32BE(keepS, next);
  return writeTally(body, next, tally);
}
