import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block, Chain, ChainAccount, ChainListener, Execution, SendOutcome, TransactionRecord } from '../chain.ts';
import { genesisHashOf } from '../ledger/genesis-hash.ts';

/** A longer pause in the recording is shortened to this (before `speed`). */
export const maxPauseMs = 10_000;
/** Slot time if the recording has no block times. */
const defaultSlotMs = 400;
/** In a longer pause empty slots are reported, as long as the recording has free slots for them: a reader takes silence for a stall. */
const maxSilenceMs = 1_000;
/** A block is final this many slots later, or when the recording ends. */
const finalityLagSlots = 32;
const lamportsPerByte = 5_080n;
const maintenance = 'ClusterMaintenance';

export interface ReplayOptions {
  /** 1 is the recorded pace, 10 ten times as fast; 0 or Infinity as fast as possible. */
  readonly speed: number;
  /** What its readers see of accounts; none by default. */
  readonly accounts?: ReadonlyMap<string, ChainAccount>;
  /** Awaited between two blocks: resolves when the readers can receive more. */
  readonly throttle?: () => Promise<void>;
}

export interface ReplayReport {
  readonly blocks: number;
  readonly transactions: number;
}

export interface ReplayChain extends Chain {
  /** Resolves when everything was played, or at `stop`. */
  readonly finished: Promise<ReplayReport>;
}

function blockhashOf(slot: number): string {
  return encodeBase58(createHash('sha256').update(`replayed slot ${slot}`).digest());
}

/** Records in chain order as blocks, one for each slot that has transactions. */
function toBlocks(records: readonly TransactionRecord[]): readonly Block[] {
  const bySlot = new Map<number, TransactionRecord[]>();
  for (const record of records) {
    const same = bySlot.get(record.slot);
    if (same === undefined) bySlot.set(record.slot, [record]);
    else same.push(record);
  }
  let parentSlot: number | null = null;
  return [...bySlot].map(([slot, transactions], height) => {
    const block: Block = {
      slot,
      parentSlot: parentSlot ?? Math.max(0, slot - 1),
      blockhash: blockhashOf(slot),
      blockHeight: height + 1,
      blockTime: transactions.find((record) => record.blockTime > 0)?.blockTime ?? 0,
      transactions,
    };
    parentSlot = slot;
    return block;
  });
}

/** Milliseconds of a slot over the whole recording. */
function slotMsOf(blocks: readonly Block[]): number {
  const timed = blocks.filter((block) => block.blockTime > 0);
  const [first, last] = [timed.at(0), timed.at(-1)];
  if (first === undefined || last === undefined || last.slot === first.slot || last.blockTime <= first.blockTime) return defaultSlotMs;
  return ((last.blockTime - first.blockTime) * 1_000) / (last.slot - first.slot);
}

class RecordedChain implements ReplayChain {
  readonly genesisHash: string;
  readonly lamportsPerByte = lamportsPerByte;
  readonly finished: Promise<ReplayReport>;
  private readonly blocks: readonly Block[];
  private readonly slotMs: number;
  private readonly options: ReplayOptions;
  private readonly listeners = new Set<ChainListener>();
  private readonly bySignature = new Map<string, TransactionRecord>();
  private readonly byAddress = new Map<string, TransactionRecord[]>();
  private readonly stopping = new AbortController();
  private finish: (report: ReplayReport) => void = () => undefined;
  private next = 0;
  private started = false;
  private newest: Block;
  confirmedSlot: number;
  finalizedSlot: number;

  constructor(records: readonly TransactionRecord[], options: ReplayOptions) {
    this.blocks = toBlocks(records);
    this.genesisHash = genesisHashOf(`replayed ${Date.now()}`);
    this.slotMs = slotMsOf(this.blocks);
    this.options = options;
    const before = Math.max(0, (this.blocks[0]?.slot ?? 1) - 1);
    this.newest = emptyBlock(before, Math.max(0, before - 1), 0, 0);
    this.confirmedSlot = before;
    this.finalizedSlot = before;
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  get slot(): number {
    return this.newest.slot;
  }

  get blockHeight(): number {
    return this.newest.blockHeight;
  }

  latestBlockhash(): { readonly blockhash: string; readonly lastValidBlockHeight: number } {
    return { blockhash: this.newest.blockhash, lastValidBlockHeight: this.newest.blockHeight + 150 };
  }

  isBlockhashValid(blockhash: string): boolean {
    return blockhash === this.newest.blockhash;
  }

  account(address: string): ChainAccount | null {
    return this.options.accounts?.get(address) ?? null;
  }

  accountsOwnedBy(programId: string): Iterable<readonly [string, ChainAccount]> {
    return [...(this.options.accounts ?? [])].filter(([, { owner }]) => owner === programId);
  }

  tokenAccountsOf(): Iterable<readonly [string, ChainAccount]> {
    return [];
  }

  tokenAccountsOfMint(): Iterable<readonly [string, ChainAccount]> {
    return [];
  }

  send(): SendOutcome {
    const data = { err: maintenance, logs: [], unitsConsumed: 0 };
    return { ok: false, code: -32002, message: 'A replay accepts no transactions', data };
  }

  readonly bundles = null;

  simulate(): Execution {
    return {
      err: maintenance,
      logs: [],
      unitsConsumed: 0,
      fee: 0n,
      innerInstructions: [],
      accountKeys: [],
      preBalances: [],
      postBalances: [],
      preTokenBalances: [],
      postTokenBalances: [],
      returnData: null,
      written: new Map(),
    };
  }

  transaction(signature: string): TransactionRecord | null {
    return this.bySignature.get(signature) ?? null;
  }

  signaturesFor(
    address: string,
    options: { readonly limit?: number; readonly before?: string; readonly until?: string } = {},
  ): readonly TransactionRecord[] {
    const all = (this.byAddress.get(address) ?? []).toReversed();
    const before = options.before === undefined ? -1 : all.findIndex((record) => record.signature === options.before);
    const until = options.until === undefined ? -1 : all.findIndex((record) => record.signature === options.until);
    const range = all.slice(before + 1, until === -1 ? all.length : until);
    return options.limit === undefined ? range : range.slice(0, options.limit);
  }

  recentPriorityFees(): readonly { readonly slot: number; readonly prioritizationFee: number }[] {
    return [];
  }

  /** A replay has no faucet; the empty text means this. */
  airdrop(): string {
    return '';
  }

  /** Plays the next block; after the end of the recording, an empty one. */
  advance(): Block {
    const { slot, blockHeight } = this.newest;
    const recorded = this.blocks[this.next++];
    return recorded === undefined ? this.advanceEmpty() : this.freeze({ ...recorded, parentSlot: slot, blockHeight: blockHeight + 1 });
  }

  private advanceEmpty(): Block {
    const { slot, blockHeight, blockTime } = this.newest;
    return this.freeze(emptyBlock(slot + 1, slot, blockHeight + 1, blockTime));
  }

  private freeze(block: Block): Block {
    this.newest = block;
    for (const record of block.transactions) this.remember(record);
    for (const listener of this.listeners) listener.onFrozen?.(block);
    return block;
  }

  fork(): readonly number[] {
    return [];
  }

  listen(listener: ChainListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  start(): void {
    if (this.started) return;
    this.started = true;
    this.play().then(
      () => this.report(),
      () => this.report(),
    );
  }

  stop(): void {
    this.stopping.abort();
    this.report();
  }

  private report(): void {
    const played = this.blocks.slice(0, this.next);
    this.finish({ blocks: played.length, transactions: played.reduce((sum, block) => sum + block.transactions.length, 0) });
  }

  private remember(record: TransactionRecord): void {
    this.bySignature.set(record.signature, record);
    for (const address of new Set(record.accountKeys)) {
      const records = this.byAddress.get(address);
      if (records === undefined) this.byAddress.set(address, [record]);
      else records.push(record);
    }
  }

  /** Waits for the slot that follows. If the wait is long, reports slots before it. */
  private async pauseBefore(slot: number, pauseMs: number): Promise<void> {
    const { signal } = this.stopping;
    let leftMs = pauseMs;
    for (; leftMs > maxSilenceMs; leftMs -= maxSilenceMs) {
      await sleep(maxSilenceMs, undefined, { signal });
      if (this.newest.slot + 1 < slot) this.advanceEmpty();
    }
    await sleep(leftMs, undefined, { signal });
  }

  /** After the end of the recording, empty slots continue and are final at once: to its readers the node is alive. */
  private async rest(): Promise<void> {
    const { signal } = this.stopping;
    for (;;) {
      await sleep(defaultSlotMs, undefined, { signal, ref: false });
      const { slot } = this.advanceEmpty();
      this.confirm(slot);
      this.reachFinal(slot);
    }
  }

  /** Rejects when `stop` aborts. */
  private async play(): Promise<void> {
    const { signal } = this.stopping;
    const { speed, throttle } = this.options;
    const scale = speed > 0 && Number.isFinite(speed) ? 1 / speed : 0;
    while (this.next < this.blocks.length) {
      signal.throwIfAborted();
      const block = this.advance();
      const following = this.blocks[this.next];
      const pauseMs = following === undefined ? 0 : Math.min(maxPauseMs, (following.slot - block.slot) * this.slotMs) * scale;
      const confirmAfterMs = Math.min(pauseMs, 2 * this.slotMs * scale);
      await sleep(confirmAfterMs, undefined, { signal });
      this.confirm(block.slot);
      this.finalize(block.slot - finalityLagSlots);
      await throttle?.();
      if (following !== undefined && pauseMs > confirmAfterMs) await this.pauseBefore(following.slot, pauseMs - confirmAfterMs);
    }
    this.finalize(this.newest.slot);
    this.report();
    await this.rest();
  }

  private confirm(slot: number): void {
    this.confirmedSlot = slot;
    for (const listener of this.listeners) listener.onConfirmed?.(slot);
  }

  /** The newest played block at or below `slot` becomes final. */
  private finalize(slot: number): void {
    let at = this.next - 1;
    while (at >= 0 && (this.blocks[at]?.slot ?? Infinity) > slot) at--;
    const reached = this.blocks[at]?.slot;
    if (reached !== undefined && reached > this.finalizedSlot) this.reachFinal(reached);
  }

  private reachFinal(slot: number): void {
    this.finalizedSlot = slot;
    for (const listener of this.listeners) listener.onFinalized?.(slot);
  }
}

function emptyBlock(slot: number, parentSlot: number, blockHeight: number, blockTime: number): Block {
  return { slot, parentSlot, blockhash: blockhashOf(slot), blockHeight, blockTime, transactions: [] };
}

/**
 * A chain that plays recorded transactions, in their slots and at their pace, to any server. It has history and notifications. Its accounts are
 * those of the recording, and never change. It accepts no transactions.
 */
export function createReplayChain(records: readonly TransactionRecord[], options: ReplayOptions): ReplayChain {
  return new RecordedChain(records, options);
}
