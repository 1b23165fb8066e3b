const nil = 0xc0;
const yes = 0xc3;
const map16 = 0xde;

/**
 * Reads the fields of a MessagePack map one after the other, each asked for by its name in the order in which they stand; what
 * is not wanted is skipped unread. Of what `encodeEvent` writes: maps, texts of ASCII, numbers, nil and true. Anything else,
 * or another name than the one asked for, sets `failed`, and nothing read then counts.
 */
export class MsgpackFields {
  failed = false;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#enterMap();
  }

  text(name: string): string {
    this.#key(name);
    const length = this.#textLength();
    const from = this.#at;
    this.#at = from + length;
    if (this.#at > this.#bytes.length) this.failed = true;
    return this.failed ? '' : this.#bytes.toString('latin1', from, this.#at);
  }

  /** Null for nil. */
  number(name: string): number | null {
    this.#key(name);
    const bytes = this.#bytes;
    const head = bytes[this.#at++] ?? 0xc1;
    if (head < 0x80) return head;
    if (head === nil) return null;
    const from = this.#at;
    const length = head === 0xcb || head === 0xcf ? 8 : head === 0xce ? 4 : head === 0xcd ? 2 : head === 0xcc ? 1 : 0;
    this.#at += length;
    if (length === 0 || this.#at > bytes.length) {
      this.failed = true;
      return 0;
    }
    if (head === 0xcf) return bytes.readUInt32BE(from) * 0x1_0000_0000 + bytes.readUInt32BE(from + 4);
    return length === 8 ? bytes.readDoubleBE(from) : bytes.readUIntBE(from, length);
  }

  /** Whether a field that is true or missing stands next. */
  flag(name: string): boolean {
    const { length } = name;
    const isNext = this.#bytes[this.#at] === (0xa0 | length) && this.#bytes[this.#at + 1] === name.charCodeAt(0);
    if (!isNext) return false;
    this.#key(name);
    if (this.#bytes[this.#at++] !== yes) this.failed = true;
    return true;
  }

  /** A map whose fields are read next. */
  enter(name: string): void {
    this.#key(name);
    this.#enterMap();
  }

  skip(name: string): void {
    this.#key(name);
    this.#skipValue(0);
  }

  #key(name: string): void {
    const at = this.#at;
    // The codec's names are short; length, first and last character tell them apart.
    const { length } = name;
    const bytes = this.#bytes;
    this.#at = at + 1 + length;
    if (bytes[at] !== (0xa0 | length) || bytes[at + 1] !== name.charCodeAt(0) || bytes[at + length] !== name.charCodeAt(length - 1)) {
      this.failed = true;
    }
  }

  #enterMap(): void {
    const head = this.#bytes[this.#at++] ?? 0;
    if (head === map16) this.#at += 2;
    else if (head < 0x80 || head > 0x8f) this.failed = true;
  }

  #textLength(): number {
    const bytes = this.#bytes;
    const head = bytes[this.#at++] ?? 0;
    if (head >= 0xa0 && head < 0xc0) return head & 0x1f;
    if (head === 0xd9) return bytes[this.#at++] ?? 0;
    this.failed = true;
    return 0;
  }

  #skipValue(depth: number): void {
    const bytes = this.#bytes;
    const head = bytes[this.#at++] ?? 0xc1;
    if (head < 0x80 || head >= 0xe0 || head === nil || head === yes) return;
    if (head < 0x90 && depth < 2) {
      for (let fields = head & 0x0f; fields > 0 && !this.failed; fields--) {
        const length = this.#textLength();
        this.#at += length;
        this.#skipValue(depth + 1);
      }
    } else if (head >= 0xa0 && head < 0xc0) this.#at += head & 0x1f;
    else if (head === 0xd9) this.#at += 1 + (bytes[this.#at] ?? 0);
    else if (head === 0xcb || head === 0xcf || head === 0xd3) this.#at += 8;
    else if (head === 0xcc || head === 0xd0) this.#at += 1;
    else if (head === 0xcd || head === 0xd1) this.#at += 2;
    else if (head === 0xce || head === 0xd2) this.#at += 4;
    else this.failed = true;
  }
}
