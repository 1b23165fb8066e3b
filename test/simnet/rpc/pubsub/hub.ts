import { clockSysvar } from '@sluice/shared/solana/well-known.ts';
import type { Commitment } from '@sluice/shared/wire/events/events.ts';
import type { Block, Chain, ChainAccount, TransactionRecord } from '../../chain.ts';
import { encodeAccount } from '../encode-account.ts';
import { encodeTransaction } from '../encode-transaction.ts';
import { passesFilters } from '../account-filters.ts';
import { toJson } from '../json.ts';
import { subscriptionKey, type Subscription, type SubscriptionKind } from './subscription.ts';
import { Turns } from './turns.ts';

/** Frozen slots stored until they are final. With more, the oldest is dropped and its later notifications are not sent. */
const maxPendingSlots = 1_024;

/** Where the notifications of one connection are sent. */
export interface Outlet {
  notify(frame: Buffer, kind: SubscriptionKind): void;
  /** Collects the socket's writes while a block is reported. */
  cork(): void;
  uncork(): void;
  /** The one-shot subscription `id` was answered. */
  ended(id: number): void;
}

/** One distinct subscription, and the connections that share it. */
interface Channel {
  readonly id: number;
  readonly key: string;
  readonly subscription: Subscription;
  readonly outlets: Set<Outlet>;
  /** Slot of the state that was last reported (account subscriptions). */
  lastSlot: number;
}

/** What a frozen block changed, stored until the block is final. */
interface PendingSlot {
  readonly block: Block;
  readonly changed: ReadonlyMap<string, ChainAccount>;
  confirmed: boolean;
}

/** Accounts after a block. A failed transaction still changed its fee payer. */
function changedAccounts(block: Block, chain: Chain): ReadonlyMap<string, ChainAccount> {
  const changed = new Map<string, ChainAccount>();
  for (const transaction of block.transactions) {
    for (const [address, account] of transaction.written) {
      // Set again, so that the order is that of the last write.
      changed.delete(address);
      changed.set(address, account);
    }
    const payer = transaction.err === null ? undefined : transaction.accountKeys[0];
    const account = payer === undefined ? null : chain.account(payer);
    if (payer !== undefined && account !== null) changed.set(payer, account);
  }
  const clock = chain.account(clockSysvar);
  if (clock !== null) changed.set(clockSysvar, clock);
  return changed;
}

/**
 * Notifies subscribers of what happens on the chain, as a node does: `processed` when a bank is frozen, in block order; `confirmed` and
 * `finalized` later. Equal subscriptions share one id, and each notification is encoded once for all of them.
 */
export class Hub {
  private readonly chain: Chain;
  private readonly order: (transactions: readonly TransactionRecord[]) => readonly TransactionRecord[];
  private readonly channels = new Map<number, Channel>();
  private readonly byKey = new Map<string, Channel>();
  private readonly byKind = new Map<SubscriptionKind, Set<Channel>>();
  private readonly pending = new Map<number, PendingSlot>();
  /** Accounts whose state was rolled back with a dead fork. They are reported again with the next bank. */
  private readonly rolledBack = new Set<string>();
  private readonly unlisten: () => void;
  /** The work of one block at most: when the next block is frozen, the previous one is reported to its end. */
  private readonly reporting: Turns;
  /** The connections whose writes are collected; null outside of a turn. */
  private corked: Set<Outlet> | null = null;
  private nextId = 1;
  private notified = 0;

  /** `order` may change the order in which a block's logs are reported; `turnMs` is how long this may run before others get a turn. */
  constructor(
    chain: Chain,
    order: (transactions: readonly TransactionRecord[]) => readonly TransactionRecord[] = (list) => list,
    turnMs = Infinity,
  ) {
    this.chain = chain;
    this.order = order;
    this.reporting = new Turns(turnMs, (turn) => this.together(turn));
    this.unlisten = chain.listen({
      onFrozen: (block) => this.frozen(block),
      onConfirmed: (slot) => this.settled('confirmed', slot),
      onFinalized: (slot) => this.settled('finalized', slot),
      onDead: (slots) => this.dead(slots),
    });
  }

  /** Notifications so far, each counted once for every distinct subscription. */
  get notifications(): number {
    return this.notified;
  }

  count(kind?: SubscriptionKind): number {
    let count = 0;
    for (const { subscription, outlets } of this.channels.values()) {
      if (kind === undefined || subscription.kind === kind) count += outlets.size;
    }
    return count;
  }

  /** Adds a subscription and returns its id, which equal subscriptions share. */
  subscribe(subscription: Subscription, outlet: Outlet): number {
    const key = subscriptionKey(subscription);
    let channel = this.byKey.get(key);
    if (channel === undefined) {
      channel = { id: this.nextId++, key, subscription, outlets: new Set(), lastSlot: -1 };
      this.byKey.set(key, channel);
      this.channels.set(channel.id, channel);
      const same = this.byKind.get(subscription.kind);
      if (same === undefined) this.byKind.set(subscription.kind, new Set([channel]));
      else same.add(channel);
    }
    channel.outlets.add(outlet);
    return channel.id;
  }

  unsubscribe(id: number, outlet: Outlet): void {
    const channel = this.channels.get(id);
    if (channel === undefined) return;
    channel.outlets.delete(outlet);
    if (channel.outlets.size === 0) this.drop(channel);
  }

  /** `sendTransaction` accepted a transaction: reported to subscriptions with `enableReceivedNotification`. */
  received(signature: string): void {
    for (const channel of this.channelsOf('signature')) {
      const { subscription } = channel;
      if (subscription.kind !== 'signature' || !subscription.received || subscription.signature !== signature) continue;
      this.notify(channel, this.frame(channel, this.contextJson(this.chain.slot, '"receivedSignature"')));
    }
  }

  close(): void {
    this.unlisten();
    this.reporting.close();
    this.channels.clear();
    this.byKind.clear();
    this.byKey.clear();
    this.pending.clear();
  }

  private drop(channel: Channel): void {
    this.channels.delete(channel.id);
    this.byKey.delete(channel.key);
    this.byKind.get(channel.subscription.kind)?.delete(channel);
  }

  private frozen(block: Block): void {
    this.reporting.finish();
    const changed = changedAccounts(block, this.chain);
    this.pending.set(block.slot, { block, changed, confirmed: false });
    if (this.pending.size > maxPendingSlots) {
      const oldest = this.pending.keys().next();
      if (oldest.done !== true) this.pending.delete(oldest.value);
    }
    this.reporting.add(this.reportFrozen(block, changed));
  }

  private *reportFrozen(block: Block, changed: ReadonlyMap<string, ChainAccount>): Generator<void> {
    this.reportSlot(block);
    yield* this.reportBlock('processed', block, changed);
    yield* this.reportRolledBack(block.slot, changed);
    yield* this.reportSignatures('processed', block.slot);
  }

  private settled(commitment: 'confirmed' | 'finalized', slot: number): void {
    this.reporting.add(this.reportSettled(commitment, slot));
  }

  private *reportSettled(commitment: 'confirmed' | 'finalized', slot: number): Generator<void> {
    const slots = [...this.pending.keys()].filter((retained) => retained <= slot).sort((a, b) => a - b);
    for (const retained of slots) yield* this.settleSlot(commitment, retained);
    if (commitment === 'finalized') this.reportRoot(slot);
    yield* this.reportSignatures(commitment, slot);
  }

  private *settleSlot(commitment: 'confirmed' | 'finalized', slot: number): Generator<void> {
    const retained = this.pending.get(slot);
    if (retained === undefined) return;
    if (commitment === 'confirmed') {
      const isNew = !retained.confirmed;
      retained.confirmed = true;
      if (isNew) yield* this.reportBlock('confirmed', retained.block, retained.changed);
      return;
    }
    this.pending.delete(slot);
    yield* this.reportBlock('finalized', retained.block, retained.changed);
  }

  private dead(slots: readonly number[]): void {
    this.reporting.finish();
    for (const slot of slots) {
      const retained = this.pending.get(slot);
      if (retained === undefined) continue;
      for (const address of retained.changed.keys()) this.rolledBack.add(address);
      this.pending.delete(slot);
    }
  }

  private together(notify: () => void): void {
    const corked = new Set<Outlet>();
    this.corked = corked;
    notify();
    this.corked = null;
    for (const outlet of corked) outlet.uncork();
  }

  private channelsOf(kind: SubscriptionKind): readonly Channel[] {
    return [...(this.byKind.get(kind) ?? [])];
  }

  private contextJson(slot: number, valueJson: string): string {
    // Unlike an HTTP answer, the context of a notification has no apiVersion.
    return `{"context":{"slot":${slot}},"value":${valueJson}}`;
  }

  private frame(channel: Channel, resultJson: string): Buffer {
    const method = `${channel.subscription.kind}Notification`;
    return Buffer.from(`{"jsonrpc":"2.0","method":"${method}","params":{"result":${resultJson},"subscription":${channel.id}}}`);
  }

  private notify(channel: Channel, frame: Buffer): void {
    this.notified++;
    for (const outlet of channel.outlets) {
      if (this.corked?.has(outlet) === false) {
        this.corked.add(outlet);
        outlet.cork();
      }
      outlet.notify(frame, channel.subscription.kind);
    }
  }

  private reportSlot(block: Block): void {
    const result = `{"parent":${block.parentSlot},"root":${this.chain.finalizedSlot},"slot":${block.slot}}`;
    for (const channel of this.channelsOf('slot')) this.notify(channel, this.frame(channel, result));
  }

  private reportRoot(slot: number): void {
    for (const channel of this.channelsOf('root')) this.notify(channel, this.frame(channel, String(slot)));
  }

  private *reportBlock(commitment: Commitment, block: Block, changed: ReadonlyMap<string, ChainAccount>): Generator<void> {
    yield* this.reportLogs(commitment, block);
    yield* this.reportTransactions(commitment, block);
    if (commitment !== 'processed') yield* this.reportBlocks(commitment, block);
    yield* this.reportPrograms(commitment, block.slot, changed);
    for (const channel of this.channelsOf('account')) {
      const { subscription } = channel;
      if (subscription.kind !== 'account' || subscription.commitment !== commitment) continue;
      const account = changed.get(subscription.address);
      if (account === undefined) continue;
      this.reportAccount(channel, block.slot, account);
      yield;
    }
  }

  private *reportLogs(commitment: Commitment, block: Block): Generator<void> {
    const everything: Channel[] = [];
    const byMention = new Map<string, Channel>();
    for (const channel of this.channelsOf('logs')) {
      const { subscription } = channel;
      if (subscription.kind !== 'logs' || subscription.commitment !== commitment) continue;
      if (subscription.mention === null) everything.push(channel);
      else byMention.set(subscription.mention, channel);
    }
    if (everything.length === 0 && byMention.size === 0) return;
    for (const transaction of this.order(block.transactions)) {
      const interested = [...everything];
      for (const address of new Set(transaction.accountKeys)) {
        const channel = byMention.get(address);
        if (channel !== undefined) interested.push(channel);
      }
      if (interested.length === 0) continue;
      const { signature, err, logs } = transaction;
      const json = this.contextJson(block.slot, JSON.stringify({ signature, err, logs }));
      for (const channel of interested) this.notify(channel, this.frame(channel, json));
      yield;
    }
  }

  private *reportTransactions(commitment: Commitment, block: Block): Generator<void> {
    for (const channel of this.channelsOf('transaction')) {
      const { subscription } = channel;
      if (subscription.kind !== 'transaction' || subscription.commitment !== commitment) continue;
      const { mentions, failed, form } = subscription;
      for (const record of this.order(block.transactions)) {
        if (failed !== null && failed !== (record.err !== null)) continue;
        if (mentions.length > 0 && !record.accountKeys.some((key) => mentions.includes(key))) continue;
        const encoded = encodeTransaction(record, form.encoding, form.maxVersion);
        if (!encoded.ok) continue;
        this.notify(channel, this.frame(channel, toJson({ transaction: encoded.value, signature: record.signature, slot: block.slot })));
        yield;
      }
    }
  }

  /** As a node does: a block without a transaction that mentions the account is not reported. */
  private *reportBlocks(commitment: Commitment, block: Block): Generator<void> {
    for (const channel of this.channelsOf('block')) {
      const { subscription } = channel;
      if (subscription.kind !== 'block' || subscription.commitment !== commitment) continue;
      const { mention, form } = subscription;
      const records = block.transactions.filter(({ accountKeys }) => mention === null || accountKeys.includes(mention));
      if (mention !== null && records.length === 0) continue;
      const encoded = records.map((record) => encodeTransaction(record, form.encoding, form.maxVersion));
      const isReadable = encoded.every(({ ok }) => ok);
      const { blockHeight, blockTime, blockhash, parentSlot } = block;
      const previousBlockhash = this.pending.get(parentSlot)?.block.blockhash ?? '11111111111111111111111111111111';
      const transactions = encoded.map((one) => (one.ok ? one.value : null));
      const shown = { blockHeight, blockTime, blockhash, parentSlot, previousBlockhash, transactions };
      const fault = isReadable ? {} : { err: 'UnsupportedTransactionVersion' };
      const value = toJson({ slot: block.slot, block: isReadable ? shown : null, err: null, ...fault });
      this.notify(channel, this.frame(channel, this.contextJson(block.slot, value)));
      yield;
    }
  }

  private *reportPrograms(commitment: Commitment, slot: number, changed: ReadonlyMap<string, ChainAccount>): Generator<void> {
    const byProgram = new Map<string, Channel[]>();
    for (const channel of this.channelsOf('program')) {
      const { subscription } = channel;
      if (subscription.kind !== 'program' || subscription.commitment !== commitment) continue;
      const same = byProgram.get(subscription.programId);
      if (same === undefined) byProgram.set(subscription.programId, [channel]);
      else same.push(channel);
    }
    if (byProgram.size === 0) return;
    for (const [pubkey, account] of changed) {
      for (const channel of byProgram.get(account.owner) ?? []) {
        const { subscription } = channel;
        if (subscription.kind !== 'program' || !passesFilters(account, subscription.filters)) continue;
        const value = { account: encodeAccount(account, subscription.format, (address) => this.chain.account(address)), pubkey };
        this.notify(channel, this.frame(channel, this.contextJson(slot, toJson(value))));
        yield;
      }
    }
  }

  private reportAccount(channel: Channel, slot: number, account: ChainAccount): void {
    if (channel.subscription.kind !== 'account') return;
    channel.lastSlot = slot;
    const value = encodeAccount(account, channel.subscription.format, (address) => this.chain.account(address));
    this.notify(channel, this.frame(channel, this.contextJson(slot, toJson(value))));
  }

  /**
   * As a node does: state that a fork rolled back is reported with the next bank. An account that does not exist any more has no lamports.
   */
  private *reportRolledBack(slot: number, changed: ReadonlyMap<string, ChainAccount>): Generator<void> {
    if (this.rolledBack.size === 0) return;
    for (const channel of this.channelsOf('account')) {
      const { subscription } = channel;
      if (subscription.kind !== 'account' || subscription.commitment !== 'processed') continue;
      if (!this.rolledBack.has(subscription.address) || changed.has(subscription.address)) continue;
      this.reportAccount(channel, slot, this.chain.account(subscription.address) ?? emptyAccount);
      yield;
    }
    this.rolledBack.clear();
  }

  /** Also reports a transaction that landed before the subscription, with the next bank of its commitment. */
  private *reportSignatures(commitment: Commitment, reached: number): Generator<void> {
    for (const channel of this.channelsOf('signature')) {
      const { subscription } = channel;
      if (subscription.kind !== 'signature' || subscription.commitment !== commitment) continue;
      const record = this.chain.transaction(subscription.signature);
      if (record === null || record.slot > reached) continue;
      this.notify(channel, this.frame(channel, this.contextJson(reached, JSON.stringify({ err: record.err }))));
      for (const outlet of channel.outlets) outlet.ended(channel.id);
      this.drop(channel);
      yield;
    }
  }
}

const emptyAccount: ChainAccount = {
  lamports: 0n,
  owner: '11111111111111111111111111111111',
  data: new Uint8Array(0),
  executable: false,
};
