import { randomBytes } from 'node:crypto';
import { orderIdPattern, triggerIdPattern } from '@sluice/shared/wire/values/values.ts';

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeDigits = 10;
const randomDigits = 16;

/** A new order id: 48 bits of time and 80 random bits, like a ULID, so that ids sort by creation time. */
export function newOrderId(nowMs: number): string {
  return `ord_${newUlid(nowMs)}`;
}

/** A new trigger id, of the same form. */
export function newTriggerId(nowMs: number): string {
  return `trg_${newUlid(nowMs)}`;
}

function newUlid(nowMs: number): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < timeDigits; i++) {
    time = digits[rest % 32]! + time;
    rest = Math.floor(rest / 32);
  }
  let random = '';
  for (const byte of randomBytes(randomDigits)) random += digits[byte & 31]!;
  return time + random;
}

const form = new RegExp(orderIdPattern);
const triggerForm = new RegExp(triggerIdPattern);

/** Whether a text can be the id of an order. No other text is passed to the store. */
export function isOrderId(text: string): boolean {
  return form.test(text);
}

/** Whether a text can be the id of a trigger. */
export function isTriggerId(text: string): boolean {
  return triggerForm.test(text);
}
