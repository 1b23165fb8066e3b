import { cleanText } from '@sluice/shared/metadata/clean-text.ts';
import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { Explanation } from '@sluice/shared/wire/rest/explain.ts';
import { ProgramCoder } from '../idl/coder.ts';
import { idlInFolder, programsIn } from '../idl/folder.ts';
import { readIdl, type IdlOutcome } from '../idl/idl.ts';
import { readPublished } from '../idl/published.ts';
import { explain, type VenueEventAt } from './explain.ts';
import type { Gathered } from './gather.ts';
import { readAnswer, readWire } from './read-answer.ts';

const maxNoteChars = 500;

export type ExplainOutcome = { readonly ok: true; readonly explanation: Explanation } | { readonly ok: false; readonly reason: string };

/** Explains what was gathered. `folder`: IDL_DIR, or null. */
export function runExplain(
  { source, published }: Gathered,
  folder: string | null,
  venueEvents: (view: TransactionView) => readonly VenueEventAt[],
): ExplainOutcome {
  const read =
    'wire' in source
      ? readWire(
          source.wire,
          Object.fromEntries(Object.entries(source.tables).map(([table, data]) => [table, Buffer.from(data, 'base64')])),
        )
      : readAnswer(source.answer);
  if (typeof read === 'string') return { ok: false, reason: cleanText(read, maxNoteChars) };
  const notes: string[] = [];
  const coders = new Map<string, ProgramCoder | null>();
  const files = new Set(folder === null ? [] : programsIn(folder));
  const idlOf = (programId: string): ProgramCoder | null => {
    const known = coders.get(programId);
    if (known !== undefined) return known;
    const outcome =
      folder !== null && files.has(programId) ? idlInFolder(folder, programId) : publishedIdl(programId, published[programId] ?? []);
    if (outcome !== null && !outcome.ok) notes.push(cleanText(`The IDL of ${programId} cannot be used: ${outcome.reason}.`, maxNoteChars));
    const coder = outcome?.ok === true ? new ProgramCoder(outcome.idl) : null;
    coders.set(programId, coder);
    return coder;
  };
  const explanation = explain(read, { idlOf, venueEvents, notes: [] });
  return { ok: true, explanation: { ...explanation, notes: [...explanation.notes, ...notes] } };
}

/** The first IDL that can be used, among the accounts in which a program may publish it; null if there is none. */
function publishedIdl(programId: string, accounts: readonly unknown[]): IdlOutcome | null {
  let refused: IdlOutcome | null = null;
  for (const account of accounts) {
    const text = readPublished(account, programId);
    const outcome = text === null || !text.ok ? text : readIdl(text.text, programId);
    if (outcome?.ok === true) return outcome;
    refused ??= outcome;
  }
  return refused;
}
