const nil = 0xc0;
const no = 0xc2;
const yes = 0xc3;
const array16 = 0xdc;
const map16 = 0xde;
/** Objects and lists inside each other. */
const maxDepth = 4;

/**
 * Reads fields of a MessagePack map, in the order in which they were written. The fields before a requested one are skipped. If a requested field
 * does not follow, or has a type that was not requested, `failed` becomes true, and all values are invalid.
 */
export class MsgpackFields {
  failed = true;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  begin(bytes: Uint8Array): void {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = 0;
    this.failed = false;
    this.#enterMap();
  }

  text(name: string): string {
    this.#seek(name);
    const length = this.#textLength();
    const from = this.#at;
    this.#at = from + length;
    if (this.#at > this.#bytes.length) this.failed = true;
    return this.failed ? '' : this.#bytes.toString('latin1', from, this.#at);
  }

  number(name: string): number {
    const value = this.nullableNumber(name);
    if (value === null) this.failed = true;
    return value ?? 0;
  }

  nullableNumber(name: string): number | null {
    this.#seek(name);
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

  /** Whether the next field has this name. Its value is then always true. */
  flag(name: string): boolean {
    if (!this.#isNext(name)) return false;
    this.#at += 1 + name.length;
    if (this.#bytes[this.#at++] !== yes) this.failed = true;
    return true;
  }

  /** A string that may be absent; null if it is. */
  optionalText(name: string): string | null {
    return this.#isNext(name) ? this.text(name) : null;
  }

  /** Begins to read the fields of a map inside this one. */
  enter(name: string): void {
    this.#seek(name);
    this.#enterMap();
  }

  /** The same for a map that may be null: false if it is. */
  enterOrNull(name: string): boolean {
    this.#seek(name);
    if (this.#bytes[this.#at] === nil) {
      this.#at++;
      return false;
    }
    this.#enterMap();
    return true;
  }

  skip(name: string): void {
    this.#seek(name);
    this.#skipValue(0);
  }

  skipOptional(name: string): void {
    if (this.#isNext(name)) this.skip(name);
  }

  #isNext(name: string): boolean {
    const bytes = this.#bytes;
    const at = this.#at;
    const { length } = name;
    if (bytes[at] !== (0xa0 | length)) return false;
    for (let i = 0; i < length; i++) if (bytes[at + 1 + i] !== name.charCodeAt(i)) return false;
    return true;
  }

  /** Goes to the value of a field. */
  #seek(name: string): void {
    while (!this.#isNext(name) && !this.failed) this.#skipField(0);
    this.#at += 1 + name.length;
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
    if (head < 0x80 || head >= 0xe0 || head === nil || head === no || head === yes) return;
    if (head < 0xa0) this.#skipItems(head & 0x0f, head < 0x90, depth);
    else if (head < 0xc0) this.#at += head & 0x1f;
    else if (head === 0xd9) this.#at += 1 + (bytes[this.#at] ?? 0);
    else if (head === 0xcb || head === 0xcf || head === 0xd3) this.#at += 8;
    else if (head === 0xcc || head === 0xd0) this.#at += 1;
    else if (head === 0xcd || head === 0xd1) this.#at += 2;
    else if (head === 0xce || head === 0xd2) this.#at += 4;
    else if (head === 0xda) this.#at += 2 + this.#u16();
    else if (head === map16 || head === array16) {
      const items = this.#u16();
      this.#at += 2;
      this.#skipItems(items, head === map16, depth);
    } else this.failed = true;
  }

  #skipItems(items: number, isMap: boolean, depth: number): void {
    if (depth === maxDepth) this.failed = true;
    for (let left = items; left > 0 && !this.failed; left--) {
      if (isMap) this.#skipField(depth + 1);
      else this.#skipValue(depth + 1);
      if (this.#at > this.#bytes.length) this.failed = true;
    }
  }

  #skipField(depth: number): void {
    const length = this.#textLength();
    this.#at += length;
    this.#skipValue(depth);
  }

  #u16(): number {
    return ((this.#bytes[this.#at] ?? 0) << 8) | (this.#bytes[this.#at + 1] ?? 0);
  }
}
