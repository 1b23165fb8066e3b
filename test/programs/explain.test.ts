import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { runExplain } from '@sluice/programs/explain/run.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { Explanation } from '@sluice/shared/wire/rest/explain.ts';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, describe, expect, it } from 'vitest';
import { explanationText } from '../../cli/explain/explanation-text.ts';
import { venueEventsOf } from '../../cli/explain/venue-events.ts';
import { fixturesFolder, fixturesNote, fixturesPresent } from '../golden/fixtures.ts';
import { jupiter, publishedIdls, recordedTransactions } from './published.ts';

const folder = mkdtempSync(join(tmpdir(), 'idl-'));
for (const [program, text] of Object.entries(publishedIdls)) writeFileSync(join(folder, `${program}.json`), text());
afterAll(() => rmSync(folder, { recursive: true }));

function explained(answer: unknown, idls: string | null = folder): Explanation {
  const outcome = runExplain({ source: { answer }, published: {} }, idls, venueEventsOf);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.explanation;
}

interface Swap {
  readonly pool: string;
  /** Empty for a program of 2024 that had none. */
  readonly events: readonly string[];
}

interface Meta {
  readonly err: unknown;
  readonly fee: number;
  readonly logMessages: readonly string[];
}

function expectRight(answer: Readonly<Record<string, unknown>>, where: string): Explanation {
  const of = explained(answer);
  const view = readTransaction(answer);
  if (view.kind === 'malformed') throw new Error(view.reason);
  const meta = answer['meta'] as Meta;
  expect(of.outcome, where).toBe(meta.err === null ? 'succeeded' : 'failed');
  const inner = [...(view.inner?.values() ?? [])].flat();
  expect(of.instructions.map(({ program }) => program).toSorted(), where).toEqual(
    [...view.instructions, ...inner].map(({ programId }) => programId).toSorted(),
  );
  // Nothing is lost or counted twice.
  const sol = of.changes.flatMap(({ lamports, rentLamports, tokens }) => [
    BigInt(lamports),
    BigInt(rentLamports),
    ...tokens.filter(({ mint }) => mint === wrappedSolMint).map(({ amount }) => BigInt(amount)),
  ]);
  expect(-sol.reduce((sum, each) => sum + each, 0n), where).toBe(BigInt(meta.fee));
  expect(BigInt(of.fees!.baseLamports) + BigInt(of.fees!.priorityLamports), where).toBe(BigInt(meta.fee));
  // oxlint-disable-next-line no-control-regex
  expect(explanationText(of), where).not.toMatch(/undefined|\[object|\u001B/);
  return of;
}

describe.skipIf(!fixturesPresent)(`explanations (${fixturesNote})`, () => {
  const expected = fixturesPresent
    ? (JSON.parse(readFileSync(`${fixturesFolder}venues/expected.json`, 'utf8')) as { file: string; swaps: Swap[] }[])
    : [];

  it.each(recordedTransactions())('%s', (path, answer) => {
    const of = expectRight(answer, path);
    expect([...Value.Errors(Explanation as TSchema, of)].slice(0, 3)).toEqual([]);
    const pools = of.events
      .filter(({ from, name }) => from === 'venue' && name === 'trade')
      .map(({ data }) => (data as { pool: string }).pool);
    const swaps = expected.find(({ file }) => `venues/${file}` === path)?.swaps ?? [];
    expect(pools).toEqual(expect.arrayContaining(swaps.filter(({ events }) => events.length > 0).map(({ pool }) => pool)));
  });

  it('say why transactions failed, with the name that the IDL of the program gives', () => {
    const failed = recordedTransactions().flatMap(([, answer]) => explained(answer).failure ?? []);
    expect(failed.map(({ program, name, from, text }) => [program, name, from, text])).toEqual([
      [
        'theovTrkQogG4GbMdQfDZGUMdZafXF8JtXvh4btu31i',
        'error 666',
        'program',
        'Instruction 3 failed in theovTrkQogG4GbMdQfDZGUMdZafXF8JtXvh4btu31i: error 666: no IDL names this error.',
      ],
      [
        jupiter,
        'SlippageToleranceExceeded',
        'idl',
        'Instruction 2 failed in jupiter: SlippageToleranceExceeded (6001): Slippage tolerance exceeded.',
      ],
      [
        jupiter,
        'SlippageToleranceExceeded',
        'idl',
        'Instruction 2 failed in jupiter: SlippageToleranceExceeded (6001): Slippage tolerance exceeded.',
      ],
    ]);
  });

  it('are right for every transaction of two blocks, and name the error that the program logged', () => {
    let logged = 0;
    for (const slot of ['285000037', '332254908']) {
      const json = JSON.parse(gunzipSync(readFileSync(`${fixturesFolder}blocks/${slot}.json.gz`)).toString()) as {
        result: { transactions: Record<string, unknown>[] };
      };
      for (const answer of json.result.transactions) {
        const { err, logMessages } = answer['meta'] as Meta;
        if (logMessages.every((line) => !line.startsWith('Program ') || line.startsWith('Program Vote111'))) continue;
        const of = expectRight(answer, slot);
        const named = logMessages.map((line) => /Error Code: (\w+)\. Error Number: (\d+)/.exec(line)).findLast((match) => match !== null);
        if (err === null || named === undefined) continue;
        logged++;
        expect([of.failure?.name, of.failure?.code], of.signature).toEqual([named[1], Number(named[2])]);
      }
    }
    expect(logged).toBeGreaterThan(100);
  });
});
