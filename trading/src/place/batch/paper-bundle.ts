import type { BatchAnswer } from '@sluice/shared/wire/rest/trading/batch.ts';
import type { PaperBalance, PaperMovement } from '@sluice/gateway/store/sql/tables/orders/paper.ts';
import type { OrderToInsert } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { PrepareParts } from '../../prepare/prepare.ts';
import { bundleIdOf } from '../../send/lanes.ts';
import { placedNow, type Outcome, type Refusal } from '../outcome.ts';
import { fillOnPaper, prepareOnPaper, type PaperFill } from '../paper/paper.ts';
import type { PlaceParts } from '../place-order.ts';
import { inBundle, insertionOf, notAllStored, type AdmittedBundle } from './bundle-orders.ts';
import { inSequence, ofOrder } from './prepare-bundle.ts';
import { Sequence } from './sequence.ts';

/** Fills all orders of a bundle on paper, each on the state that those before it leave, or none of them. Rejects with an `RpcError`. */
export async function bundleOnPaper(admitted: AdmittedBundle, parts: PlaceParts): Promise<Outcome<BatchAnswer>> {
  const { requests, use, startedMs } = admitted;
  const fills = await fillInSequence(admitted, parts);
  if ('error' in fills) return fills;
  if (requests.every(({ dryRun }) => dryRun)) return placedNow({ results: fills.map(({ answer }) => answer(null)) });
  const id = bundleIdOf(fills.map(({ order }) => ({ signature: order.id })));
  const inserts = fills.map(({ order, movement }, index): OrderToInsert => [
    inBundle(order, { id, index, count: fills.length }),
    insertionOf(use, index, parts, { paper: movement }),
  ]);
  const inserted = await parts.ledger.insertAll(inserts);
  if (inserted.kind !== 'stored') return notAllStored(inserted, inserts, startedMs);
  return placedNow({ results: inserted.orders.map((order, at) => ({ ...fills[at]!.answer(order), bundleId: id })) });
}

async function fillInSequence(admitted: AdmittedBundle, parts: PlaceParts): Promise<readonly PaperFill[] | Refusal> {
  const { requests, genesisHash } = admitted;
  const sequence = new Sequence(parts.state);
  const balances = new Map<string, PaperBalance>();
  const fills: PaperFill[] = [];
  for (const [index, request] of requests.entries()) {
    const { publicKey: wallet } = request;
    const balance = balances.get(wallet) ?? (await parts.paper.balance({ wallet, genesisHash }));
    const place = { index, count: requests.length, laneTips: parts.laneTips };
    const prepareParts = (state: PrepareParts['state'], laneTips: PlaceParts['laneTips']): PrepareParts => ({ ...parts, state, laneTips });
    const prepared = await inSequence(request, place, sequence, (state, laneTips) =>
      prepareOnPaper(request, balance, prepareParts(state, laneTips)),
    );
    if ('error' in prepared) return prepared;
    const filled = await fillOnPaper({ ...admitted, request }, prepared, balance, parts);
    if ('error' in filled) return ofOrder(index, filled);
    balances.set(wallet, balanceAfter(balance, filled.movement));
    fills.push(filled);
  }
  return fills;
}

function balanceAfter(balance: PaperBalance, { lamports, accounts: changes }: PaperMovement): PaperBalance {
  const accounts = new Map(balance.accounts);
  for (const change of changes) {
    const amount = (accounts.get(change.address)?.amount ?? 0n) + change.amount;
    accounts.set(change.address, { ...change, amount });
  }
  return { ...balance, lamports: balance.lamports + lamports, accounts };
}
