import { cleanText } from '@sluice/shared/metadata/clean-text.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { Explanation } from '@sluice/shared/wire/rest/explain.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import type { TradeFault } from '@sluice/venues/seam/trading.ts';
import { anchorError, type ProgramCoder } from '../idl/coder.ts';

type Failure = NonNullable<Explanation['failure']>;
export interface ProgramNames {
  readonly nameOf: (programId: string) => string | null;
  readonly coderOf: (programId: string) => ProgramCoder | null;
}

const shownLogs = 5;
const maxLineChars = 300;
const failedForm = /^Program (\w{32,44}) failed: (.*)$/;
const customForm = /^custom program error: 0x([0-9a-f]{1,8})$/;
const invokeForm = /^Program (\w{32,44}) invoke \[/;
const successForm = /^Program \w{32,44} success$/;
const anchorForm = /Error Code: (\w+)\. Error Number: (\d+)\. Error Message: (.*?)\.?$/;

/** What the code of a venue means, in words. */
const venueFaults: Readonly<Record<TradeFault, string | null>> = {
  slippage: 'the price moved further than the trade allows',
  complete: 'the curve is complete, and the token trades elsewhere',
  insufficient_sol: 'the wallet has too little SOL',
  insufficient_tokens: 'the wallet has too few tokens',
  invalid_mint: 'the mint is not valid',
  stale_accounts: 'an account of the trade is no longer the valid one',
  other: null,
};

/** Why a transaction failed; null if it did not. */
export function failureOf(view: TransactionView, programs: ProgramNames): Explanation['failure'] {
  const { err } = view;
  if (err === null || err === undefined) return null;
  const pair: unknown = isRecord(err) ? err['InstructionError'] : null;
  if (!Array.isArray(pair) || typeof pair[0] !== 'number') {
    const name = isRecord(err) ? (Object.keys(err)[0] ?? '') : typeof err === 'string' ? err : '';
    return fill({ name: cleanText(name, maxLineChars), from: 'runtime' }, programs);
  }
  const [instruction, what] = pair as [number, unknown];
  const source = innermostFailure(view);
  const program = source?.program ?? view.instructions[instruction]?.programId ?? null;
  const logs = source?.logs ?? [];
  const outer = isRecord(what) && typeof what['Custom'] === 'number' ? what['Custom'] : null;
  const code = source?.code ?? outer;
  if (code === null) {
    const name = typeof what === 'string' ? what : isRecord(what) ? (Object.keys(what)[0] ?? '') : '';
    const message = source === null || words(name) === source.reason.toLowerCase() ? null : source.reason;
    return fill({ instruction, program, name: cleanText(name, maxLineChars), message, from: 'runtime', logs }, programs);
  }
  return fill({ instruction, program, code, logs, ...named(program, code, source?.logs ?? [], programs) }, programs);
}

/** Name and message of the code of a program: from its IDL, its log, what sluice knows of it, or Anchor. */
function named(
  program: string | null,
  code: number,
  logs: readonly string[],
  { coderOf }: ProgramNames,
): Pick<Failure, 'name' | 'message' | 'from'> {
  const own = program === null ? null : (coderOf(program)?.errorOf(code) ?? null);
  if (own?.from === 'idl') return own;
  for (const line of logs.toReversed()) {
    const [, name = '', number, message = ''] = anchorForm.exec(line) ?? [];
    if (Number(number) === code) return { name, message, from: own === null ? 'log' : own.from };
  }
  const fault = program === null ? undefined : venueByProgram.get(program)?.tradeFault(code);
  const meaning = fault === undefined ? null : venueFaults[fault];
  if (meaning !== null) return { name: `error ${code}`, message: meaning, from: 'program' };
  // Anchor's own numbers begin at 100. Programs without Anchor use small ones.
  return own ?? (logs.some((line) => line.includes('AnchorError')) ? anchorError(code) : null) ?? unnamed(code);
}

const unnamed = (code: number): Pick<Failure, 'name' | 'message' | 'from'> => ({
  name: `error ${code}`,
  message: 'no IDL names this error',
  from: 'program',
});

/** The program that gave the error: the first that failed, because its callers fail after it. Null if the logs do not show it. */
function innermostFailure({ logs }: TransactionView) {
  const said: string[][] = [];
  for (const line of logs) {
    const [, program, reason = ''] = failedForm.exec(line) ?? [];
    if (program !== undefined) {
      const code = customForm.exec(reason)?.[1];
      const last = (said.pop() ?? []).slice(-shownLogs).map((text) => cleanText(text, maxLineChars));
      return { program, reason: cleanText(reason, maxLineChars), code: code === undefined ? null : Number.parseInt(code, 16), logs: last };
    }
    if (invokeForm.test(line)) said.push([]);
    else if (successForm.test(line)) said.pop();
    else if (line.startsWith('Program log: ')) said.at(-1)?.push(line.slice('Program log: '.length));
  }
  return null;
}

function fill(parts: Partial<Failure> & Pick<Failure, 'name' | 'from'>, { nameOf }: ProgramNames): Failure {
  const { instruction = null, program = null, code = null, message = null, logs = [] } = parts;
  const programName = program === null ? null : nameOf(program);
  const where = instruction === null ? 'The runtime refused it' : `Instruction ${instruction} failed`;
  const by = program === null ? '' : ` in ${programName ?? program}`;
  const isNamed = !parts.name.startsWith('error ');
  const what = parts.from === 'runtime' ? words(parts.name) : isNamed && code !== null ? `${parts.name} (${code})` : parts.name;
  const text = `${where}${by}: ${what}${message === null || message === '' ? '' : `: ${message}`}.`;
  return { text, instruction, program, programName, code, name: parts.name, message, from: parts.from, logs: [...logs] };
}

/** `InsufficientFundsForFee` → `insufficient funds for fee`. */
function words(name: string): string {
  return name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
}
