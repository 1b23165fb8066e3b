import { open, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { ChainAccount, TransactionRecord } from '../chain.ts';
import { rebuildTransaction } from './rebuild-transaction.ts';

/** Transactions of one recording. Any others are refused and counted. */
const maxRecordedTransactions = 200_000;
/** Accounts of one recording. Any others are refused and counted. */
const maxRecordedAccounts = 10_000;
/** Bytes of a compressed recording once it is decompressed. A larger one is rejected. */
const maxDecompressedBytes = 256 * 1024 * 1024;
/** Refusals that are described. Any others are only counted. */
const maxReasons = 100;

export interface Recording {
  /** By slot. Within a slot by index if the recording has one, otherwise in the order of the recording. */
  readonly records: readonly TransactionRecord[];
  /** The same during the whole replay. */
  readonly accounts: ReadonlyMap<string, ChainAccount>;
  readonly refused: number;
  /** The first refusals, each as `where: why`. */
  readonly reasons: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The transactions of a block, each with the block's slot and time and its own index. */
function ofBlock(block: Json, slot: number | null): readonly unknown[] {
  const transactions = Array.isArray(block['transactions']) ? block['transactions'] : [];
  const parent = block['parentSlot'];
  const own = slot ?? (typeof parent === 'number' ? parent + 1 : null);
  return transactions.map((item: unknown, index) =>
    isObject(item) ? { transactionIndex: index, blockTime: block['blockTime'], ...(own === null ? {} : { slot: own }), ...item } : item,
  );
}

/** An account in the form of `getProgramAccounts` and of `solana account --output json`; null if the value is none. */
function accountIn(value: unknown): readonly [address: string, account: ChainAccount] | null {
  if (!isObject(value) || !isObject(value['account'])) return null;
  const { pubkey, account } = value;
  const { lamports, owner, data, executable } = account;
  if (typeof pubkey !== 'string' || !isAddress(pubkey) || typeof owner !== 'string' || !isAddress(owner)) return null;
  if (!Number.isSafeInteger(lamports) || !Array.isArray(data) || data[1] !== 'base64') return null;
  return [
    pubkey,
    { lamports: BigInt(lamports as number), owner, data: Buffer.from(String(data[0]), 'base64'), executable: executable === true },
  ];
}

/**
 * The transactions in one recorded value: a getTransaction result (bare or as the whole JSON-RPC answer), a getBlock result, a
 * blockSubscribe notification or an element of its block, or a list of any of these.
 */
function transactionsIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => transactionsIn(item));
  if (!isObject(value)) return [value];
  if (isObject(value['params'])) return transactionsIn(value['params']);
  if (isObject(value['result'])) return transactionsIn(value['result']);
  if (isObject(value['value']) && isObject(value['value']['block'])) {
    const { slot, block } = value['value'] as { readonly slot?: unknown; readonly block: Json };
    return ofBlock(block, typeof slot === 'number' ? slot : null);
  }
  if (isObject(value['block'])) return ofBlock(value['block'], typeof value['slot'] === 'number' ? value['slot'] : null);
  return Array.isArray(value['transactions']) ? ofBlock(value, null) : [value];
}

class Collector {
  readonly records: { readonly record: TransactionRecord; readonly order: number }[] = [];
  readonly accounts = new Map<string, ChainAccount>();
  readonly reasons: string[] = [];
  refused = 0;
  private readonly signatures = new Set<string>();
  private lastSlot = 0;

  refuse(where: string, why: string): void {
    this.refused++;
    if (this.reasons.length < maxReasons) this.reasons.push(`${where}: ${why}`);
  }

  add(where: string, value: unknown): void {
    for (const item of transactionsIn(value)) {
      const account = accountIn(item);
      if (account !== null) {
        if (this.accounts.size >= maxRecordedAccounts) this.refuse(where, `more than ${maxRecordedAccounts} accounts`);
        else this.accounts.set(...account);
        continue;
      }
      const rebuilt = rebuildTransaction(item);
      if (!rebuilt.ok) this.refuse(where, rebuilt.reason);
      else if (this.signatures.has(rebuilt.record.signature)) this.refuse(where, 'the transaction appears twice');
      else if (this.records.length >= maxRecordedTransactions) this.refuse(where, `more than ${maxRecordedTransactions} transactions`);
      else {
        // An element of a block that was recorded alone has no slot: it gets that of the transaction before it.
        const slot = rebuilt.slot ?? this.lastSlot + 1;
        this.lastSlot = slot;
        this.signatures.add(rebuilt.record.signature);
        this.records.push({ record: { ...rebuilt.record, slot }, order: this.records.length });
      }
    }
  }

  addText(where: string, text: string): void {
    try {
      this.add(where, JSON.parse(text) as unknown);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.refuse(where, 'not JSON');
    }
  }

  result(): Recording {
    const sorted = this.records.sort((a, b) => a.record.slot - b.record.slot || a.record.index - b.record.index || a.order - b.order);
    return { records: sorted.map(({ record }) => record), accounts: this.accounts, refused: this.refused, reasons: this.reasons };
  }
}

async function readLines(file: string, collector: Collector): Promise<void> {
  const handle = await open(file);
  let number = 0;
  for await (const line of handle.readLines()) {
    number++;
    if (line.trim() !== '') collector.addText(`${file}:${number}`, line);
  }
}

async function readCompressedLines(file: string, collector: Collector): Promise<void> {
  const bytes = await decompress(await readFile(file), { maxOutputLength: maxDecompressedBytes });
  for (const [index, line] of bytes.toString('utf8').split('\n').entries()) {
    if (line.trim() !== '') collector.addText(`${file}:${index + 1}`, line);
  }
}

const decompress = promisify(brotliDecompress);

/** Reads `.jsonl` (one recorded value for each line), `.jsonl.br` (the same, compressed with brotli) or `.json` files. Rejects if a file cannot be read; its content never throws. */
export async function readRecording(...files: readonly string[]): Promise<Recording> {
  const collector = new Collector();
  for (const file of files) {
    if (file.endsWith('.jsonl') || file.endsWith('.ndjson')) await readLines(file, collector);
    else if (file.endsWith('.jsonl.br')) await readCompressedLines(file, collector);
    else collector.addText(file, await readFile(file, 'utf8'));
  }
  return collector.result();
}
