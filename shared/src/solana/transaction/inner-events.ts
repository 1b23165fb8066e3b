import { decodeBase58, isAddress, isBase58Text } from '../encoding/base58.ts';
import { hasPrefix } from '../encoding/bytes.ts';
import { isRecord } from '../encoding/json-forms.ts';
import { eventPath, recordOrder, type EventSink } from './logs.ts';
import { decodeTransaction, type MalformedTransaction, type TransactionVersion } from './transaction.ts';
import { precompilePrograms } from '../well-known.ts';

/** First eight bytes of the instruction data of a self-CPI event (Anchor's `emit_cpi!`): `e445a52e51cb9a1d`. */
const eventTagHigh = 0xe445a52e;
const eventTagLow = 0x51cb9a1d;
const tagLength = 8;
const amountForm = /^\d{1,20}$/;
/** Stack height of an instruction that a top-level instruction calls; the top level has 1. */
const firstInnerHeight = 2;

export interface TransactionInstruction {
  readonly programId: string;
  /** Addresses in order; empty for an instruction in parsed form (`jsonParsed` of a well-known program). */
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

export interface TransactionInnerInstruction extends TransactionInstruction {
  /** Null if the node is too old to report it. */
  readonly stackHeight: number | null;
}

/** Balances of a token account before and after a transaction. An account that did not exist has 0. */
export interface TokenBalance {
  readonly account: string;
  readonly mint: string;
  readonly decimals: number;
  /** Null if the node is too old to report it. */
  readonly owner: string | null;
  readonly before: bigint;
  readonly after: bigint;
}

/** A transaction in the form of `getTransaction`, `getBlock` or `blockSubscribe`, in any encoding. */
export interface TransactionView {
  readonly kind: 'transaction';
  readonly signature: string;
  readonly version: TransactionVersion;
  readonly feePayer: string;
  /** Null if the answer contains no slot (transactions within a block). */
  readonly slot: number | null;
  /** Its place in the block (`transactionIndex` of some nodes); null if the answer does not show it. */
  readonly index: number | null;
  readonly blockTime: number | null;
  /** The runtime's error as RPC returned it; null if the transaction succeeded. */
  readonly err: unknown;
  readonly logs: readonly string[];
  /** The keys of the message, then the loaded addresses: writable ones first. */
  readonly accountKeys: readonly string[];
  /** How many of the keys come from lookup tables. */
  readonly loadedAddresses: number;
  readonly instructions: readonly TransactionInstruction[];
  /** Indexed by the top-level instruction, precompiles included; null if the node did not record inner instructions. */
  readonly inner: ReadonlyMap<number, readonly TransactionInnerInstruction[]> | null;
  /** Null if the node did not record them. */
  readonly tokenBalances: readonly TokenBalance[] | null;
}

type Json = Readonly<Record<string, unknown>>;

/** A fault that a reader found. Thrown only inside this file; the exported functions turn it into a value. */
class ShapeFault extends Error {}

function fail(reason: string): never {
  throw new ShapeFault(reason);
}

function objectIn(from: Json, key: string): Json {
  const value = from[key];
  return isRecord(value) ? value : fail(`${key} is not an object`);
}

const listOf = (value: unknown, what: string): readonly unknown[] => (Array.isArray(value) ? value : fail(`${what} is not a list`));

const optionalList = (value: unknown, what: string): readonly unknown[] =>
  value === undefined || value === null ? [] : listOf(value, what);

const textOf = (value: unknown, what: string): string => (typeof value === 'string' ? value : fail(`${what} is not a string`));

function addressOf(value: unknown): string {
  return typeof value === 'string' && isAddress(value) ? value : fail('an account key is not an address');
}

const integerOrNull = (value: unknown): number | null => (typeof value === 'number' && Number.isSafeInteger(value) ? value : null);

function isByte(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 255;
}

/** An instruction as the message has it. Most instructions of a transaction are of programs that nobody asks about, so parts are made when they are read. */
class CompiledInstruction implements TransactionInnerInstruction {
  readonly programId: string;
  readonly stackHeight: number | null;
  readonly #keys: readonly string[];
  readonly #indexes: readonly number[];
  #data: string | Uint8Array;
  #accounts: readonly string[] | null = null;

  constructor(value: Json, keys: readonly string[]) {
    this.programId = keyAt(keys, value['programIdIndex']);
    this.stackHeight = integerOrNull(value['stackHeight']);
    const indexes = listOf(value['accounts'], 'accounts');
    for (const index of indexes) keyAt(keys, index);
    this.#keys = keys;
    this.#indexes = indexes as number[];
    const { data } = value;
    this.#data = data instanceof Uint8Array || isBase58(data) ? data : fail('instruction data is not base58');
  }

  get accounts(): readonly string[] {
    return (this.#accounts ??= this.#indexes.map((index) => this.#keys[index]!));
  }

  get data(): Uint8Array {
    if (typeof this.#data === 'string') this.#data = decodeBase58(this.#data)!;
    return this.#data;
  }
}

function isBase58(value: unknown): value is string {
  return typeof value === 'string' && isBase58Text(value);
}

function keyAt(keys: readonly string[], index: unknown): string {
  return (typeof index === 'number' ? keys[index] : undefined) ?? fail('an account index is outside the keys');
}

/** One instruction in any of its JSON forms: compiled (indexes), partially decoded (addresses), or parsed (without bytes). */
function readInstruction(value: unknown, keys: readonly string[]): TransactionInnerInstruction {
  if (!isRecord(value)) return fail('an instruction is not an object');
  if (typeof value['programId'] !== 'string') return new CompiledInstruction(value, keys);
  const programId = addressOf(value['programId']);
  const stackHeight = integerOrNull(value['stackHeight']);
  if (value['parsed'] !== undefined) return { programId, accounts: [], data: new Uint8Array(0), stackHeight };
  const data = decodeBase58(textOf(value['data'], 'instruction data')) ?? fail('instruction data is not base58');
  return { programId, accounts: listOf(value['accounts'], 'accounts').map(addressOf), data, stackHeight };
}

function readInner(meta: Json, keys: readonly string[]): Map<number, TransactionInnerInstruction[]> | null {
  const groups = meta['innerInstructions'];
  if (groups === undefined || groups === null) return null;
  const inner = new Map<number, TransactionInnerInstruction[]>();
  for (const group of listOf(groups, 'innerInstructions')) {
    if (!isRecord(group)) return fail('an element of innerInstructions is not an object');
    const index = integerOrNull(group['index']) ?? fail('inner instructions without an index');
    inner.set(
      index,
      listOf(group['instructions'], 'instructions').map((value) => readInstruction(value, keys)),
    );
  }
  return inner;
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

function readTokenBalances(meta: Json, keys: readonly string[]): TokenBalance[] | null {
  const { preTokenBalances, postTokenBalances } = meta;
  if (!Array.isArray(preTokenBalances) || !Array.isArray(postTokenBalances)) return null;
  const balances: Mutable<TokenBalance>[] = [];
  const add = (value: unknown, side: 'before' | 'after'): void => {
    if (!isRecord(value)) return fail('a token balance is not an object');
    const account = keyAt(keys, value['accountIndex']);
    const mint = addressOf(value['mint']);
    const { amount, decimals } = objectIn(value, 'uiTokenAmount');
    if (typeof amount !== 'string' || !amountForm.test(amount)) return fail('a token balance has no amount');
    if (!isByte(decimals)) return fail('a token balance has no decimals');
    const owner = value['owner'] === undefined ? null : addressOf(value['owner']);
    // An account may be closed and opened again with another mint.
    const known = balances.find((one) => one.account === account && one.mint === mint);
    const balance = known ?? { account, mint, decimals, owner, before: 0n, after: 0n };
    balance[side] = BigInt(amount);
    balance.owner = owner;
    if (known === undefined) balances.push(balance);
  };
  for (const value of preTokenBalances) add(value, 'before');
  for (const value of postTokenBalances) add(value, 'after');
  return balances;
}

type Body = Pick<TransactionView, 'signature' | 'version' | 'accountKeys' | 'loadedAddresses' | 'instructions'>;

function loadedKeys(meta: Json): string[] {
  const loaded = meta['loadedAddresses'];
  if (!isRecord(loaded)) return [];
  return [...optionalList(loaded['writable'], 'writable'), ...optionalList(loaded['readonly'], 'readonly')].map(addressOf);
}

function readEncoded(transaction: readonly unknown[], meta: Json): Body {
  const [text, encoding] = transaction;
  if (typeof text !== 'string' || (encoding !== 'base64' && encoding !== 'base58')) return fail('unknown encoding');
  const wire = encoding === 'base64' ? Buffer.from(text, 'base64') : (decodeBase58(text) ?? fail('the transaction is not base58'));
  const decoded = decodeTransaction(wire);
  if (decoded.kind === 'malformed') return fail(decoded.reason);
  const loaded = loadedKeys(meta);
  const keys = [...decoded.accountKeys, ...loaded];
  return {
    signature: decoded.signatures[0] ?? fail('no signature'),
    version: decoded.version,
    accountKeys: keys,
    loadedAddresses: loaded.length,
    instructions: decoded.instructions.map(({ programIdIndex, accountIndexes, data }) => ({
      programId: keyAt(keys, programIdIndex),
      accounts: accountIndexes.map((index) => keyAt(keys, index)),
      data,
    })),
  };
}

function readJson(transaction: Json, meta: Json, version: unknown): Body {
  const message = objectIn(transaction, 'message');
  const listed = listOf(message['accountKeys'], 'accountKeys');
  // `jsonParsed` lists the keys of lookup tables among the others; `json` has them in `loadedAddresses`.
  const parsed = listed.some(isRecord);
  const own = listed.map((key) => addressOf(isRecord(key) ? key['pubkey'] : key));
  const loaded = parsed ? [] : loadedKeys(meta);
  const keys = parsed ? own : [...own, ...loaded];
  return {
    signature: textOf(listOf(transaction['signatures'], 'signatures')[0], 'signature'),
    version: version === 0 || version === 1 ? version : 'legacy',
    accountKeys: keys,
    loadedAddresses: parsed ? listed.filter((key) => isRecord(key) && key['source'] === 'lookupTable').length : loaded.length,
    instructions: listOf(message['instructions'], 'instructions').map((value) => readInstruction(value, keys)),
  };
}

/**
 * Reads an answer of `getTransaction`, or one element of a block's `transactions`, in the encodings json, jsonParsed, base64 or base58. An
 * unexpected shape gives `malformed`, never an exception.
 */
export function readTransaction(answer: unknown): TransactionView | MalformedTransaction {
  try {
    if (!isRecord(answer)) return fail('the answer is not an object');
    const meta = objectIn(answer, 'meta');
    const transaction = answer['transaction'];
    const body = Array.isArray(transaction)
      ? readEncoded(transaction, meta)
      : isRecord(transaction)
        ? readJson(transaction, meta, answer['version'])
        : fail('no transaction');
    const keys = body.accountKeys;
    return {
      kind: 'transaction',
      ...body,
      feePayer: keys[0] ?? fail('no fee payer'),
      slot: integerOrNull(answer['slot']),
      index: integerOrNull(answer['transactionIndex']),
      blockTime: integerOrNull(answer['blockTime']),
      err: meta['err'] ?? null,
      logs: optionalList(meta['logMessages'], 'logMessages').map((line) => textOf(line, 'a log line')),
      inner: readInner(meta, keys),
      tokenBalances: readTokenBalances(meta, keys),
    };
  } catch (error) {
    if (error instanceof ShapeFault) return { kind: 'malformed', reason: error.message };
    throw error;
  }
}

function isEventData(data: Uint8Array): boolean {
  if (data.length < tagLength) return false;
  const view = new DataView(data.buffer, data.byteOffset, tagLength);
  return view.getUint32(0) === eventTagHigh && view.getUint32(4) === eventTagLow;
}

/** The index of the caller of the instruction at `at`: the nearest earlier one, one level up; -1 for the top level; null if it is not shown. */
function callerOf(list: readonly TransactionInnerInstruction[], at: number): number | null {
  const height = list[at]!.stackHeight;
  if (height === null || height < firstInnerHeight) return null;
  if (height === firstInnerHeight) return -1;
  for (let index = at - 1; index >= 0; index--) {
    const other = list[index]!.stackHeight;
    if (other === null || other < height - 1) return null;
    if (other === height - 1) return index;
  }
  return null;
}

/** Result of reading a transaction's inner instructions. */
export interface InnerReading {
  /** Self-CPIs with the tag that are not events: without the event authority, or called by another program. */
  readonly refused: number;
  /** Why events may be missing, or null. Such a result says nothing about the events; another node may show them. */
  readonly unreadable: string | null;
}

const notRecorded: InnerReading = { refused: 0, unreadable: 'inner instructions were not recorded' };
const noHeights = 'the stack heights of inner instructions do not show their callers';

/**
 * Reports the self-CPI events of a transaction, with the same (program, path, data) that `readLogs` reports for a program that also logs
 * them. An event is used if the program calls itself with the tag and with its event authority as first account, because only the program
 * can sign for that address. `eventAuthorities` maps each requested program to its authority. The path counts only top-level instructions
 * that log, so precompiles are excluded.
 */
export function readInnerEvents(view: TransactionView, eventAuthorities: ReadonlyMap<string, string>, onEvent: EventSink): InnerReading {
  if (view.inner === null) return notRecorded;
  let refused = 0;
  let unreadable: string | null = null;
  let top = -1;
  for (let index = 0; index < view.instructions.length; index++) {
    const instruction = view.instructions[index]!;
    if (precompilePrograms.has(instruction.programId)) continue;
    top++;
    const list = view.inner.get(index) ?? [];
    const emitted = new Map<number, number>();
    for (let at = 0; at < list.length; at++) {
      const { programId, accounts, data } = list[at]!;
      const authority = eventAuthorities.get(programId);
      if (authority === undefined || !isEventData(data)) continue;
      const caller = callerOf(list, at);
      if (accounts[0] !== authority) refused++;
      else if (caller === null) unreadable = noHeights;
      else if ((caller === -1 ? instruction.programId : list[caller]!.programId) !== programId) refused++;
      else {
        const before = emitted.get(caller) ?? 0;
        emitted.set(caller, before + 1);
        onEvent(programId, eventPath(top, caller, before), data.subarray(tagLength), recordOrder(top, at + 1, false));
      }
    }
  }
  return { refused, unreadable };
}

/** Reports the instructions with one of the prefixes. The path is that of `readLogs` with `i` at its end: the instruction may also emit events. */
export function readInstructions(
  view: TransactionView,
  prefixes: ReadonlyMap<string, readonly Uint8Array[]>,
  onInstruction: EventSink,
): void {
  const report = ({ programId, data }: TransactionInstruction, top: number, at: number): void => {
    if (prefixes.get(programId)?.some((prefix) => hasPrefix(data, prefix)) !== true) return;
    onInstruction(programId, `${eventPath(top, at, 0)}i`, data, recordOrder(top, at + 1, false));
  };
  let top = -1;
  for (const [index, instruction] of view.instructions.entries()) {
    if (precompilePrograms.has(instruction.programId)) continue;
    top++;
    report(instruction, top, -1);
    for (const [at, inner] of (view.inner?.get(index) ?? []).entries()) report(inner, top, at);
  }
}
