import { randomBytes } from 'node:crypto';

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeDigits = 10;
const chanceBytes = 16;

/** A new id of an order: 48 bits of time, then 80 of chance (as a ULID has them), so that ids sort by when they were made. */
export function newOrderId(nowMs: number): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < timeDigits; i++) {
    time = digits[rest % 32]! + time;
    rest = Math.floor(rest / 32);
  }
  let chance = '';
  for (const byte of randomBytes(chanceBytes)) chance += digits[byte & 31]!;
  return `ord_${time}${chance}`;
}
