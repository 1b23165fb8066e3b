import type { DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { BundleEngine, ChainAccount } from '../chain.ts';
import type { SendQueue } from '../send-queue.ts';
import type { Bank, Outcome } from './execute.ts';

type RunOn = (transaction: DecodedTransaction, account: Bank['account']) => Outcome;

/** Runs transactions one after the other, each on what those before it leave, up to the first that fails. Stores nothing. */
export function inTurn(transactions: readonly DecodedTransaction[], before: Bank['account'], run: RunOn): readonly Outcome[] {
  const written = new Map<string, ChainAccount | null>();
  const outcomes: Outcome[] = [];
  for (const transaction of transactions) {
    const outcome = run(transaction, (address) => (written.has(address) ? (written.get(address) ?? null) : before(address)));
    outcomes.push(outcome);
    if (outcome.execution.err !== null) break;
    for (const [address, account] of outcome.commit) written.set(address, account);
  }
  return outcomes;
}

/** `account`: of the newest block. `preview`: what a transaction would do after that block. */
export function bundleEngine(queue: Pick<SendQueue, 'sendBundle'>, account: Bank['account'], preview: RunOn): BundleEngine {
  return {
    send: (bundle) => queue.sendBundle(bundle),
    simulate: (transactions) => inTurn(transactions, account, preview).map(({ execution }) => execution),
  };
}
