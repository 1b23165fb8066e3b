import type { Config } from '@sluice/shared/config/config.ts';
import { leastJitoTip, senderLeast } from '@sluice/shared/config/tip-settings.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { jitoTipAccounts, senderTipAccounts, tipAccounts } from '@sluice/shared/solana/tip-accounts.ts';
import type { LaneTip } from './surround.ts';

/** Ways to the leaders that take only what carries a tip of theirs. */
export type PaidLane = keyof typeof tipAccounts;

const transferTag = 2;
const transferBytes = 12;

/**
 * What custodial orders pay for the lanes that are set, in the order in which they give way: each lane wants a tip to an account of its
 * own, and where a message has no room for both the block engine's is left out, as Sender hands on to block engines too.
 */
export function laneTips({ jitoUrl, jitoTip, senderUrl, senderTip }: Config['broadcast']): readonly LaneTip[] {
  return [
    ...(senderUrl === null ? [] : [{ accounts: senderTipAccounts, lamports: senderTip }]),
    ...(jitoUrl === null ? [] : [{ accounts: jitoTipAccounts, lamports: jitoTip }]),
  ];
}

/**
 * The lanes that take this transaction, by its bytes alone: a transfer of enough to one of a lane's accounts, which the message itself
 * names. An account of a lookup table counts for none.
 */
export function createTippedLanes({ senderUrl }: Pick<Config['broadcast'], 'senderUrl'>): (wire: Uint8Array) => ReadonlySet<PaidLane> {
  const least: Readonly<Record<PaidLane, bigint>> = { jito: leastJitoTip, sender: senderUrl === null ? 0n : senderLeast(senderUrl) };
  return (wire) => {
    const paid = new Set<PaidLane>();
    const transaction = decodeTransaction(wire);
    if (transaction.kind === 'malformed') return paid;
    for (const { programIdIndex, accountIndexes, data } of transaction.instructions) {
      if (transaction.accountKeys[programIdIndex] !== systemProgram || data.length !== transferBytes) continue;
      const view = new DataView(data.buffer, data.byteOffset, data.length);
      const to = transaction.accountKeys[accountIndexes[1] ?? -1];
      if (to === undefined || view.getUint32(0, true) !== transferTag) continue;
      const lamports = view.getBigUint64(4, true);
      for (const lane of ['jito', 'sender'] as const) if (tipAccounts[lane].has(to) && lamports >= least[lane]) paid.add(lane);
    }
    return paid;
  };
}
