import { bucketKeeping, chunkKeepS, headKeepS } from './keeping.ts';
import type { BucketChange, MintChange } from './market.ts';
import { tallyBytes, writeTally } from './tally.ts';
import { encodeTrade, priceField, tradeField } from './undecided.ts';

/** Bytes of a bucket: name of its interval, three u32, its tally. */
const bucketBytes = 1 + 2 + 12 + tallyBytes;

/** The changes of a batch as the script in Redis reads them (see there); one buffer. */
export function encodeChanges(changes: readonly MintChange[]): Buffer {
  const heads = changes.map(({ head }) => (head === null ? '' : JSON.stringify(head)));
  const undecided = changes.map(({ undecided: { trades, prices } }) => [
    ...trades.map((trade) => [tradeField(trade), encodeTrade(trade)] as const),
    ...prices.map((price) => [priceField(price), price.json] as const),
  ]);
  let bytes = 0;
  changes.forEach(({ mint, buckets, price, trades, retracted, undecided: { gone } }, index) => {
    bytes += 23 + mint.length + heads[index]!.length + (price?.length ?? 0) + buckets.length * bucketBytes;
    for (const trade of trades) bytes += 4 + trade.length;
    for (const id of retracted) bytes += 2 + Buffer.byteLength(id);
    for (const [field, value] of undecided[index]!) bytes += 5 + field.length + value.length;
    for (const field of gone) bytes += 1 + field.length;
  });
  const body = Buffer.allocUnsafe(bytes);
  let at = 0;
  changes.forEach(({ mint, head, buckets, price, trades, retracted, undecided: { gone } }, index) => {
    at = writeName(body, at, mint);
    at = writeText(body, body.writeUInt16BE(heads[index]!.length, at), heads[index]!);
    at = body.writeUInt32BE(head === null ? 0 : headKeepS(head), at);
    at = writeBytes(body, at, price ?? noBytes);
    at = body.writeUInt16BE(retracted.length, at);
    for (const id of retracted) at = body.writeUInt16BE(Buffer.byteLength(id), at) + body.write(id, at + 2);
    at = body.writeUInt16BE(trades.length, at);
    for (const trade of trades) at = writeBytes(body, at, trade);
    at = body.writeUInt16BE(undecided[index]!.length, at);
    for (const [field, value] of undecided[index]!) at = writeBytes(body, writeName(body, at, field), value);
    at = body.writeUInt16BE(gone.length, at);
    for (const field of gone) at = writeName(body, at, field);
    at = body.writeUInt16BE(buckets.length, at);
    for (const bucket of buckets) at = writeBucket(body, at, bucket, chunkKeepS(bucket.interval, head!));
  });
  return body.subarray(0, at);
}

const noBytes = new Uint8Array(0);

/** Of at most 255 bytes. */
function writeName(body: Buffer, at: number, name: string): number {
  return writeText(body, body.writeUInt8(name.length, at), name);
}

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
  let next = writeName(body, at, interval);
  next = body.writeUInt32BE(startS - (startS % chunkS), next);
  next = body.writeUInt32BE(startS, next);
  next = body.writeUInt32BE(keepS, next);
  return writeTally(body, next, tally);
}
