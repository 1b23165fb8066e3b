import { createRequire } from 'node:module';
import { BorshCoder, type Idl } from '@coral-xyz/anchor';
import type { DecodedRecord, JsonValue } from '@sluice/programs/idl/coder.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { describe, expect, it } from 'vitest';
import { fixturesNote, fixturesPresent } from '../golden/fixtures.ts';
import { coderOf, jupiter, publishedIdls, recordedTransactions } from './published.ts';

interface Reference {
  readonly instruction: { decode(data: Buffer): { name: string; data: unknown } | null };
  readonly events: { decode(text: string): { name: string; data: unknown } | null };
}

/** Anchor as each SDK brings it; for the old format, the Anchor 0.29 of that SDK. */
function referenceOf(programId: string): Reference {
  const idl = JSON.parse(publishedIdls[programId]!()) as Idl;
  if (programId !== jupiter) return new BorshCoder(idl);
  const old = createRequire(createRequire(import.meta.url).resolve('@jup-ag/instruction-parser'));
  const { BorshCoder: OldCoder } = old('@coral-xyz/anchor') as { BorshCoder: new (from: unknown) => Reference };
  return new OldCoder(idl);
}

/** What a program of the SDK sees, with numbers and addresses as text. */
function plain(value: unknown): JsonValue {
  if (value === null || typeof value !== 'object') return value as JsonValue;
  if ('toBase58' in value) return (value as { toBase58(): string }).toBase58();
  if ('toTwos' in value) return (value as { toString(radix: number): string }).toString(10);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]));
}

function attempt(decode: () => { name: string; data: unknown } | null): { name: string; data: JsonValue } | null {
  try {
    const found = decode();
    return found === null ? null : { name: found.name, data: plain(found.data) };
  } catch {
    return null;
  }
}

/** A field that the record lacks is absent in ours; the reference reads zeros for it. */
function expectSame(ours: DecodedRecord, reference: ReturnType<typeof attempt>, where: string): void {
  if (ours.kind !== 'decoded') {
    expect(reference, `${where}: ${JSON.stringify(ours)}`).toBeNull();
    return;
  }
  expect(reference?.name, where).toBe(ours.name);
  const names = Object.keys(ours.data as object);
  const same = Object.entries(reference!.data as object).slice(0, names.length);
  // The old clients of Anchor wrote variants in camelCase; ours have the name of the IDL.
  const old = where.includes('in the old format');
  const theirs = Object.fromEntries(same);
  expect(old ? lowerCase(ours.data) : ours.data, where).toEqual(old ? lowerCase(theirs) : theirs);
}

/** What the recordings contain that their IDL describes. */
const decoded: Readonly<Record<string, object>> = {
  '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P': { events: 14, instructions: 7 },
  pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA: { events: 4, instructions: 2 },
  dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN: { events: 4, instructions: 2 },
  cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG: { events: 5, instructions: 5 },
  whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc: { events: 11, instructions: 13 },
  [jupiter]: { events: 16, instructions: 8 },
};

function lowerCase(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(lowerCase);
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name.toLowerCase(), lowerCase(field)]));
}

describe.skipIf(!fixturesPresent)(`published IDLs decode recorded transactions as their SDKs do (${fixturesNote})`, () => {
  for (const programId of Object.keys(publishedIdls)) {
    it(programId, () => {
      const [coder, reference] = [coderOf(programId), referenceOf(programId)];
      expect(coder.idl.refused).toEqual([]);
      const counts = { events: 0, instructions: 0 };
      for (const [path, answer] of recordedTransactions()) {
        const view = readTransaction(answer);
        if (view.kind === 'malformed') throw new Error(view.reason);
        const inner = [...(view.inner?.values() ?? [])].flat();
        for (const { programId: called, data } of [...view.instructions, ...inner]) {
          if (called !== programId) continue;
          const event = Buffer.from(data).toString('hex').startsWith('e445a52e51cb9a1d') ? data.subarray(8) : null;
          const ours = event === null ? coder.decode('instructions', data) : coder.decode('events', event);
          const padded = Buffer.concat([event ?? data, Buffer.alloc(512)]);
          const theirs = attempt(() =>
            event === null ? reference.instruction.decode(padded) : reference.events.decode(padded.toString('base64')),
          );
          expectSame(ours, theirs, programId === jupiter ? `${path}, in the old format` : path);
          if (ours.kind === 'decoded') counts[event === null ? 'instructions' : 'events']++;
        }
        readLogs(view.logs, (called, at, data) => {
          if (called !== programId) return;
          const ours = coder.decode('events', data);
          expectSame(
            ours,
            attempt(() => reference.events.decode(Buffer.concat([data, Buffer.alloc(512)]).toString('base64'))),
            `${path} ${at}`,
          );
          if (ours.kind === 'decoded') counts.events++;
        });
      }
      expect(counts).toEqual(decoded[programId]);
    });
  }

  it('names the errors of the program, and those of Anchor itself', () => {
    expect(coderOf(jupiter).errorOf(6001)).toEqual({
      name: 'SlippageToleranceExceeded',
      message: 'Slippage tolerance exceeded',
      from: 'idl',
    });
    expect(coderOf(jupiter).errorOf(3012)).toMatchObject({ name: 'AccountNotInitialized', from: 'anchor' });
    expect(coderOf(jupiter).errorOf(1)).toBeNull();
  });
});
