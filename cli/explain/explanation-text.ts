import { decimalText } from '@sluice/shared/solana/encoding/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import type { Explanation } from '@sluice/shared/wire/rest/explain.ts';

/** Fields of one value that are written on its line. */
const maxValueChars = 400;

/** An explanation as lines of text. */
export function explanationText(of: Explanation): string {
  const blocks = [
    head(of),
    ['Instructions', ...of.instructions.map(instructionLine)],
    of.changes.length === 0 ? [] : ['Changes', ...of.changes.flatMap(changeLines)],
    of.events.length === 0 ? [] : [of.outcome === 'failed' ? 'Events, undone by the failure' : 'Events', ...of.events.map(eventLine)],
    of.notes.length === 0 ? [] : ['Notes', ...of.notes.map((note) => `  ${note}`)],
  ];
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

function head({ signature, outcome, slot, blockTime, feePayer, failure, fees }: Explanation): string[] {
  const when = blockTime === null ? '' : `, ${new Date(blockTime * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const place = slot === null ? '' : ` in slot ${slot}${when}`;
  const words = { succeeded: 'Succeeded', failed: 'FAILED', not_executed: 'Not executed' } as const;
  const lines = [signature, `${words[outcome]}${place}`];
  if (failure !== null) lines.push(failure.text, ...failure.logs.map((line) => `  log: ${line}`));
  lines.push(`Fee payer ${feePayer}`);
  if (fees !== null) {
    const parts = `${solText(fees.baseLamports)} for signatures, ${solText(fees.priorityLamports)} for priority`;
    const units = fees.computeUnits === null ? '' : `; ${fees.computeUnits} compute units`;
    lines.push(`Fee ${solText(fees.lamports)} SOL (${parts})${units}`);
    lines.push(...fees.tips.map(({ service, account, lamports }) => `Tip ${solText(lamports)} SOL to ${service} (${account})`));
  }
  return lines;
}

function instructionLine({
  path,
  depth,
  program,
  programName,
  name,
  arguments: args,
  accounts,
  data,
}: Explanation['instructions'][number]): string {
  const indent = '  '.repeat(depth + 1);
  const called = `${path}  ${programName ?? program}: ${name ?? 'unknown instruction'}`;
  const shown =
    args === null
      ? data === null || data === ''
        ? ''
        : ` data ${data.slice(0, 64)}${data.length > 64 ? '…' : ''}`
      : ` ${valueText(args)}`;
  const named = accounts.filter((account) => account.name !== null).map((account) => `${account.name} ${account.address}`);
  const below = named.length === 0 ? [] : [`${indent}    ${named.join(', ')}`];
  return [`${indent}${called}${shown}`, ...below].join('\n');
}

function changeLines({ wallet, lamports, rentLamports, tokens }: Explanation['changes'][number]): string[] {
  const sol = lamports === '0' ? [] : [`${signed(lamports, solDecimals)} SOL`];
  const rent = rentLamports === '0' ? [] : [`${signed(rentLamports, solDecimals)} SOL of rent in token accounts`];
  const coins = tokens.map(({ mint, amount, decimals }) => `${signed(amount, decimals)} ${quoteCoins.get(mint)?.symbol ?? mint}`);
  return [`  ${wallet}`, ...[...sol, ...coins, ...rent].map((line) => `    ${line}`)];
}

function eventLine({ programName, program, name, data }: Explanation['events'][number]): string {
  return `  ${programName ?? program} ${name} ${valueText(data)}`;
}

/** A value as `name: value` pairs. */
function valueText(value: unknown): string {
  const text = inner(value, true);
  return text.length > maxValueChars ? `${text.slice(0, maxValueChars)}…` : text;
}

function inner(value: unknown, isOutermost: boolean): string {
  if (Array.isArray(value)) return `[${value.map((each) => inner(each, false)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${inner(field, false)}`);
  return isOutermost ? fields.join(', ') : `{${fields.join(', ')}}`;
}

const solText = (lamports: string): string => decimalText(BigInt(lamports), solDecimals);

function signed(amount: string, decimals: number): string {
  const value = BigInt(amount);
  return value < 0n ? `-${decimalText(-value, decimals)}` : `+${decimalText(value, decimals)}`;
}
