import { streamLimits } from './limits.ts';
import { nameBytes, writeDecimal, writeName, writeUnsigned, type Format, type FrameHead } from './frames.ts';

const initialBytes = 16 * 1024;
/** Bytes in addition to the names: the fixed parts of the message, and an epoch and two numbers of at most 16 digits for each position. */
const overhead = 128;

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const brace = 0x7d;
const comma = 0x2c;
const jsonOpen = latin1('{"op":"heartbeat","ts":');
const jsonSlotAge = latin1(',"slotAgeMs":');
const jsonNull = latin1('null');
const jsonPositions = latin1(',"positions":{');
const msgpackOpen = latin1('\x84\xa2op\xa9heartbeat\xa2ts');
const msgpackSlotAge = latin1('\xa9slotAgeMs');
const msgpackNull = latin1('\xc0');
/** With the header of a `map 16`, whose count is written at the end. */
const msgpackPositions = latin1('\xa9positions\xde\x00\x00');

/** The part of a position before its `seq`. */
interface EpochPart {
  readonly epoch: string;
  readonly json: Uint8Array;
  readonly msgpack: Uint8Array;
}

function epochPart(epoch: string): EpochPart {
  return {
    epoch,
    json: Buffer.from(`:{"epoch":${JSON.stringify(epoch)},"seq":`),
    msgpack: Buffer.concat([latin1('\x82\xa5epoch\xd9'), Buffer.from([epoch.length]), Buffer.from(epoch), latin1('\xa3seq')]),
  };
}

/**
 * Writes heartbeats position by position, from the fixed parts of the frames of their topics. Each client gets one every second, with many
 * topics, so building an object for each would cost more than the events. At most 65,535 positions.
 */
export class HeartbeatWriter {
  #buffer = Buffer.allocUnsafeSlow(initialBytes);
  #at = 0;
  #format: Format = 'json';
  #batch = false;
  #countAt = 0;
  #count = 0;
  #epoch = epochPart('');

  /** Begins a message; with `batch`, it is the only element of an array. */
  begin(format: Format, batch: boolean, ts: number, slotAgeMs: number | null): void {
    this.#at = 0;
    this.#count = 0;
    this.#format = format;
    this.#batch = batch;
    if (format === 'json') {
      if (batch) this.#buffer[this.#at++] = 0x5b;
      this.#put(jsonOpen);
      this.#at = writeDecimal(this.#buffer, this.#at, ts);
      this.#put(jsonSlotAge);
      if (slotAgeMs === null) this.#put(jsonNull);
      else this.#at = writeDecimal(this.#buffer, this.#at, slotAgeMs);
      this.#put(jsonPositions);
    } else {
      if (batch) this.#buffer[this.#at++] = 0x91;
      this.#put(msgpackOpen);
      this.#at = writeUnsigned(this.#buffer, this.#at, ts);
      this.#put(msgpackSlotAge);
      if (slotAgeMs === null) this.#put(msgpackNull);
      else this.#at = writeUnsigned(this.#buffer, this.#at, slotAgeMs);
      this.#put(msgpackPositions);
      this.#countAt = this.#at - 2;
    }
  }

  /** Whether a further position surely fits into a message of the longest form. Without it, end this message and begin another one. */
  hasRoom(head: FrameHead): boolean {
    return this.#at + nameBytes(head) + overhead <= streamLimits.frameBytes;
  }

  add(head: FrameHead, epoch: string, seq: number): void {
    if (epoch !== this.#epoch.epoch) this.#epoch = epochPart(epoch);
    this.#makeRoom(nameBytes(head) + overhead);
    const json = this.#format === 'json';
    if (json && this.#count > 0) this.#buffer[this.#at++] = comma;
    this.#count++;
    this.#at = writeName(this.#buffer, this.#at, head, this.#format);
    this.#put(json ? this.#epoch.json : this.#epoch.msgpack);
    this.#at = json ? writeDecimal(this.#buffer, this.#at, seq) : writeUnsigned(this.#buffer, this.#at, seq);
    if (json) this.#buffer[this.#at++] = brace;
  }

  /** Returns the whole message. Its bytes are valid until the next `begin`. */
  end(): Uint8Array {
    if (this.#format === 'msgpack') this.#buffer.writeUInt16BE(this.#count, this.#countAt);
    else {
      this.#buffer[this.#at++] = brace;
      this.#buffer[this.#at++] = brace;
      if (this.#batch) this.#buffer[this.#at++] = 0x5d;
    }
    return this.#buffer.subarray(0, this.#at);
  }

  #put(bytes: Uint8Array): void {
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #makeRoom(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(this.#buffer.length * 2);
    grown.set(this.#buffer.subarray(0, this.#at));
    this.#buffer = grown;
  }
}
