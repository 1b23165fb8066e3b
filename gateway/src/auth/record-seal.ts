import { createHmac, timingSafeEqual } from 'node:crypto';

/** What a record is for: one made for the other is refused. */
export type RecordPurpose = 'ticket' | 'private event';

/** Bytes of a seal. */
export const sealBytes = 32;

/** How far the clocks of two gateways may differ: a record counts as expired only this much later. */
const clockDifferenceMs = 5_000;

/**
 * HMAC-SHA-256 over records that gateways keep in Redis and that grant something or belong to one key. Redis may be read and written by
 * others: without a seal of the fleet a record is refused. The seal covers the purpose, the name under which the record is stored, its end
 * and its content, so that none of them can be exchanged.
 */
export class RecordSeal {
  /** Records refused: the seal is not ours, they have expired, or they were used before. */
  readonly refused: Record<RecordPurpose, number> = { ticket: 0, 'private event': 0 };
  readonly #key: Uint8Array;

  /** `key`: the same on all gateways, and known to nobody else. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  of(purpose: RecordPurpose, name: string, endsAtMs: number, ...content: readonly Uint8Array[]): Buffer {
    const hmac = createHmac('sha256', this.#key);
    const length = Buffer.alloc(4);
    for (const part of [purpose, name, String(endsAtMs), ...content]) {
      length.writeUInt32BE(Buffer.byteLength(part));
      hmac.update(length).update(part);
    }
    return hmac.digest();
  }

  /** Whether the record is ours and has not expired at `nowMs`; counts it where it is not. */
  check(
    seal: Uint8Array,
    nowMs: number,
    purpose: RecordPurpose,
    name: string,
    endsAtMs: number,
    ...content: readonly Uint8Array[]
  ): boolean {
    const isOurs = seal.length === sealBytes && timingSafeEqual(seal, this.of(purpose, name, endsAtMs, ...content));
    if (isOurs && nowMs < endsAtMs + clockDifferenceMs) return true;
    this.refused[purpose]++;
    return false;
  }
}
