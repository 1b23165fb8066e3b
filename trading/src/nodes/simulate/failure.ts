import { errorTable, type ErrorCode } from '@sluice/shared/wire/errors.ts';
import { associatedTokenProgram, solDecimals, systemProgram, token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { NodeText } from '@sluice/shared/solana/rpc/answers/node-text.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import type { TradeFault } from '@sluice/venues/seam/trading.ts';
import { describeShortfall } from '../../quote/best-quote.ts';
import { failingProgram, readTransactionError, type FailingProgram, type TransactionError } from './runtime-report.ts';

/** What the order knows and the runtime does not report; null if unknown. Raw amounts. */
export interface FailureTerms {
  readonly side: 'buy' | 'sell';
  /** The quoted output; for an exact output, the quoted cost. */
  readonly quoted: bigint | null;
  /** The bound for it in the instruction. */
  readonly bound: bigint | null;
  /** Balance of the wallet and need of the trade in the coins that it pays with, if they are not SOL. */
  readonly tokens: { readonly mint: string; readonly have: bigint | null; readonly need: bigint | null; readonly decimals: number };
}

/** Where a transaction failed: a failure on the chain landed, and its fee was paid. */
export type FailedIn = 'simulation' | 'chain';

/** `blockhash`: the node does not know it any more, or not yet. `duplicate`: this transaction has landed already. */
export interface TradeFailure {
  readonly fault: TradeFault | 'blockhash' | 'duplicate';
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What is known of a failure: its details, and its message if that is more precise than the one of the error table. */
interface Known {
  readonly message?: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What a node reports of a transaction that failed. Anything that a node may answer. */
export interface ReportedFailure {
  /** The runtime's error. */
  readonly err: unknown;
  readonly logs: readonly string[];
  /** Cleans what is shown of the two: it is stored, logged and sent to clients. */
  readonly textOf: NodeText;
}

/** An error shows the last log lines. */
const maxShownLines = 8;

const systemInsufficient = 1;
const tokenInsufficient = 1;
const tokenMintMismatch = 3;
const insufficientLamports = /^Transfer: insufficient lamports (\d{1,20}), need (\d{1,20})$/;
/** Anchor's `AccountNotInitialized`; its log line names the account as the program's IDL does. */
const accountNotInitialized = 3012;
const notInitialized = /^Program log: AnchorError caused by account: (\w{1,64})\. Error Code: AccountNotInitialized\./;
const tokenPrograms: ReadonlySet<string> = new Set([tokenProgram, token2022Program]);
const mintReaders: ReadonlySet<string> = new Set([associatedTokenProgram, ...tokenPrograms]);

const codes: Readonly<Record<TradeFailure['fault'], ErrorCode>> = {
  slippage: 'SLIPPAGE_EXCEEDED',
  complete: 'SIMULATION_FAILED',
  insufficient_sol: 'INSUFFICIENT_BALANCE',
  insufficient_tokens: 'INSUFFICIENT_BALANCE',
  invalid_mint: 'INVALID_MINT',
  stale_accounts: 'SIMULATION_FAILED',
  blockhash: 'TRANSACTION_EXPIRED',
  duplicate: 'SIMULATION_FAILED',
  other: 'SIMULATION_FAILED',
};

/** For errors outside of instructions. The fee payer is account 0. */
function faultOfTransaction(error: TransactionError & { readonly kind: 'transaction' }): TradeFailure['fault'] {
  switch (error.name) {
    case 'AccountNotFound':
    case 'InsufficientFundsForFee':
      return 'insufficient_sol';
    case 'InsufficientFundsForRent':
      return error.accountIndex === 0 ? 'insufficient_sol' : 'other';
    case 'BlockhashNotFound':
      return 'blockhash';
    case 'AlreadyProcessed':
      return 'duplicate';
    default:
      return 'other';
  }
}

/** Classifies by program and code, because a code means something else in each program. */
function faultOfInstruction(
  error: TransactionError & { readonly kind: 'instruction' },
  failing: FailingProgram | null,
): TradeFailure['fault'] {
  if (failing === null) return 'other';
  const { program, topProgram, reason } = failing;
  const { custom } = error;
  if (custom === null) {
    const noMint = error.name === 'IncorrectProgramId' && topProgram === associatedTokenProgram && mintReaders.has(program);
    return noMint ? 'invalid_mint' : 'other';
  }
  // If the log reports another error, one of the two belongs to another transaction.
  if (reason !== `custom program error: 0x${custom.toString(16)}`) return 'other';
  if (program === systemProgram) return custom === systemInsufficient ? 'insufficient_sol' : 'other';
  if (tokenPrograms.has(program)) {
    return custom === tokenInsufficient ? 'insufficient_tokens' : custom === tokenMintMismatch ? 'invalid_mint' : 'other';
  }
  if (custom === accountNotInitialized && lacksOwnAccount(failing)) return 'insufficient_tokens';
  return venueByProgram.get(program)?.tradeFault(custom) ?? 'other';
}

/** A token account of the trader (`user_base_token_account`, `associated_base_user`, `input_token_account`) does not exist. */
function lacksOwnAccount(failing: FailingProgram | null): boolean {
  return failing?.lines.some((line) => /(^|_)user(_|$)|^input_token_account$/.test(notInitialized.exec(line)?.[1] ?? '')) ?? false;
}

function text(amount: bigint | null): string | null {
  return amount === null ? null : amount.toString();
}

/** The lamports that the system program found and needed. */
function lamportsLogged(failing: FailingProgram | null): { readonly have: bigint; readonly need: bigint } | null {
  if (failing?.program !== systemProgram) return null;
  for (const line of failing.lines) {
    const [, have, need] = insufficientLamports.exec(line) ?? [];
    if (have !== undefined && need !== undefined) return { have: BigInt(have), need: BigInt(need) };
  }
  return null;
}

/** Anchor logs both sides of a failed comparison (`Left: a`, `Right: b`). If one is the order's bound, the other is the actual amount. */
function actualLogged(failing: FailingProgram | null, bound: bigint | null): string | null {
  if (failing === null || bound === null) return null;
  const sides = failing.lines.flatMap((line) => /^Program log: (?:Left|Right): (\d{1,20})$/.exec(line)?.[1] ?? []);
  const [left, right] = sides;
  if (left === undefined || right === undefined || sides.length !== 2) return null;
  if (BigInt(left) === bound) return right;
  return BigInt(right) === bound ? left : null;
}

function knownOf(fault: TradeFailure['fault'], failing: FailingProgram | null, terms: FailureTerms | null): Known {
  if (fault === 'insufficient_sol') {
    const logged = lamportsLogged(failing) ?? { have: null, need: null };
    return describeShortfall({ unit: 'lamports', mint: null, ...logged, decimals: solDecimals });
  }
  if (fault === 'insufficient_tokens') {
    const tokens = terms?.tokens ?? { mint: null, have: null, need: null, decimals: null };
    return describeShortfall({ unit: 'tokens', ...tokens, ...(lacksOwnAccount(failing) && { have: 0n }) });
  }
  if (fault === 'slippage') {
    const { quoted = null, bound = null } = terms ?? {};
    return { details: { quoted: text(quoted), actual: actualLogged(failing, bound), bound: text(bound) } };
  }
  return { details: {} };
}

/** What failed, by the runtime's report. */
function culprit(error: TransactionError, failing: FailingProgram | null, textOf: NodeText) {
  const name = error.kind === 'unreadable' ? null : textOf(error.name);
  return {
    program: failing === null ? null : textOf(failing.program),
    programError: error.kind === 'instruction' ? (error.custom ?? name) : name,
    instructionIndex: error.kind === 'instruction' ? error.index : null,
  };
}

const programNames: ReadonlyMap<string, string> = new Map([
  [systemProgram, 'the system program'],
  [tokenProgram, 'the token program'],
  [token2022Program, 'the Token-2022 program'],
  [associatedTokenProgram, 'the associated token program'],
]);

function messageOf(
  code: ErrorCode,
  known: Known,
  { program, programError, instructionIndex }: ReturnType<typeof culprit>,
  failedIn: FailedIn,
): string {
  const named = program === null ? 'a program' : (programNames.get(program) ?? venueByProgram.get(program)?.name ?? program);
  const cause =
    instructionIndex === null
      ? `the runtime reports ${programError ?? 'an unknown error'}`
      : `${named} refused the instruction at index ${instructionIndex} with the error ${programError}`;
  const isKnown = code !== 'SIMULATION_FAILED';
  const said = known.message ?? errorTable[code].message;
  if (failedIn === 'chain') return `${isKnown ? `${said} ` : ''}The transaction landed and failed: ${cause}.`;
  return isKnown ? said : `The simulation of the transaction failed, so nothing was sent: ${cause}.`;
}

/** What an error of the runtime means for the order. */
export function classifyFailure({ err, logs, textOf }: ReportedFailure, terms: FailureTerms | null, failedIn: FailedIn): TradeFailure {
  const error = readTransactionError(err);
  const failing = error.kind === 'instruction' ? failingProgram(logs) : null;
  const fault =
    error.kind === 'unreadable' ? 'other' : error.kind === 'transaction' ? faultOfTransaction(error) : faultOfInstruction(error, failing);
  const code = codes[fault];
  const cause = culprit(error, failing, textOf);
  const known = knownOf(fault, failing, terms);
  return {
    fault,
    code,
    message: messageOf(code, known, cause, failedIn),
    details: { ...known.details, ...cause, logs: logs.slice(-maxShownLines).map(textOf) },
  };
}
