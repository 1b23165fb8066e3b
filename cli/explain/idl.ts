import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { ProgramCoder } from '@sluice/programs/idl/coder.ts';
import { Gatherer } from '@sluice/programs/explain/gather.ts';
import { maxIdlBytes, readIdl, recordKinds, type Idl } from '@sluice/programs/idl/idl.ts';
import { readPublished } from '@sluice/programs/idl/published.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { action, type Command, CommandError, inQuotes, UsageError } from '../command-line/command.ts';
import { nodeOption, rpcOf, withNode } from './node.ts';

const check = action({
  about: 'Check an IDL: what of its program sluice will decode, and what not.',
  args: { FILE: 'an Anchor IDL in JSON, in the old or the new format' },
  json: 'print {"programId", "name", "format", "events", "instructions", "accounts", "errors", "refused"}',
  more: 'A program that is in IDL_DIR is described by a file `<program id>.json`. The command fails if the file cannot be used at all.',
  examples: ['idl check idl/JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4.json'],
  run(_, [file = '']) {
    const name = basename(file, '.json');
    const outcome = readIdl(textOf(file), isAddress(name) ? name : null);
    if (!outcome.ok) throw new CommandError(`${file}: ${outcome.reason}.`);
    const { idl } = outcome;
    // Builds all of it, as ingest does.
    const coder = new ProgramCoder(idl);
    return Promise.resolve({ json: summaryOf(coder.idl), text: textOfSummary(idl) });
  },
});

function textOf(file: string): string {
  try {
    if (statSync(file).size > maxIdlBytes) throw new CommandError(`${file}: it has more than ${maxIdlBytes} bytes.`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${inQuotes(file)} cannot be read: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function summaryOf(idl: Idl): object {
  const names = recordKinds.map((kind) => [kind, idl[kind].map(({ name }) => name)] as const);
  const { programId, name, format, errors, refused } = idl;
  return { programId, name, format, ...Object.fromEntries(names), errors: errors.size, refused };
}

function textOfSummary(idl: Idl): string {
  const lines = recordKinds.map((kind) => `${kind}: ${idl[kind].map(({ name }) => name).join(', ') || 'none'}`);
  const refused = idl.refused.map(({ kind, name, reason }) => `  ${kind} ${name}: ${reason}`);
  const head = `${idl.name || 'A program'}, ${idl.programId}, Anchor IDL in the ${idl.format} format`;
  return [head, ...lines, `errors: ${idl.errors.size}`, ...(refused.length === 0 ? [] : ['not decoded:', ...refused])].join('\n');
}

const fetchIdl = action({
  about: 'Print the IDL that a program published on chain.',
  args: { PROGRAM: 'the address of the program' },
  options: { rpc: nodeOption },
  json: 'print the IDL, as without this option',
  more: 'It reads the account of `anchor idl init`, and then that of the Program Metadata program. Write it to a file of IDL_DIR, named by the program.',
  examples: ['idl fetch JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4 > idl/JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4.json'],
  async run(values, [program = '']) {
    if (!isAddress(program)) throw new UsageError(`${inQuotes(program)} is not an address`);
    const accounts = await withNode((signal) => new Gatherer(rpcOf(values.rpc), null).published(program, signal));
    const found = accounts.flatMap((account) => readPublished(account, program) ?? []);
    const reasons: string[] = [];
    for (const text of found) {
      const outcome = text.ok ? readIdl(text.text, program) : text;
      if (outcome.ok && text.ok) return { json: JSON.parse(text.text) as unknown, text: null };
      if (!outcome.ok) reasons.push(outcome.reason);
    }
    throw new CommandError(
      reasons.length === 0 ? `${program} has published no IDL on chain.` : `The IDL of ${program} cannot be used: ${reasons.join('; ')}.`,
    );
  },
});

export const command: Command = {
  about: 'IDLs, which describe programs: check a file, or read what a program published.',
  actions: { check, fetch: fetchIdl },
};
