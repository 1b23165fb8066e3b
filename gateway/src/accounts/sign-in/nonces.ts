import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

/** How long a nonce is valid. */
export const nonceMs = 5 * 60_000;
/** How far the clock of another gateway may be ahead. */
const aheadMs = 60_000;

const numberDigits = 14;
const randomDigits = 18;
const nonceForm = /^[0-9a-f]{64}$/;

export interface Nonce {
  readonly text: string;
  /**
   * Unix milliseconds of its creation, followed by three random digits. An account accepts only a nonce with a higher number than its last
   * one. So each nonce works once, and unused nonces need not be stored.
   */
  readonly number: number;
}

/** Nonces for sign-in messages. A nonce contains its time and our HMAC, so it need not be stored. */
export class Nonces {
  readonly #key: Uint8Array;

  /** `key`: the same on all gateways. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** Creates a nonce of letters and digits only, as wallets require. */
  make(nowMs: number): Nonce {
    const number = nowMs * 1000 + randomInt(1000);
    const head = number.toString(16).padStart(numberDigits, '0') + randomBytes(randomDigits / 2).toString('hex');
    return { text: head + this.#sign(head), number };
  }

  /** Null if it is not one of ours, or is too old. */
  read(text: string, nowMs: number): Nonce | null {
    if (!nonceForm.test(text)) return null;
    const head = text.slice(0, numberDigits + randomDigits);
    if (!timingSafeEqual(Buffer.from(this.#sign(head)), Buffer.from(text.slice(head.length)))) return null;
    const number = Number.parseInt(text.slice(0, numberDigits), 16);
    const madeAtMs = number / 1000;
    return madeAtMs <= nowMs + aheadMs && nowMs < madeAtMs + nonceMs ? { text, number } : null;
  }

  #sign(head: string): string {
    return createHmac('sha256', this.#key)
      .update(head)
      .digest('hex')
      .slice(0, 64 - head.length);
  }
}
