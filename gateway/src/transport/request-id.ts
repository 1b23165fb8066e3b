import { randomFillSync } from 'node:crypto';

const acceptedForm = /^[A-Za-z0-9._-]{8,64}$/;
const pool = Buffer.alloc(4096);
let used = pool.length;

/** The caller's `X-Request-Id` if it has 8 to 64 letters, digits, dots, underscores or hyphens; otherwise 24 random hex digits. */
export function requestId(given: string | undefined): string {
  if (given !== undefined && acceptedForm.test(given)) return given;
  if (used + 12 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 12;
  return pool.toString('hex', used - 12, used);
}
