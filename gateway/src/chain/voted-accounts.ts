import { reachedBy, type Verdict } from '@sluice/shared/solana/quorum/votes.ts';
import type { ChainAccount } from './account-reader.ts';

/** Accounts as one endpoint reports them. */
export interface AccountsAnswer {
  readonly endpoint: number;
  readonly slot: number;
  readonly accounts: readonly (ChainAccount | null)[];
}

/** The answer that counts, and those that it can be held against. */
export interface ChosenAnswer {
  readonly answer: AccountsAnswer;
  readonly others: readonly AccountsAnswer[];
}

export function isSameAccount(a: ChainAccount | null, b: ChainAccount | null): boolean {
  if (a === null || b === null) return a === b;
  return a.lamports === b.lamports && a.owner === b.owner && a.executable === b.executable && Buffer.compare(a.data, b.data) === 0;
}

export function haveSameAccounts({ accounts: some }: AccountsAnswer, { accounts: others }: AccountsAnswer): boolean {
  return some.every((account, index) => isSameAccount(account, others[index] ?? null));
}

/**
 * The slot of the accounts at these places. Where others report the same, a slot that most of them have reached: no endpoint can date accounts
 * ahead. Where nobody else reports all of them, the answer's own.
 */
export function reportedSlot(answer: AccountsAnswer, others: readonly AccountsAnswer[], places: readonly number[]): number {
  if (places.length === 0 || reportedAlone(answer, others, places)) return answer.slot;
  return Math.min(
    ...places.map((at) => reachedBy([answer, ...others.filter((other) => !reportedAlone(answer, [other], [at]))].map(({ slot }) => slot))),
  );
}

/** The newest slot of this answer and of those that report any of these places the same: one of two endpoints may date its answer too early. */
export function lastReportedSlot(answer: AccountsAnswer, others: readonly AccountsAnswer[], places: readonly number[]): number {
  const same = others.filter((other) => places.some((at) => !reportedAlone(answer, [other], [at])));
  return Math.max(answer.slot, ...same.map(({ slot }) => slot));
}

/** Whether nobody else reports the accounts at these places as this answer does. */
export function reportedAlone({ accounts }: AccountsAnswer, others: readonly AccountsAnswer[], places: readonly number[]): boolean {
  return !places.every((at) => others.some((other) => isSameAccount(accounts[at] ?? null, other.accounts[at] ?? null)));
}

/**
 * Null where there is none. Where no majority agrees on all accounts (some change with every slot), the answer counts of which most accounts are
 * confirmed by others, of two the newer; all accounts come from one answer, for those of one pool belong together.
 */
export function chooseAnswer(verdict: Verdict<AccountsAnswer>): ChosenAnswer | null {
  if (verdict.kind !== 'agreed' && verdict.kind !== 'contradicted') return null;
  const answers = verdict.votes.map(({ value }) => value);
  const [first] = answers;
  if (first === undefined) return null;
  if (verdict.kind === 'agreed') return { answer: first, others: answers.slice(1) };
  const places = first.accounts.map((_, index) => index);
  const confirmed = (answer: AccountsAnswer): number =>
    places.filter((at) => !reportedAlone(answer, besides(answer, answers), [at])).length;
  const ranked = answers.map((answer) => ({ answer, confirmed: confirmed(answer) }));
  const { answer } = ranked.reduce((best, one) =>
    one.confirmed > best.confirmed || (one.confirmed === best.confirmed && one.answer.slot > best.answer.slot) ? one : best,
  );
  return { answer, others: besides(answer, answers) };
}

function besides(answer: AccountsAnswer, answers: readonly AccountsAnswer[]): readonly AccountsAnswer[] {
  return answers.filter((other) => other !== answer);
}
