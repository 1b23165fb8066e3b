import { randomBytes } from 'node:crypto';
import { orderIdPattern } from '@sluice/shared/wire/values/values.ts';

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeDigits = 10;
const randomDigits = 16;

/** A new order id: 48 bits of time and 80 random bits, like a ULID, so that ids sort by creation time. */
export function newOrderId(nowMs: number): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < timeDigits; i++) {
    time = digits[rest % 32]! + time;
    rest = Math.floor(rest / 32);
  }
  let random = '';
  for (const byte of randomBytes(randomDigits)) random += digits[byte & 31]!;
  return `ord_${time}${random}`;
}

const form = new RegExp(orderIdPattern);

/** Whether a text can be the id of an order. No other text is passed to the store. */
export function isOrderId(text: string): boolean {
  return form.test(text);
}
