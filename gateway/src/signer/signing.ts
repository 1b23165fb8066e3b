import { createHash } from 'node:crypto';
import { toUi } from '@sluice/shared/solana/amounts.ts';
import { signMessage, type Keypair } from '@sluice/shared/solana/keypair.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import type { AuditLog } from './audit-log.ts';
import type { DaySpend } from './day-spend.ts';
import { judge } from './policy.ts';
import type { SignAnswer, SignCommand } from './protocol.ts';
import { refused, type Rule, type Verdict } from './verdict.ts';

export interface SigningLimits {
  readonly maxOrderLamports: bigint;
  readonly maxDayLamports: bigint;
}

export interface SigningParts {
  readonly limits: SigningLimits;
  readonly audit: AuditLog;
  readonly spend: DaySpend;
  /** Unlocked wallets by address. */
  readonly wallets: ReadonlyMap<string, Keypair>;
  /** How old the word that trading goes on may be, milliseconds. */
  readonly maxHaltAgeMs: number;
  readonly nowMs: () => number;
  /** The monotonic clock that the gateway has too. */
  readonly nowNs: () => bigint;
}

/**
 * Decides on commands in their order; each decision to sign or not is written to the audit log before any of the signatures is made.
 * That the disk has it is told behind them (`noted`), and nothing leaves the gateway before. Throws as `AuditLog` does.
 */
export function answerAll(commands: readonly SignCommand[], parts: SigningParts): readonly SignAnswer[] {
  const verdicts = commands.map((command) => decide(command, parts));
  parts.audit.write();
  return commands.map((command, index) => answer(command, verdicts[index]!, parts.wallets));
}

function answer({ op, id, publicKey, message }: SignCommand, verdict: Verdict, wallets: ReadonlyMap<string, Keypair>): SignAnswer {
  if (!verdict.ok) return { op: 'refused', id, rule: verdict.rule, message: verdict.message };
  if (op === 'judge') return { op: 'allowed', id };
  return { op: 'signed', id, signature: signMessage(wallets.get(publicKey)!, message) };
}

/** The verdict; of what is to be signed with its line added to the audit log. */
function decide(command: SignCommand, parts: SigningParts): Verdict {
  const { audit, spend } = parts;
  const atMs = parts.nowMs();
  const verdict = verdictOn(command, parts, atMs);
  if (command.op === 'judge') return verdict;
  if (verdict.ok) spend.add(command.publicKey, verdict.lamports, atMs);
  audit.add({
    event: 'decision',
    order: command.orderId,
    wallet: parts.wallets.has(command.publicKey) ? command.publicKey : null,
    message: createHash('sha256').update(command.message).digest('hex'),
    verdict: verdict.ok ? 'signed' : 'refused',
    rule: ruleOf(verdict),
    lamports: verdict.ok ? verdict.lamports.toString() : null,
    atMs,
  });
  return verdict;
}

function sol(lamports: bigint): number {
  return toUi(lamports, solDecimals);
}

function ruleOf(verdict: Verdict): Rule | null {
  return verdict.ok ? null : verdict.rule;
}

function verdictOn({ publicKey, message, runningAtNs }: SignCommand, parts: SigningParts, atMs: number): Verdict {
  const { limits, spend, wallets, maxHaltAgeMs } = parts;
  const nowNs = parts.nowNs();
  // Word from the future is none that the gateway can have had.
  const fresh = runningAtNs <= nowNs && nowNs - runningAtNs <= BigInt(maxHaltAgeMs) * 1_000_000n;
  if (!fresh) return refused('halted', 'nothing says that trading goes on');
  if (!wallets.has(publicKey)) return refused('unknown_wallet', 'no such wallet is unlocked');
  const verdict = judge(message, publicKey);
  if (!verdict.ok) return verdict;
  const { lamports } = verdict;
  if (lamports > limits.maxOrderLamports) {
    return refused('order_limit', `It would take up to ${sol(lamports)} SOL; one order may take ${sol(limits.maxOrderLamports)}.`);
  }
  const spent = spend.of(publicKey, atMs);
  if (spent + lamports > limits.maxDayLamports) {
    const most = `of this wallet ${sol(limits.maxDayLamports)} SOL may be taken on one day (UTC), of which ${sol(spent)} are signed for`;
    return refused('day_limit', `It would take up to ${sol(lamports)} SOL; ${most}.`);
  }
  return verdict;
}
