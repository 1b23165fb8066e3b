import { reachedBy, type Verdict } from '@sluice/shared/solana/rpc/quorum/votes.ts';
import type { ChainAccount } from './account-reader.ts';

/** Accounts as one endpoint reports them. */
export interface AccountsAnswer {
  readonly endpoint: number;
  readonly slot: number;
  readonly accounts: readonly (ChainAccount | null)[];
}

/** The answer that counts, and the answers to compare it with. */
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
 * The slot of the accounts at these places. If others report the same accounts, it is a slot that a majority of them has reached, so that no
 * single endpoint can report a slot too far ahead. Otherwise it is the slot of the answer.
 */
export function reportedSlot(answer: AccountsAnswer, others: readonly AccountsAnswer[], places: readonly number[]): number {
  if (places.length === 0 || reportedAlone(answer, others, places)) return answer.slot;
  return Math.min(
    ...places.map((at) => reachedBy([answer, ...others.filter((other) => !reportedAlone(answer, [other], [at]))].map(({ slot }) => slot))),
  );
}

/** The newest slot of this answer and of those that report at least one of these accounts alike, because an endpoint may report too old a slot. */
export function lastReportedSlot(answer: AccountsAnswer, others: readonly AccountsAnswer[], places: readonly number[]): number {
  const same = others.filter((other) => places.some((at) => !reportedAlone(answer, [other], [at])));
  return Math.max(answer.slot, ...same.map(({ slot }) => slot));
}

/** Whether no other answers confirm all accounts at these places. */
export function reportedAlone({ accounts }: AccountsAnswer, others: readonly AccountsAnswer[], places: readonly number[]): boolean {
  return !places.every((at) => others.some((other) => isSameAccount(accounts[at] ?? null, other.accounts[at] ?? null)));
}

/**
 * Chooses the answer that counts; null if there is none. If no majority agrees on all accounts, because some change with every slot, it is the
 * answer with the most accounts that others confirm, and of equal ones the newest. All accounts come from one answer, because the accounts of
 * a pool must fit together.
 */
export function chooseAnswer(verdict: Verdict<AccountsAnswer>): ChosenAnswer | null {
  if (verdict.kind !== 'agreed' && verdict.kind !== 'contradicted') return null;
  const answers = verdict.votes.map(({ value }) => value);
  const [first] = answers;
  const besides = (answer: AccountsAnswer): readonly AccountsAnswer[] => answers.filter((other) => other !== answer);
  if (first === undefined) return null;
  if (verdict.kind === 'agreed') return { answer: first, others: answers.slice(1) };
  const places = first.accounts.map((_, index) => index);
  const confirmed = (answer: AccountsAnswer): number => places.filter((at) => !reportedAlone(answer, besides(answer), [at])).length;
  const ranked = answers.map((answer) => ({ answer, confirmed: confirmed(answer) }));
  const { answer } = ranked.reduce((best, one) =>
    one.confirmed > best.confirmed || (one.confirmed === best.confirmed && one.answer.slot > best.answer.slot) ? one : best,
  );
  return { answer, others: besides(answer) };
}
