import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair, signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, compileMessage, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Block, Chain, ChainAccount, ChainListener, Execution, SendOutcome, TransactionRecord } from './chain.ts';
import { genesisHashOf } from './ledger/genesis-hash.ts';

/** A chain for tests of the server: the test decides when blocks freeze, are confirmed or die. */
export class ScriptedChain implements Chain {
  readonly genesisHash = genesisHashOf('scripted');
  readonly lamportsPerByte = 5_080n;
  readonly accounts = new Map<string, ChainAccount>();
  readonly sent: Uint8Array[] = [];
  readonly airdrops: (readonly [string, bigint])[] = [];
  blocks: Block[] = [];
  confirmedSlot: number;
  finalizedSlot: number;
  sendOutcome: SendOutcome | null = null;
  simulation: Execution = emptyExecution;
  private readonly listeners = new Set<ChainListener>();
  private readonly firstSlot: number;

  constructor(firstSlot = 1_000) {
    this.firstSlot = firstSlot;
    this.confirmedSlot = firstSlot;
    this.finalizedSlot = firstSlot;
  }

  get slot(): number {
    return this.blocks.at(-1)?.slot ?? this.firstSlot;
  }

  get blockHeight(): number {
    return this.slot - 100;
  }

  /** Freezes a block of these transactions and notifies all listeners. */
  freeze(transactions: readonly TransactionRecord[] = [], skip = 0): Block {
    const parentSlot = this.slot;
    const slot = parentSlot + 1 + skip;
    const placed = transactions.map((record, index) => ({ ...record, slot, index, blockTime: blockTimeOf(slot) }));
    for (const record of placed) for (const [address, account] of record.written) this.accounts.set(address, account);
    const block: Block = {
      slot,
      parentSlot,
      blockhash: hashOf(slot),
      blockHeight: slot - 100,
      blockTime: blockTimeOf(slot),
      transactions: placed,
    };
    this.blocks.push(block);
    for (const listener of this.listeners) listener.onFrozen?.(block);
    return block;
  }

  confirm(slot: number): void {
    this.confirmedSlot = slot;
    for (const listener of this.listeners) listener.onConfirmed?.(slot);
  }

  finalize(slot: number): void {
    this.finalizedSlot = slot;
    for (const listener of this.listeners) listener.onFinalized?.(slot);
  }

  kill(slots: readonly number[]): void {
    this.blocks = this.blocks.filter((block) => !slots.includes(block.slot));
    for (const listener of this.listeners) listener.onDead?.(slots);
  }

  latestBlockhash(): { readonly blockhash: string; readonly lastValidBlockHeight: number } {
    return { blockhash: hashOf(this.slot), lastValidBlockHeight: this.blockHeight + 150 };
  }

  isBlockhashValid(blockhash: string): boolean {
    return this.blocks.some((block) => block.blockhash === blockhash);
  }

  account(address: string): ChainAccount | null {
    return this.accounts.get(address) ?? null;
  }

  accountsOwnedBy(programId: string): Iterable<readonly [string, ChainAccount]> {
    return [...this.accounts].filter(([, account]) => account.owner === programId);
  }

  tokenAccountsOf(owner: string): Iterable<readonly [string, ChainAccount]> {
    return [...this.accounts].filter(([, { data }]) => data.length >= 165 && encodeBase58(data, 32, 32) === owner);
  }

  tokenAccountsOfMint(mint: string): Iterable<readonly [string, ChainAccount]> {
    return [...this.accounts].filter(([, { data }]) => data.length >= 165 && encodeBase58(data, 0, 32) === mint);
  }

  send(wire: Uint8Array): SendOutcome {
    this.sent.push(wire);
    const decoded = decodeTransaction(wire);
    return this.sendOutcome ?? { ok: true, signature: decoded.kind === 'decoded' ? (decoded.signatures[0] ?? '') : '' };
  }

  readonly bundles = null;

  simulate(): Execution {
    return this.simulation;
  }

  transaction(signature: string): TransactionRecord | null {
    return this.all().find((record) => record.signature === signature) ?? null;
  }

  signaturesFor(
    address: string,
    options: { readonly limit?: number; readonly before?: string; readonly until?: string } = {},
  ): readonly TransactionRecord[] {
    const own = this.all().filter((record) => record.accountKeys.includes(address));
    const from = own.findIndex((record) => record.signature === options.before) + 1;
    const to = own.findIndex((record) => record.signature === options.until);
    return own.slice(from, to === -1 ? own.length : to).slice(0, options.limit ?? 1_000);
  }

  recentPriorityFees(accounts: readonly string[]): readonly { readonly slot: number; readonly prioritizationFee: number }[] {
    return this.blocks.map(({ slot }) => ({ slot, prioritizationFee: accounts.length }));
  }

  airdrop(address: string, lamports: bigint): string {
    this.airdrops.push([address, lamports]);
    return encodeBase58(new Uint8Array(64).fill(7));
  }

  advance(): Block {
    return this.freeze();
  }

  fork(slots: number): readonly number[] {
    const dead = this.blocks.slice(-slots).map((block) => block.slot);
    this.kill(dead);
    return dead;
  }

  listen(listener: ChainListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  start(): void {
    // Blocks come from the test.
  }

  stop(): void {
    // Nothing runs.
  }

  /** Newest first. */
  private all(): readonly TransactionRecord[] {
    return this.blocks.flatMap((block) => block.transactions).toReversed();
  }
}

function hashOf(slot: number): string {
  return encodeBase58(createHash('sha256').update(`slot ${slot}`).digest());
}

function blockTimeOf(slot: number): number {
  return 1_790_000_000 + slot;
}

export const emptyExecution: Execution = {
  err: null,
  logs: [],
  unitsConsumed: 150,
  fee: 5_000n,
  innerInstructions: [],
  accountKeys: [],
  preBalances: [],
  postBalances: [],
  preTokenBalances: [],
  postTokenBalances: [],
  returnData: null,
  written: new Map(),
};

export function seededKeypair(name: string): Keypair {
  return generateKeypair(createHash('sha256').update(name).digest());
}

/** A signed transaction that calls `programId` once, with log lines that carry `events` as `Program data:`. */
export function scriptedRecord(
  name: string,
  programId: string,
  events: readonly Uint8Array[] = [],
  more: Partial<TransactionRecord> & { readonly messageVersion?: 'legacy' | 0 } = {},
): TransactionRecord {
  const { messageVersion = 'legacy', ...rest } = more;
  const payer = seededKeypair(`payer of ${name}`);
  const message = compileMessage({
    version: messageVersion,
    feePayer: payer.publicKey,
    recentBlockhash: hashOf(1),
    instructions: [
      { programId, accounts: [{ address: payer.publicKey, signer: true, writable: true }], data: new TextEncoder().encode(name) },
    ],
  });
  const signature = signMessage(payer, message);
  return {
    ...emptyExecution,
    signature: encodeBase58(signature),
    wire: assembleTransaction(message, [signature]),
    version: messageVersion,
    slot: 0,
    index: 0,
    blockTime: 0,
    logs: [
      `Program ${programId} invoke [1]`,
      ...events.map((data) => `Program data: ${Buffer.from(data).toString('base64')}`),
      `Program ${programId} success`,
    ],
    accountKeys: [payer.publicKey, programId],
    preBalances: [1_000_000n, 1n],
    postBalances: [995_000n, 1n],
    ...rest,
  };
}
