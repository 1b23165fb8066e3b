/**
 * Writes frames around events. The publisher has encoded each event once; its bytes are copied and never parsed.
 *
 * JSON: `{"topic":"…","seq":1,"prev":0,"data":…}`. MessagePack: the same map. `prev` is present under a filter only.
 */
export type Format = 'json' | 'msgpack';
export const formats = ['json', 'msgpack'] as const satisfies readonly Format[];

/** The parts of a topic's frames that never change. */
export interface FrameHead {
  readonly json: Buffer;
  readonly msgpack: Buffer;
}

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const jsonPrev = latin1(',"prev":');
const jsonData = latin1(',"data":');
const brace = 0x7d;
const msgpackPrev = latin1('\xa4prev');
const msgpackData = latin1('\xa4data');
/** Two numbers of at most 16 digits and the fixed parts. */
const overhead = 64;
const jsonHead = ['{"topic":', ',"seq":'] as const;
const msgpackHead = ['\xa5topic', '\xa3seq'] as const;

export function frameHead(topic: string): FrameHead {
  const name = Buffer.from(topic);
  if (name.length > 0xff) throw new Error('a topic has at most 255 bytes');
  return {
    json: Buffer.from(jsonHead.join(JSON.stringify(topic))),
    msgpack: Buffer.concat([latin1(msgpackHead[0]), Buffer.from([0xd9, name.length]), name, latin1(msgpackHead[1])]),
  };
}

/** An upper bound for the bytes of a topic's name in either format. */
export function nameBytes(head: FrameHead): number {
  return head.json.length;
}

/** Writes the name of a topic as a string; returns the offset after it. */
export function writeName(target: Buffer, at: number, head: FrameHead, format: Format): number {
  const [before, after] = format === 'json' ? jsonHead : msgpackHead;
  const bytes = head[format];
  return at + bytes.copy(target, at, before.length, bytes.length - after.length);
}

/** An upper bound for the bytes of a frame. */
export function frameBytes(head: FrameHead, data: Uint8Array): number {
  return head.json.length + data.length + overhead;
}

/** Writes one JSON frame at offset `at`; returns the offset after it. Without `prev` if that is null. */
export function writeJsonFrame(target: Buffer, at: number, head: FrameHead, seq: number, prev: number | null, json: Uint8Array): number {
  target.set(head.json, at);
  at += head.json.length;
  at = writeDecimal(target, at, seq);
  if (prev !== null) {
    target.set(jsonPrev, at);
    at += jsonPrev.length;
    at = writeDecimal(target, at, prev);
  }
  target.set(jsonData, at);
  at += jsonData.length;
  target.set(json, at);
  at += json.length;
  target[at] = brace;
  return at + 1;
}

/** Writes one MessagePack frame at offset `at`; returns the offset after it. Without `prev` if that is null. */
export function writeMsgpackFrame(
  target: Buffer,
  at: number,
  head: FrameHead,
  seq: number,
  prev: number | null,
  msgpack: Uint8Array,
): number {
  target[at++] = prev === null ? 0x83 : 0x84;
  target.set(head.msgpack, at);
  at = writeUnsigned(target, at + head.msgpack.length, seq);
  if (prev !== null) {
    target.set(msgpackPrev, at);
    at = writeUnsigned(target, at + msgpackPrev.length, prev);
  }
  target.set(msgpackData, at);
  at += msgpackData.length;
  target.set(msgpack, at);
  return at + msgpack.length;
}

export function writeDecimal(target: Buffer, at: number, value: number): number {
  let end = at + 1;
  for (let bound = 10; value >= bound; bound *= 10) end++;
  for (let place = end - 1; place >= at; place--) {
    const rest = Math.floor(value / 10);
    target[place] = 0x30 + (value - rest * 10);
    value = rest;
  }
  return end;
}

/** Writes an integer from 0 to 2^53; returns the offset after it. */
export function writeUnsigned(target: Buffer, at: number, value: number): number {
  if (value < 0x80) {
    target[at] = value;
    return at + 1;
  }
  if (value <= 0xffff) {
    target[at] = 0xcd;
    return target.writeUInt16BE(value, at + 1);
  }
  if (value <= 0xffffffff) {
    target[at] = 0xce;
    return target.writeUInt32BE(value, at + 1);
  }
  target[at] = 0xcf;
  return target.writeUInt32BE(value >>> 0, target.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at + 1));
}
