import { hash } from 'node:crypto';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import type { FeedEndpoint, PubSubFeed } from './feed.ts';
import { signatureForm } from './logs.ts';
import { readWholeSighting } from '../rpc/whole-sighting.ts';

const options = {
  commitment: 'processed',
  encoding: 'base64',
  transactionDetails: 'full',
  showRewards: false,
  maxSupportedTransactionVersion: 1,
};

/** Whole transactions at `processed` by `transactionSubscribe`, in the form of Helius. One subscription has all programs. */
export class TransactionFeed implements PubSubFeed {
  readonly name = 'transaction-subscribe';
  readonly showsWhole = true;
  readonly method = 'transactionNotification';
  readonly subscriptions: readonly Subscription[];

  constructor(programs: readonly string[]) {
    const filter = { vote: false, failed: false, accountInclude: programs };
    this.subscriptions = [{ name: 'transactions', method: 'transactionSubscribe', params: [filter, options], required: true }];
  }

  takeNotification(params: unknown, receivedUs: number, from: FeedEndpoint): void {
    const result = isRecord(params) && isRecord(params['result']) ? params['result'] : {};
    const { signature, slot, transaction, transactionIndex } = result;
    const meta = isRecord(transaction) ? transaction['meta'] : null;
    if (typeof signature !== 'string' || !signatureForm.test(signature) || !isSlot(slot) || !from.isPossible(slot) || !isRecord(meta)) {
      from.malformed();
      return;
    }
    const { counts, sink } = from;
    if (meta['err'] !== null && meta['err'] !== undefined) {
      counts.failed++;
      sink.failed(signature, slot, this.name, from.index);
      return;
    }
    if (sink.isRepeat(this.name, signature, slot, hash('sha256', JSON.stringify(transaction), 'base64'), from.index)) return;
    const origin = { source: this.name, endpoint: from.index, signature, slot, commitment: 'processed', receivedUs, late: false } as const;
    const sighting = readWholeSighting({ ...(transaction as object), slot, transactionIndex }, origin);
    if (sighting.kind === 'unusable') from.malformed();
    else sink.sighting(sighting);
  }
}
