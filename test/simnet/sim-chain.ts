import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, compileMessage, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { clockSysvar, usdcMint } from '@sluice/shared/solana/well-known.ts';
import type { DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type {
  Block,
  BundleEngine,
  ChainAccount,
  ChainListener,
  Execution,
  ForkOptions,
  SendOptions,
  SendOutcome,
  SimulateOptions,
  TransactionRecord,
} from './chain.ts';
import { AccountStore } from './ledger/account-store.ts';
import { Blockhashes, blockhashLifetime } from './ledger/blockhashes.ts';
import { clockData } from './ledger/clock.ts';
import { defaultHistoryBounds, finalizedDepth, History } from './ledger/history.ts';
import { createInterner } from './ledger/interner.ts';
import { PriorityFees, type PaidPrice } from './ledger/priority-fees.ts';
import { genesisHashOf } from './ledger/genesis-hash.ts';
import { lamportsPerByte } from './ledger/rent.ts';
import { createMarket } from './market/market.ts';
import type { ChainOptions, Execute, MarketChain } from './chain-options.ts';
import { coinAccount, faucetKeypair, genesisAccounts, validatorIdentity, walletAccount } from './programs/genesis/genesis.ts';
import { otherQuoteCoin } from './programs/quote-coins.ts';
import { memoInstruction } from './programs/memo.ts';
import { programTable } from './programs/table.ts';
import { airdropInstructions } from './programs/airdrop.ts';
import { executeTransaction, refusedTransaction, unreadableExecution, type Outcome } from './runtime/execute.ts';
import { bundleEngine, inTurn } from './runtime/in-turn.ts';
import { requeued, SendQueue, signaturesHold, type Queued } from './send-queue.ts';

/** Blocks from the newest to the one that counts as confirmed. */
const confirmedDepth = 2;
const defaultSlotMs = 200;
const defaultFirstSlot = 460_000_000;
/** Slots that the chain skipped before its first block: block heights are lower by this number. */
const skippedSlots = 21_000_000;
/** Transactions of one block. The rest waits for the next one. */
const maxPerBlock = 2_000;

/** The bank under construction, from the beginning of the slot until it is frozen. */
interface OpenBank {
  readonly slot: number;
  readonly blockTime: number;
  readonly parent: Block;
  readonly records: TransactionRecord[];
  readonly paid: PaidPrice[];
  left: Queued[];
  fees: bigint;
}

class SimChain implements MarketChain {
  readonly genesisHash: string;
  readonly #store = new AccountStore();
  readonly #history: History;
  readonly #blockhashes = new Blockhashes();
  readonly #priorityFees = new PriorityFees();
  readonly #listeners = new Set<ChainListener>();
  readonly #programs = programTable();
  readonly #intern = createInterner();
  readonly #run: Execute;
  readonly #seed: string;
  readonly #slotMs: number;
  readonly #turnMs: number;
  readonly #nowMs: () => number;
  readonly #faucet: Keypair;
  readonly #queue: SendQueue;
  #retired: string[] = [];
  #lastSlot: number;
  #confirmed: Block;
  #finalized: Block;
  #airdrops = 0;
  #timer: NodeJS.Timeout | null = null;
  #nextTurn: NodeJS.Immediate | null = null;
  /** Null between two slots. */
  #open: OpenBank | null = null;
  #beforeSlot: (() => void) | null = null;

  constructor(options: ChainOptions) {
    this.#seed = String(options.seed);
    this.#slotMs = options.slotMs ?? defaultSlotMs;
    this.#turnMs = options.turnMs ?? Infinity;
    this.#nowMs = options.nowMs ?? Date.now;
    // The settings of this chain, including its start time, as in a cluster.
    this.genesisHash = genesisHashOf(`${this.#seed} ${this.#nowMs()}`);
    this.#history = new History(options.history ?? defaultHistoryBounds);
    this.#faucet = faucetKeypair(this.#seed);
    this.#run = options.execute ?? executeTransaction;
    this.#queue = new SendQueue({
      preview: (transaction) => this.#preview(transaction, false).execution,
      landed: (signature) => this.#history.transaction(signature)?.wire,
    });
    const firstSlot = options.firstSlot ?? defaultFirstSlot;
    this.#lastSlot = firstSlot;
    const market = options.market === false ? null : createMarket(this.#seed, this.#slotMs, options.market ?? {});
    const funded = (options.funded ?? []).flatMap(({ address, lamports, usdc, other }) => [
      [address, walletAccount(lamports)] as const,
      ...(usdc === undefined ? [] : [coinAccount(usdcMint, address, usdc)]),
      ...(other === undefined ? [] : [coinAccount(otherQuoteCoin.mint, address, other)]),
    ]);
    const accounts = genesisAccounts(this.#seed, [...(market?.genesis ?? []), ...funded, ...(options.accounts ?? [])]);
    for (const [address, account] of accounts) this.#store.set(address, account);
    this.#store.set(clockSysvar, clockData(firstSlot, Math.floor(this.#nowMs() / 1000)));
    const genesis = this.#seal(firstSlot, null, []);
    this.#confirmed = this.#finalized = genesis;
    if (market !== null) this.#beforeSlot = () => market.beforeSlot(this);
  }

  get slot(): number {
    return this.#newest().slot;
  }

  get blockHeight(): number {
    return this.#newest().blockHeight;
  }

  get confirmedSlot(): number {
    return this.#confirmed.slot;
  }

  get finalizedSlot(): number {
    return this.#finalized.slot;
  }

  get lamportsPerByte(): bigint {
    return lamportsPerByte;
  }

  latestBlockhash(): { readonly blockhash: string; readonly lastValidBlockHeight: number } {
    const { blockhash, blockHeight } = this.#newest();
    return { blockhash, lastValidBlockHeight: blockHeight + blockhashLifetime };
  }

  isBlockhashValid(blockhash: string): boolean {
    return this.#blockhashes.isValidAt(blockhash, this.blockHeight);
  }

  /** As of the newest block: between the turns of a slot, the transactions of the unfinished block do not show. */
  account(address: string): ChainAccount | null {
    return this.#open === null ? this.#store.get(address) : this.#store.getBelowNewestLayer(address);
  }

  accountsOwnedBy(programId: string): Iterable<readonly [string, ChainAccount]> {
    return this.#store.ownedBy(programId);
  }

  tokenAccountsOf(owner: string): Iterable<readonly [string, ChainAccount]> {
    return this.#store.tokenAccountsOf(owner);
  }

  tokenAccountsOfMint(mint: string): Iterable<readonly [string, ChainAccount]> {
    return this.#store.tokenAccountsOfMint(mint);
  }

  retire(addresses: readonly string[]): void {
    this.#retired.push(...addresses);
  }

  /** Sum over all accounts; constant, because fees go to the validator. */
  totalLamports(): bigint {
    return this.#store.totalLamports();
  }

  /** Number of accounts. */
  get size(): number {
    return this.#store.size;
  }

  /** Every account, for tests. */
  accounts(): Iterable<readonly [string, ChainAccount]> {
    return this.#store.entries();
  }

  send(wire: Uint8Array, options?: SendOptions): SendOutcome {
    return this.#queue.send(wire, options);
  }

  simulate(wire: Uint8Array, options: SimulateOptions = {}): Execution {
    const transaction = options.decoded ?? decodeTransaction(wire);
    if (transaction.kind === 'malformed') return unreadableExecution;
    if (options.sigVerify === true && !signaturesHold(transaction)) return refusedTransaction(transaction, 'SignatureFailure').execution;
    return this.#preview(transaction, options.replaceRecentBlockhash === true).execution;
  }

  get bundles(): BundleEngine {
    return bundleEngine(this.#queue, this.account.bind(this), (transaction, account) => this.#preview(transaction, false, account));
  }

  transaction(signature: string): TransactionRecord | null {
    return this.#history.transaction(signature);
  }

  signaturesFor(
    address: string,
    options: { readonly limit?: number; readonly before?: string; readonly until?: string } = {},
  ): readonly TransactionRecord[] {
    return this.#history.signaturesFor(address, options.limit ?? 1000, options.before, options.until);
  }

  recentPriorityFees(accounts: readonly string[]): readonly { readonly slot: number; readonly prioritizationFee: number }[] {
    return this.#priorityFees.over(accounts);
  }

  airdrop(address: string, amount: bigint, coin: 'SOL' | 'USDC' = 'SOL'): string {
    const from = this.#faucet.publicKey;
    const message = compileMessage({
      version: 'legacy',
      feePayer: from,
      recentBlockhash: this.latestBlockhash().blockhash,
      // The number makes two equal airdrops of one slot differ.
      instructions: [...airdropInstructions(from, address, amount, coin), memoInstruction(`airdrop ${++this.#airdrops}`)],
    });
    const sent = this.send(assembleTransaction(message, [signMessage(this.#faucet, message)]), { skipPreflight: true });
    if (!sent.ok) throw new Error(sent.message);
    return sent.signature;
  }

  advance(): Block {
    const bank = this.#open ?? this.#openSlot();
    while (bank.left.length > 0) this.#execute(bank);
    return this.#freeze(bank);
  }

  fork(slots: number, options: ForkOptions = {}): readonly number[] {
    const dead: number[] = [];
    const again: Queued[] = [];
    if (this.#open !== null) this.advance();
    while (dead.length < slots && this.#store.layers > 0) {
      const block = this.#history.popNewest();
      this.#store.undoLayer();
      this.#blockhashes.remove(block.blockhash);
      this.#priorityFees.popNewest();
      dead.unshift(block.slot);
      again.unshift(...block.transactions.flatMap(({ wire, signature }) => requeued(wire, signature)));
    }
    if (options.replay === true) this.#queue.putBack(again);
    if (options.replace === true && dead.length > 0) this.#lastSlot = dead[0]! - 1;
    if (dead.length > 0) for (const listener of this.#listeners) listener.onDead?.(dead);
    return dead;
  }

  listen(listener: ChainListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    if (this.#timer !== null) return;
    let due = performance.now() + this.#slotMs;
    const turn = (): void => {
      const bank = (this.#open ??= this.#openSlot());
      const endsAtMs = performance.now() + this.#turnMs;
      do this.#execute(bank);
      while (bank.left.length > 0 && performance.now() < endsAtMs);
      if (bank.left.length > 0 || performance.now() >= endsAtMs) {
        this.#nextTurn = setImmediate(turn);
        return;
      }
      this.#freeze(bank);
      // A late slot delays the later ones: the chain never catches up.
      due = Math.max(due + this.#slotMs, performance.now());
      this.#timer = setTimeout(turn, due - performance.now());
    };
    this.#timer = setTimeout(turn, this.#slotMs);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#nextTurn !== null) clearImmediate(this.#nextTurn);
    this.#timer = null;
    this.#nextTurn = null;
  }

  #newest(): Block {
    const block = this.#history.blocks[this.#history.blocks.length - 1];
    if (block === undefined) throw new Error('the chain has no block');
    return block;
  }

  #bank(slot: number, unixTimestamp: number) {
    return { programs: this.#programs, clock: { slot, unixTimestamp }, account: (address: string) => this.#store.get(address) };
  }

  /** What a transaction would do in a bank after the newest block. Signatures are not checked. */
  #preview(transaction: DecodedTransaction, anyBlockhash: boolean, account = (address: string) => this.account(address)): Outcome {
    const newest = this.#newest();
    const seen = this.#history.transaction(transaction.signatures[0] ?? '') !== null;
    if (!anyBlockhash) {
      if (!this.isBlockhashValid(transaction.recentBlockhash)) return refusedTransaction(transaction, 'BlockhashNotFound');
      if (seen) return refusedTransaction(transaction, 'AlreadyProcessed');
    }
    return this.#run({ ...this.#bank(newest.slot, newest.blockTime), account }, transaction);
  }

  #openSlot(): OpenBank {
    this.#beforeSlot?.();
    const parent = this.#newest();
    const slot = ++this.#lastSlot;
    this.#store.openLayer();
    const blockTime = Math.max(parent.blockTime, Math.floor(this.#nowMs() / 1000));
    this.#store.set(clockSysvar, clockData(slot, blockTime));
    this.#removeRetired();
    this.#open = { slot, blockTime, parent, records: [], paid: [], left: this.#queue.take(maxPerBlock), fees: 0n };
    return this.#open;
  }

  /** Executes the next transaction of a bank that has one. */
  #execute(open: OpenBank): void {
    const next = open.left.shift();
    if (next === undefined) return;
    const all = [next, ...(next.others ?? [])];
    for (const { signature } of all) this.#queue.included(signature);
    const isValid = (blockhash: string): boolean => this.#blockhashes.isValidAt(blockhash, open.parent.blockHeight + 1);
    if (!all.every((one) => isValid(one.transaction.recentBlockhash) && this.#history.transaction(one.signature) === null)) return;
    const bank = this.#bank(open.slot, open.blockTime);
    const transactions = all.map(({ transaction }) => transaction);
    const outcomes = inTurn(transactions, bank.account, (transaction, account) => this.#run({ ...bank, account }, transaction));
    // A transaction that fails alone is in the block; a bundle with one is not.
    if (outcomes.some(({ landed, execution }) => !landed || (all.length > 1 && execution.err !== null))) return;
    for (const [at, one] of all.entries()) this.#include(open, one, outcomes[at]!);
  }

  #include(open: OpenBank, { wire, transaction, signature }: Queued, outcome: Outcome): void {
    const { slot, blockTime, records, paid } = open;
    for (const [address, account] of outcome.commit) this.#store.set(address, account);
    open.fees += outcome.fee;
    paid.push({ unitPrice: outcome.unitPrice, writable: outcome.keys.filter((key) => key.writable).map((key) => key.address) });
    const { execution } = outcome;
    const shared = { accountKeys: execution.accountKeys.map(this.#intern), logs: execution.logs.map(this.#intern) };
    records.push({ ...execution, ...shared, signature, wire, version: transaction.version, slot, index: records.length, blockTime });
  }

  #freeze({ slot, blockTime, parent, records, paid, fees }: OpenBank): Block {
    this.#open = null;
    this.#credit(fees);
    this.#priorityFees.append(slot, paid);
    const block = this.#seal(slot, parent, records, blockTime);
    for (const listener of this.#listeners) listener.onFrozen?.(block);
    this.#settle();
    return block;
  }

  #removeRetired(): void {
    let lamports = 0n;
    for (const address of this.#retired) {
      lamports += this.#store.get(address)?.lamports ?? 0n;
      this.#store.set(address, null);
    }
    this.#retired = [];
    this.#credit(lamports);
  }

  #credit(lamports: bigint): void {
    if (lamports === 0n) return;
    const account = this.#store.get(validatorIdentity);
    if (account === null) throw new Error('the validator has no account');
    this.#store.set(validatorIdentity, { ...account, lamports: account.lamports + lamports });
  }

  #seal(
    slot: number,
    parent: Block | null,
    transactions: readonly TransactionRecord[],
    blockTime = Math.floor(this.#nowMs() / 1000),
  ): Block {
    const hash = createHash('sha256').update(`${this.#seed}:${parent?.blockhash ?? ''}:${slot}`);
    for (const { signature } of transactions) hash.update(signature);
    const block: Block = {
      slot,
      parentSlot: parent?.slot ?? slot - 1,
      blockhash: encodeBase58(hash.digest()),
      blockHeight: parent === null ? Math.max(slot - skippedSlots, 0) : parent.blockHeight + 1,
      blockTime,
      transactions,
    };
    this.#history.append(block);
    this.#blockhashes.add(block.blockhash, block.blockHeight);
    return block;
  }

  /** Confirms and finalizes blocks after a new block. */
  #settle(): void {
    const { blocks } = this.#history;
    const reach = (depth: number, from: Block): Block[] => {
      const found: Block[] = [];
      for (let i = blocks.length - 1 - depth; i >= 0; i--) {
        const block = blocks[i];
        if (block === undefined || block.slot <= from.slot) break;
        found.unshift(block);
      }
      return found;
    };
    for (const block of reach(confirmedDepth, this.#confirmed)) {
      this.#confirmed = block;
      this.#store.dropOldestLayer();
      for (const listener of this.#listeners) listener.onConfirmed?.(block.slot);
    }
    for (const block of reach(finalizedDepth, this.#finalized)) {
      this.#finalized = block;
      for (const listener of this.#listeners) listener.onFinalized?.(block.slot);
    }
  }
}

export type { SimChain };

/**
 * A simulated chain. Everything on it depends only on the seed (block times on the clock). It does nothing before `start()` or `advance()`.
 */
export function createChain(options: ChainOptions): SimChain {
  return new SimChain(options);
}
