import { parseAnswer } from '@sluice/shared/solana/rpc/answers/large-answers.ts';
import { blockIn } from '@sluice/shared/solana/rpc/answers/keep-transactions.ts';
import { isRecord, isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import { methodAtHead, subscriptionAtTail } from '@sluice/shared/solana/pubsub/frame-shape.ts';
import type { Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import { blockReader, type BlockItem } from '../blocks/block-reader.ts';
import { reportTransactions } from '../blocks/report-transactions.ts';
import type { FeedEndpoint, PubSubFeed } from './feed.ts';

const options = {
  commitment: 'confirmed',
  encoding: 'json',
  transactionDetails: 'full',
  showRewards: false,
  maxSupportedTransactionVersion: 1,
};
const method = 'blockNotification';

/**
 * Whole transactions from confirmed blocks by `blockSubscribe`. A subscription has one program, and its blocks have only the transactions of this
 * program. A slot without any is not reported, so these blocks confirm no slot. A thread parses long blocks; it has a bound of bytes for all.
 */
export class BlockFeed implements PubSubFeed {
  readonly name = 'block-subscribe';
  readonly showsWhole = true;
  readonly method = method;
  readonly subscriptions: readonly Subscription[];
  readonly #programs: ReadonlySet<string>;

  constructor(programs: readonly string[]) {
    this.#programs = new Set(programs);
    this.subscriptions = programs.map((program) => ({
      name: `blocks:${program}`,
      method: 'blockSubscribe',
      params: [{ mentionsAccountOrProgram: program }, options],
      required: true,
    }));
  }

  takeFrame(frame: Buffer, receivedUs: number, from: FeedEndpoint): boolean {
    if (methodAtHead(frame) !== method) return false;
    from.checkAsked(subscriptionAtTail(frame));
    void this.#read(frame, receivedUs, from);
    return true;
  }

  async #read(frame: Buffer, receivedUs: number, from: FeedEndpoint): Promise<void> {
    const slot = slotAtHead(frame);
    const parsed = await parseAnswer(frame, this.#programs, blockReader);
    if (parsed.kind === 'parsed') await this.#take(parsed.answer, receivedUs, from);
    else if (parsed.kind !== 'busy') from.malformed();
    else if (slot !== null && from.isPossible(slot)) from.missed(slot);
  }

  /** A notification whose head does not show its method. */
  takeNotification(params: unknown, receivedUs: number, from: FeedEndpoint): void {
    const notification = { params };
    blockReader.read(notification, this.#programs);
    void this.#take(notification, receivedUs, from);
  }

  async #take(notification: unknown, receivedUs: number, from: FeedEndpoint): Promise<void> {
    const params = isRecord(notification) && isRecord(notification['params']) ? notification['params'] : {};
    const value = isRecord(params['result']) && isRecord(params['result']['value']) ? params['result']['value'] : {};
    const block = blockIn(notification);
    const { slot } = value;
    if (!isSlot(slot) || !from.isPossible(slot)) from.malformed();
    // The node could not read its own block.
    else if (value['err'] !== null && value['err'] !== undefined) from.missed(slot);
    else if (!isRecord(block)) from.malformed();
    else {
      const { transactions, failed } = block;
      if (!Array.isArray(transactions)) return from.malformed();
      const origin = { source: this.name, slot, commitment: 'confirmed', receivedUs, late: false } as const;
      const parts = { transactions: transactions as BlockItem[], failed: Array.isArray(failed) ? failed : [] };
      from.counts.malformed += await reportTransactions(parts, origin, from.sink);
    }
  }
}

const slotForm = /"slot" ?: ?(\d{1,15})/;

function slotAtHead(frame: Buffer): number | null {
  const found = slotForm.exec(frame.toString('latin1', 0, 256))?.[1];
  return found === undefined ? null : Number(found);
}
