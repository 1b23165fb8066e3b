import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

/** For so long a message may be signed and sent back. */
export const nonceMs = 5 * 60_000;
/** How far the clock of another gateway may go ahead. */
const aheadMs = 60_000;

const numberDigits = 14;
const randomDigits = 18;
const nonceForm = /^[0-9a-f]{64}$/;

export interface Nonce {
  readonly text: string;
  /**
   * When it was made, in microseconds of Unix time. An account takes only nonces with a greater number than that of the last one it
   * took: so each works once, and nobody has to keep those that nobody used.
   */
  readonly number: number;
}

/** Nonces of messages to sign in with. They carry their time and a signature of ours (HMAC): nothing is stored of a nonce. */
export class Nonces {
  readonly #key: Uint8Array;

  /** `key`: the same on all gateways. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** Letters and digits only, as the wallets want it. */
  make(nowMs: number): Nonce {
    const number = nowMs * 1000 + randomInt(1000);
    const head = number.toString(16).padStart(numberDigits, '0') + randomBytes(randomDigits / 2).toString('hex');
    return { text: head + this.#sign(head), number };
  }

  /** Null where we did not make it, or too long ago. */
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
