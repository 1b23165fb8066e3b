import { randomBytes } from 'node:crypto';
import { nonceMs, Nonces } from '@sluice/gateway/accounts/sign-in/nonces.ts';
import { describe, expect, it } from 'vitest';

const nowMs = 1_795_276_089_393;
const key = randomBytes(32);
const nonces = new Nonces(key);

describe('a sign-in nonce', () => {
  it('is accepted for five minutes by every gateway that has the key', () => {
    const { text, number } = nonces.make(nowMs);
    const elsewhere = new Nonces(key);
    expect(text).toMatch(/^[0-9a-f]{64}$/);
    expect(Math.floor(number / 1000)).toBe(nowMs);
    expect(elsewhere.read(text, nowMs)).toEqual({ text, number });
    expect(elsewhere.read(text, nowMs + nonceMs - 1)).toEqual({ text, number });
    expect(elsewhere.read(text, nowMs + nonceMs + 1)).toBeNull();
  });

  it('may be dated at most a minute ahead', () => {
    const { text } = nonces.make(nowMs);
    expect(nonces.read(text, nowMs - 59_000)).not.toBeNull();
    expect(nonces.read(text, nowMs - 61_000)).toBeNull();
  });

  it('is refused if any digit is changed, cut or added, in capitals, or under another key', () => {
    const { text } = nonces.make(nowMs);
    for (let index = 0; index < text.length; index++) {
      const other = (Number.parseInt(text[index]!, 16) ^ 1).toString(16);
      expect(nonces.read(text.slice(0, index) + other + text.slice(index + 1), nowMs), String(index)).toBeNull();
    }
    for (const wrong of ['', text.slice(1), `${text}0`, text.replace(/[a-f]/, (digit) => digit.toUpperCase())]) {
      expect(nonces.read(wrong, nowMs)).toBeNull();
    }
    expect(new Nonces(randomBytes(32)).read(text, nowMs)).toBeNull();
  });

  it('is never created twice', () => {
    expect(new Set(Array.from({ length: 1000 }, () => nonces.make(nowMs).text)).size).toBe(1000);
  });
});
