import { createHash } from 'node:crypto';
import type { AgreedTime } from '@sluice/shared/runtime/clock/agreed-time.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import type { AuditLog } from '../audit/log.ts';
import type { Siblings } from '../audit/siblings.ts';
import type { Policy } from '../limits/policy-file.ts';
import type { Spend } from '../limits/daily-spend.ts';
import { judge } from '../checks/check-message.ts';
import type { SignAnswer, SignCommand } from '../wire/protocol.ts';
import { refused, type Refusal, type Rule, type Verdict } from '../checks/verdict.ts';

export interface SigningLimits {
  readonly maxOrderLamports: bigint;
  readonly maxDayLamports: bigint;
}

export interface SigningParts {
  readonly limits: SigningLimits;
  /** The operator's policy, which narrows `limits`. Null: none. */
  readonly policy: () => Policy | null;
  readonly audit: AuditLog;
  /** The spend of this process's own log, and of all logs of the folder. */
  readonly ownSpend: Spend;
  readonly spend: Spend;
  readonly siblings: Pick<Siblings, 'read'>;
  /** Unlocked wallets by address. */
  readonly wallets: ReadonlyMap<string, Keypair>;
  /** Whether the halt mark exists, as the signing process itself sees it. */
  readonly isHalted: () => boolean;
  /** The greatest age of the gateway's reading that trading is not halted. */
  readonly maxHaltAgeMs: number;
  readonly time: Pick<AgreedTime, 'nowMs'>;
  /** The machine's monotonic clock, which the gateway uses too. */
  readonly nowNs: () => bigint;
}

type Allowed = Extract<Verdict, { readonly ok: true }>;

interface Decision {
  readonly command: SignCommand;
  verdict: Verdict;
  readonly atMs: number;
  /**
   * The sums of the periods since this time count: the gateway's, if it is earlier. A period ends only if both say so. The decision itself counts at
   * `atMs`, because a hostile gateway could name a period of the past in which nothing was signed.
   */
  readonly sinceMs: number;
  /** Number of its line in the audit log. Null: no line. */
  readonly line: number | null;
}

/**
 * Decides on commands in order. The decisions on `sign` commands are written to the audit log before the first signature is made. Once the
 * log is on the disk, `main.ts` sends `noted`; before that the gateway sends no transaction. Throws as `AuditLog` and `Siblings` do.
 */
export function answerAll(commands: readonly SignCommand[], parts: SigningParts): readonly SignAnswer[] {
  const { audit, siblings } = parts;
  if (audit.isFull) audit.beginSegment({ sums: parts.ownSpend.sums(), policyVersion: parts.policy()?.version ?? 0 });
  siblings.read();
  const isHalted = parts.isHalted();
  const decisions = commands.map((command) => decide(command, parts, isHalted));
  audit.write();
  // Another process that wrote its line before ours may sign without having seen ours, so its line must be counted here.
  if (siblings.read()) {
    refuseExceeding(decisions, parts);
    audit.write();
  }
  return decisions.map(({ command, verdict }) => answer(command, verdict, parts.wallets));
}

function answer({ op, id, publicKey, message }: SignCommand, verdict: Verdict, wallets: ReadonlyMap<string, Keypair>): SignAnswer {
  if (!verdict.ok) return { op: 'refused', id, rule: verdict.rule, message: verdict.message };
  if (op === 'judge') return { op: 'allowed', id };
  return { op: 'signed', id, signature: signMessage(wallets.get(publicKey)!, message) };
}

/** Decides on one command. For `sign`, adds the decision to the audit log. */
function decide(command: SignCommand, parts: SigningParts, isHalted: boolean): Decision {
  const { audit } = parts;
  const atMs = parts.time.nowMs();
  const sinceMs = Math.min(atMs, command.nowMs ?? atMs);
  const verdict = verdictOn(command, parts, sinceMs, isHalted);
  if (command.op === 'judge') return { command, verdict, atMs, sinceMs, line: null };
  if (verdict.ok) count(parts, command.publicKey, verdict, verdict.lamports, { atMs, sinceMs });
  const line = audit.add({
    event: 'decision',
    order: command.orderId,
    wallet: parts.wallets.has(command.publicKey) ? command.publicKey : null,
    mint: verdict.ok ? verdict.mint : null,
    message: createHash('sha256').update(command.message).digest('hex'),
    verdict: verdict.ok ? 'signed' : 'refused',
    rule: verdict.ok ? null : verdict.rule,
    lamports: verdict.ok ? verdict.lamports.toString() : null,
    atMs,
  });
  return { command, verdict, atMs, sinceMs, line };
}

/** If another process signed at the same moment, and a limit is now exceeded, refuses our commands, the last one first, until it is not. */
function refuseExceeding(decisions: readonly Decision[], parts: SigningParts): void {
  for (const decision of decisions.toReversed()) {
    const { command, verdict, line, atMs, sinceMs } = decision;
    if (!verdict.ok || line === null) continue;
    const refusal = spendFault(verdict, 0n, command.publicKey, parts, sinceMs);
    if (refusal === null) continue;
    const { mint, lamports } = verdict;
    count(parts, command.publicKey, verdict, -lamports, decision);
    parts.audit.add({ event: 'void', of: line, wallet: command.publicKey, mint, lamports: lamports.toString(), rule: refusal.rule, atMs });
    decision.verdict = refusal;
  }
}

function count(
  { spend, ownSpend }: SigningParts,
  wallet: string,
  { mint }: Allowed,
  lamports: bigint,
  { atMs, sinceMs }: Pick<Decision, 'atMs' | 'sinceMs'>,
): void {
  spend.add(wallet, mint, lamports, atMs, sinceMs);
  ownSpend.add(wallet, mint, lamports, atMs, sinceMs);
}

function sol(lamports: bigint): number {
  return toUi(lamports, solDecimals);
}

function verdictOn(
  { publicKey, message, poolAccount, runningAtNs }: SignCommand,
  parts: SigningParts,
  atMs: number,
  isHalted: boolean,
): Verdict {
  const { wallets, maxHaltAgeMs } = parts;
  if (isHalted) return refused('halted', 'Trading is halted on this machine.');
  const nowNs = parts.nowNs();
  // A reading with a time in the future is not genuine.
  const fresh = runningAtNs <= nowNs && nowNs - runningAtNs <= BigInt(maxHaltAgeMs) * 1_000_000n;
  if (!fresh) return refused('stale', 'There is no recent reading that trading is not halted.');
  if (!wallets.has(publicKey)) return refused('unknown_wallet', 'There is no such wallet among the unlocked ones.');
  const verdict = judge(message, publicKey, poolAccount);
  if (!verdict.ok) return verdict;
  return (
    listFault(verdict, parts.policy()) ??
    orderFault(verdict, parts) ??
    spendFault(verdict, verdict.lamports, publicKey, parts, atMs) ??
    verdict
  );
}

function listFault({ mint, venue }: Allowed, policy: Policy | null): Refusal | null {
  if (policy?.tokens?.includes(mint) === false) return refused('token_list', `The policy does not allow the coin ${mint}.`);
  if (policy?.venues?.includes(venue) === false) return refused('venue_list', `The policy does not allow the venue ${venue}.`);
  return null;
}

function orderFault({ lamports }: Allowed, { limits, policy }: SigningParts): Refusal | null {
  const most = least(limits.maxOrderLamports, policy()?.maxOrderLamports);
  return lamports > most
    ? refused('order_limit', `The order could cost up to ${sol(lamports)} SOL. The limit for one order is ${sol(most)} SOL.`)
    : null;
}

/** `more`: spend that the sums do not contain yet. */
function spendFault({ mint, lamports }: Allowed, more: bigint, wallet: string, parts: SigningParts, atMs: number): Refusal | null {
  const policy = parts.policy();
  const spent = parts.spend.of(wallet, mint, atMs);
  const maxDay = least(parts.limits.maxDayLamports, policy?.maxDayLamports);
  const [maxHour, maxToken] = [policy?.maxHourLamports ?? null, policy?.maxTokenLamports ?? null];
  const beyond = (rule: Rule, what: string, most: bigint, already: bigint): Refusal =>
    refused(
      rule,
      `The order could cost up to ${sol(lamports)} SOL. The limit ${what} is ${sol(most)} SOL, of which ${sol(already)} SOL are signed for.`,
    );
  if (spent.day + more > maxDay) return beyond('day_limit', 'of this wallet for one day (UTC)', maxDay, spent.day);
  if (maxHour !== null && spent.hour + more > maxHour)
    return beyond('hour_limit', 'of this wallet for one hour (UTC)', maxHour, spent.hour);
  if (maxToken === null) return null;
  if (spent.token === null)
    return refused(
      'token_limit',
      'More coins were traded today than the signing process can count, and the policy has a limit for each coin.',
    );
  return spent.token + more > maxToken
    ? beyond('token_limit', 'of this wallet for one coin on one day (UTC)', maxToken, spent.token)
    : null;
}

function least(own: bigint, policy: bigint | null | undefined): bigint {
  return policy == null || own < policy ? own : policy;
}
