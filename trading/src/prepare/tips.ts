import type { Config } from '@sluice/shared/config/config.ts';
import { leastJitoTip, leastTipOfSender } from '@sluice/shared/config/settings/tip-limits.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { jitoTipAccounts, senderTipAccounts, tipAccounts, type PaidLane } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import type { LaneTip } from './surround.ts';

const transferTag = 2;
const transferBytes = 12;

/** Tips of custodial orders. The last one is left out first: that of the block engine, because Sender also forwards to block engines. */
export function laneTips({ jitoUrl, jitoTip, senderUrl, senderTip }: Config['broadcast']): readonly LaneTip[] {
  return [
    ...(senderUrl === null ? [] : [{ lane: 'sender' as const, accounts: senderTipAccounts, lamports: senderTip }]),
    ...(jitoUrl === null ? [] : [{ lane: 'jito' as const, accounts: jitoTipAccounts, lamports: jitoTip }]),
  ];
}

/** The paid lanes that accept a transaction: it transfers enough to one of the lane's accounts, which the message itself names. */
export function createTippedLanes({ senderUrl }: Pick<Config['broadcast'], 'senderUrl'>): (wire: Uint8Array) => ReadonlySet<PaidLane> {
  const least: Readonly<Record<PaidLane, bigint>> = { jito: leastJitoTip, sender: senderUrl === null ? 0n : leastTipOfSender(senderUrl) };
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
