import type { Block, Chain, ChainListener, TransactionRecord } from '../chain.ts';
import { firstEvent, forgeLookAlike } from './look-alike.ts';
import { shareOf } from './random.ts';
import { truncateLogs } from './truncate-logs.ts';

/** Altered and forged transactions that getTransaction can return; the oldest are dropped first. */
const maxAltered = 20_000;
/** More than any chain here remembers. */
const wholeHistory = 10_000_000;
/** The number of bytes that the runtime itself allows a transaction to log. */
export const runtimeLogLimitBytes = 10_000;

interface Lie {
  readonly ignoreUntil: boolean;
  readonly omitShare: number;
}

/** The chain as a faulty node reports it: truncated logs, forged transactions, gaps in the history. The chain itself does not change. */
export class FaultyChain implements Chain {
  private readonly base: Chain;
  private readonly seed: number;
  private readonly listeners = new Set<ChainListener>();
  private readonly altered = new Map<string, TransactionRecord>();
  private readonly forged = new Map<string, TransactionRecord>();
  private readonly unlisten: () => void;
  private lastBlock: Block | null = null;
  private forgeries = 0;
  /** How many more transactions to truncate, and at how many bytes. */
  truncation = { left: 0, bytes: runtimeLogLimitBytes };
  lookAlikesLeft = 0;
  lie: Lie | null = null;

  constructor(base: Chain, seed: number) {
    this.base = base;
    this.seed = seed;
    this.unlisten = base.listen({
      onFrozen: (block) => this.frozen(block),
      onConfirmed: (slot) => this.each((listener) => listener.onConfirmed?.(slot)),
      onFinalized: (slot) => this.each((listener) => listener.onFinalized?.(slot)),
      onDead: (slots) => this.dead(slots),
    });
  }

  get genesisHash(): string {
    return this.base.genesisHash;
  }
  get slot(): number {
    return this.base.slot;
  }
  get blockHeight(): number {
    return this.base.blockHeight;
  }
  get confirmedSlot(): number {
    return this.base.confirmedSlot;
  }
  get finalizedSlot(): number {
    return this.base.finalizedSlot;
  }
  get lamportsPerByte(): bigint {
    return this.base.lamportsPerByte;
  }
  latestBlockhash(): ReturnType<Chain['latestBlockhash']> {
    return this.base.latestBlockhash();
  }
  isBlockhashValid(blockhash: string): boolean {
    return this.base.isBlockhashValid(blockhash);
  }
  account(address: string): ReturnType<Chain['account']> {
    return this.base.account(address);
  }
  accountsOwnedBy(programId: string): ReturnType<Chain['accountsOwnedBy']> {
    return this.base.accountsOwnedBy(programId);
  }
  tokenAccountsOf(owner: string): ReturnType<Chain['tokenAccountsOf']> {
    return this.base.tokenAccountsOf(owner);
  }
  tokenAccountsOfMint(mint: string): ReturnType<Chain['tokenAccountsOfMint']> {
    return this.base.tokenAccountsOfMint(mint);
  }
  send(...args: Parameters<Chain['send']>): ReturnType<Chain['send']> {
    return this.base.send(...args);
  }
  simulate(...args: Parameters<Chain['simulate']>): ReturnType<Chain['simulate']> {
    return this.base.simulate(...args);
  }
  get bundles(): Chain['bundles'] {
    return this.base.bundles;
  }
  recentPriorityFees(accounts: readonly string[]): ReturnType<Chain['recentPriorityFees']> {
    return this.base.recentPriorityFees(accounts);
  }
  airdrop(...args: Parameters<Chain['airdrop']>): string {
    return this.base.airdrop(...args);
  }
  fork(...args: Parameters<Chain['fork']>): readonly number[] {
    return this.base.fork(...args);
  }
  start(): void {
    this.base.start();
  }
  stop(): void {
    this.base.stop();
  }

  advance(): Block {
    const block = this.base.advance();
    return this.lastBlock?.slot === block.slot ? this.lastBlock : block;
  }

  listen(listener: ChainListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  transaction(signature: string): TransactionRecord | null {
    return this.altered.get(signature) ?? this.base.transaction(signature);
  }

  signaturesFor(address: string, options: NonNullable<Parameters<Chain['signaturesFor']>[1]> = {}): readonly TransactionRecord[] {
    const { lie } = this;
    const { until, ...rest } = options;
    const asked = until === undefined || lie?.ignoreUntil === true ? rest : { ...rest, until };
    const forged = [...this.forged.values()].filter((record) => record.accountKeys.includes(address));
    const records = forged.length === 0 ? this.base.signaturesFor(address, asked) : this.merged(address, forged, asked);
    return lie === null ? records : records.filter((record) => shareOf(record.signature, this.seed) >= lie.omitShare);
  }

  close(): void {
    this.unlisten();
    this.listeners.clear();
  }

  /** The true history with the forged transactions inserted at their places, newest first. */
  private merged(
    address: string,
    forged: readonly TransactionRecord[],
    options: NonNullable<Parameters<Chain['signaturesFor']>[1]>,
  ): readonly TransactionRecord[] {
    const all = [...this.base.signaturesFor(address, { limit: wholeHistory }), ...forged].sort(
      (a, b) => b.slot - a.slot || b.index - a.index,
    );
    const from = options.before === undefined ? 0 : all.findIndex((record) => record.signature === options.before) + 1;
    const to = options.until === undefined ? -1 : all.findIndex((record) => record.signature === options.until);
    const range = all.slice(from, to === -1 ? all.length : to);
    return options.limit === undefined ? range : range.slice(0, options.limit);
  }

  private each(tell: (listener: ChainListener) => void): void {
    for (const listener of this.listeners) tell(listener);
  }

  private frozen(block: Block): void {
    const shown = this.withForgery(this.withCutLogs(block));
    this.lastBlock = shown;
    this.each((listener) => listener.onFrozen?.(shown));
  }

  private dead(slots: readonly number[]): void {
    const gone = new Set(slots);
    for (const [signature, record] of this.forged) if (gone.has(record.slot)) this.forged.delete(signature);
    for (const [signature, record] of this.altered) if (gone.has(record.slot)) this.altered.delete(signature);
    this.each((listener) => listener.onDead?.(slots));
  }

  private withCutLogs(block: Block): Block {
    if (this.truncation.left === 0) return block;
    const transactions = block.transactions.map((record) => {
      if (this.truncation.left === 0) return record;
      const logs = truncateLogs(record.logs, this.truncation.bytes);
      if (logs.length === record.logs.length && logs.every((line, index) => line === record.logs[index])) return record;
      this.truncation.left--;
      return this.remember({ ...record, logs });
    });
    return { ...block, transactions };
  }

  private withForgery(block: Block): Block {
    const event = this.lookAlikesLeft === 0 ? null : firstEvent(block);
    if (event === null) return block;
    this.lookAlikesLeft--;
    const record = this.remember(forgeLookAlike(block, event, this.seed, this.forgeries++));
    this.forged.set(record.signature, record);
    return { ...block, transactions: [...block.transactions, record] };
  }

  private remember(record: TransactionRecord): TransactionRecord {
    this.altered.set(record.signature, record);
    if (this.altered.size > maxAltered) {
      const oldest = this.altered.keys().next();
      if (oldest.done !== true) {
        this.altered.delete(oldest.value);
        this.forged.delete(oldest.value);
      }
    }
    return record;
  }
}
