import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';

/** What a record is for. A record for another purpose is refused. */
export type RecordPurpose = 'ticket' | 'private event' | 'handed call' | 'handed answer';

export const sealBytes = 32;

const cipher = 'aes-256-ctr';
const ivBytes = 16;

/** How far the clocks of two gateways may differ: a record is treated as expired only this much later. */
const clockDifferenceMs = 5_000;

/**
 * HMAC-SHA-256 over records in Redis that grant something or belong to one key. Others may be able to read and write Redis, so a record
 * without the seal of a gateway is refused. The seal covers the purpose, the name of the record, its expiry and its content, so that none of
 * them can be exchanged.
 */
export class RecordSeal {
  /** Records refused: the seal is not ours, they have expired, or they were used before. */
  readonly refused: Record<RecordPurpose, number> = { ticket: 0, 'private event': 0, 'handed call': 0, 'handed answer': 0 };
  readonly #key: Uint8Array;
  readonly #encryptionKey: Uint8Array;
  readonly #clock: Pick<Clock, 'wallMs'>;

  /** `key`: the same on all gateways, and secret. `clock`: all gateways agree on its wall time. */
  constructor(key: Uint8Array, clock: Pick<Clock, 'wallMs'>) {
    [this.#key, this.#clock] = [key, clock];
    this.#encryptionKey = createHmac('sha256', key).update('sluice encryption of records').digest();
  }

  /** Encrypts a content that others must not read. Encryption does not prove who wrote it, so seal the result. */
  encrypt(plain: Uint8Array): Buffer {
    const iv = randomBytes(ivBytes);
    return Buffer.concat([iv, createCipheriv(cipher, this.#encryptionKey, iv).update(plain)]);
  }

  /** Decrypts bytes. Check their seal first. */
  decrypt(encrypted: Uint8Array): Buffer {
    return createDecipheriv(cipher, this.#encryptionKey, encrypted.subarray(0, ivBytes)).update(encrypted.subarray(ivBytes));
  }

  /** The expiry of a record that is valid for `validForMs` from now on, Unix milliseconds. */
  expiryAfter(validForMs: number): number {
    return this.#clock.wallMs() + validForMs;
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

  /** Whether a gateway sealed the record and it has not expired. A refused record is counted. */
  check(seal: Uint8Array, purpose: RecordPurpose, name: string, endsAtMs: number, ...content: readonly Uint8Array[]): boolean {
    const isOurs = seal.length === sealBytes && timingSafeEqual(seal, this.of(purpose, name, endsAtMs, ...content));
    if (isOurs && this.#clock.wallMs() < endsAtMs + clockDifferenceMs) return true;
    this.refused[purpose]++;
    return false;
  }
}
