import { bucketRetention, chunkRetentionS, headRetentionS } from './candles/retention.ts';
import type { BucketChange, MintChange } from './market.ts';
import { tallyBytes, writeTally } from './candles/tally.ts';
import { encodeTrade, priceField, tradeField } from './verdicts/undecided.ts';

/** Bytes of a bucket: the name of its interval, three u32, and its tally. */
const bucketBytes = 1 + 2 + 12 + tallyBytes;

/** Objects built for each change before its bytes are counted. */
interface Prepared {
  readonly change: MintChange;
  readonly head: string;
  readonly trades: readonly string[];
}

/** Bytes of a field's name: a slot and an address. */
const maxFieldBytes = 80;

/** Encodes the changes of a batch into one buffer, in the form that the script in Redis reads (`applyScript`). */
export function encodeChanges(changes: readonly MintChange[]): Buffer {
  const prepared = changes.map((change): Prepared => {
    return { change, head: change.head === null ? '' : JSON.stringify(change.head), trades: change.undecided.trades.map(encodeTrade) };
  });
  let bytes = 0;
  for (const one of prepared) bytes += bytesOf(one);
  const body = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const one of prepared) at = writeChange(body, at, one);
  return body.subarray(0, at);
}

/** At least the bytes that these changes need. */
function bytesOf({ change, head, trades }: Prepared): number {
  const { mint, price, undecided } = change;
  let bytes = 32 + mint.length + head.length + (price?.length ?? 0) + change.buckets.length * bucketBytes;
  for (const trade of change.trades) bytes += 4 + trade.length;
  for (const id of change.retracted) bytes += 2 + Buffer.byteLength(id);
  for (const trade of trades) bytes += 5 + maxFieldBytes + Buffer.byteLength(trade);
  for (const { json } of undecided.prices) bytes += 5 + maxFieldBytes + json.length;
  return bytes + undecided.gone.length * (1 + maxFieldBytes);
}

function writeChange(body: Buffer, from: number, { change, head, trades }: Prepared): number {
  const { mint, undecided } = change;
  let at = writeName(body, from, mint);
  at = writeText(body, body.writeUInt16BE(head.length, at), head);
  at = body.writeUInt32BE(change.head === null ? 0 : headRetentionS(change.head), at);
  at = body.writeUInt16BE(change.retracted.length, at);
  for (const id of change.retracted) at = body.writeUInt16BE(Buffer.byteLength(id), at) + body.write(id, at + 2);
  at = body.writeUInt16BE(change.trades.length, at);
  for (const trade of change.trades) at = writeBytes(body, at, trade);
  at = body.writeUInt16BE(trades.length + undecided.prices.length, at);
  for (const [index, trade] of trades.entries()) {
    const start = writeName(body, at, tradeField(undecided.trades[index]!));
    at = start + 4 + body.write(trade, start + 4);
    body.writeUInt32BE(at - start - 4, start);
  }
  for (const price of undecided.prices) at = writeBytes(body, writeName(body, at, priceField(price)), price.json);
  at = writeName(body, at, change.price ?? '');
  at = body.writeUInt16BE(undecided.gone.length, at);
  for (const field of undecided.gone) at = writeName(body, at, field);
  at = body.writeUInt32BE(change.voided?.fromS ?? 0, at);
  at = body.writeUInt32BE(change.voided?.toS ?? 0, at);
  at = body.writeUInt16BE(change.buckets.length, at);
  for (const bucket of change.buckets) at = writeBucket(body, at, bucket, chunkRetentionS(bucket.interval, change.head!));
  return at;
}

/** Writes a text of at most 255 bytes. */
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

function writeBucket(body: Buffer, at: number, { interval, startS, tally }: BucketChange, retentionS: number): number {
  const { chunkS } = bucketRetention[interval];
  let next = writeName(body, at, interval);
  next = body.writeUInt32BE(startS - (startS % chunkS), next);
  next = body.writeUInt32BE(startS, next);
  next = body.writeUInt32BE(retentionS, next);
  return writeTally(body, next, tally);
}
