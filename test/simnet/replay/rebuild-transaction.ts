import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { decodeTransaction, type DecodedTransaction, type TransactionConfig } from '@sluice/shared/solana/transaction/transaction.ts';
import type { InnerInstruction, TokenBalance, TransactionErrorJson, TransactionRecord } from '../chain.ts';
import { encodeMessage, joinSignatures, type CompiledMessage } from './encode-message.ts';
import { reencodeParsed } from './reencode-parsed.ts';

type Json = Readonly<Record<string, unknown>>;

type Rebuilt =
  | { readonly ok: true; readonly record: TransactionRecord; /** Null if the recording does not have it. */ readonly slot: number | null }
  | { readonly ok: false; readonly reason: string };

const noConfig: TransactionConfig = { priorityFeeLamports: null, computeUnitLimit: null, loadedAccountsBytesLimit: null, heapBytes: null };

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function strings(value: unknown): readonly string[] {
  return list(value).filter((item) => typeof item === 'string');
}

function numbers(value: unknown): readonly number[] {
  return list(value).map((item) => Number(item) & 255);
}

function whole(value: unknown): bigint {
  if (typeof value === 'number') return Number.isFinite(value) ? BigInt(Math.trunc(value)) : 0n;
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? BigInt(value) : 0n;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function data(value: unknown): Uint8Array {
  return (typeof value === 'string' ? decodeBase58(value) : null) ?? new Uint8Array(0);
}

function versionOf(value: unknown): 'legacy' | 0 | 1 | null {
  if (value === undefined || value === 'legacy') return 'legacy';
  return value === 0 || value === 1 ? value : null;
}

/** Keys of the message: strings (`json`) or `{pubkey, signer, writable, source}` (`jsonParsed`). */
interface RecordedKeys {
  readonly fixed: readonly string[];
  /** Fixed keys, then those of lookup tables. */
  readonly all: readonly string[];
  readonly header: CompiledMessage['header'];
}

function readKeys(message: Json, meta: Json): RecordedKeys {
  const keys = list(message['accountKeys']);
  const header = object(message['header']);
  if (keys.every((key) => typeof key === 'string')) {
    const loaded = object(meta['loadedAddresses']);
    return {
      fixed: keys,
      all: [...keys, ...strings(loaded['writable']), ...strings(loaded['readonly'])],
      header: {
        requiredSignatures: Number(header['numRequiredSignatures']),
        readonlySigned: Number(header['numReadonlySignedAccounts']),
        readonlyUnsigned: Number(header['numReadonlyUnsignedAccounts']),
      },
    };
  }
  const entries = keys.map(object);
  const fixed = entries.filter((key) => key['source'] !== 'lookupTable');
  const signers = fixed.filter((key) => key['signer'] === true);
  const name = (key: Json): string => text(key['pubkey']);
  return {
    fixed: fixed.map(name),
    all: entries.map(name),
    header: {
      requiredSignatures: signers.length,
      readonlySigned: signers.filter((key) => key['writable'] !== true).length,
      readonlyUnsigned: fixed.filter((key) => key['signer'] !== true && key['writable'] !== true).length,
    },
  };
}

/** One instruction of any encoding, with addresses. `exact` is false if a node parsed it into a form that is not reversed here. */
function readInstruction(value: unknown, keys: readonly string[]): Omit<InnerInstruction, 'stackHeight'> & { readonly exact: boolean } {
  const instruction = object(value);
  const programId =
    typeof instruction['programId'] === 'string' ? instruction['programId'] : (keys[Number(instruction['programIdIndex'])] ?? '');
  if (instruction['parsed'] !== undefined) {
    const plain = reencodeParsed(programId, instruction['parsed']);
    return plain === null ? { programId, accounts: [], data: new Uint8Array(0), exact: false } : { ...plain, exact: true };
  }
  const accounts = list(instruction['accounts']).map((account) => (typeof account === 'string' ? account : (keys[Number(account)] ?? '')));
  return { programId, accounts, data: data(instruction['data']), exact: true };
}

function readConfig(message: Json): TransactionConfig {
  const config = object(message['transactionConfig']);
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return {
    priorityFeeLamports: typeof config['priorityFee'] === 'number' ? whole(config['priorityFee']) : null,
    computeUnitLimit: number(config['computeUnitLimit']),
    loadedAccountsBytesLimit: number(config['loadedAccountsDataSizeLimit']),
    heapBytes: number(config['heapSize']),
  };
}

/** The message in compiled form; null if one of its instructions cannot be rebuilt byte for byte. */
function compile(message: Json, keys: RecordedKeys, version: 'legacy' | 0 | 1): CompiledMessage | null {
  const indexOf = new Map(keys.all.map((key, index) => [key, index]));
  const instructions: CompiledMessage['instructions'][number][] = [];
  for (const item of list(message['instructions'])) {
    const { programId, accounts, data: body, exact } = readInstruction(item, keys.all);
    const indexes = accounts.map((address) => indexOf.get(address));
    const program = indexOf.get(programId);
    if (!exact || program === undefined || !indexes.every((index) => index !== undefined)) return null;
    instructions.push({ programIdIndex: program, accountIndexes: indexes, data: body });
  }
  return {
    version,
    header: keys.header,
    accountKeys: keys.fixed,
    recentBlockhash: text(message['recentBlockhash']),
    instructions,
    addressTableLookups: list(message['addressTableLookups']).map((item) => {
      const lookup = object(item);
      return {
        table: text(lookup['accountKey']),
        writableIndexes: numbers(lookup['writableIndexes']),
        readonlyIndexes: numbers(lookup['readonlyIndexes']),
      };
    }),
    config: version === 1 ? readConfig(message) : noConfig,
  };
}

/** The signed bytes of a recorded json or jsonParsed transaction; empty if its signature does not verify over the rebuilt message. */
function rebuildWire(transaction: Json, keys: RecordedKeys, version: 'legacy' | 0 | 1): Uint8Array {
  const none = new Uint8Array(0);
  const compiled = compile(object(transaction['message']), keys, version);
  const signatures = strings(transaction['signatures']).map(decodeBase58);
  const [payer] = keys.fixed;
  const [first] = signatures;
  if (compiled === null || payer === undefined || !first || !signatures.every((signature) => signature?.length === 64)) return none;
  const messageBytes = encodeMessage(compiled);
  return verifySignature(payer, messageBytes, first) ? joinSignatures(compiled, messageBytes, signatures as Uint8Array[]) : none;
}

function readInner(meta: Json, keys: readonly string[]): TransactionRecord['innerInstructions'] {
  return list(meta['innerInstructions']).map((item) => {
    const group = object(item);
    const instructions = list(group['instructions']).map((inner) => {
      const { programId, accounts, data: body } = readInstruction(inner, keys);
      return { programId, accounts, data: body, stackHeight: Number(object(inner)['stackHeight'] ?? 2) };
    });
    return { index: Number(group['index']), instructions };
  });
}

function readTokenBalances(value: unknown): readonly TokenBalance[] {
  return list(value).map((item) => {
    const balance = object(item);
    const amount = object(balance['uiTokenAmount']);
    return {
      accountIndex: Number(balance['accountIndex']),
      mint: text(balance['mint']),
      owner: text(balance['owner']),
      programId: text(balance['programId']),
      amount: whole(amount['amount']),
      decimals: Number(amount['decimals'] ?? 0),
    };
  });
}

function readReturnData(meta: Json): TransactionRecord['returnData'] {
  const returned = object(meta['returnData']);
  const [encoded] = strings(returned['data']);
  if (typeof returned['programId'] !== 'string' || encoded === undefined) return null;
  return { programId: returned['programId'], data: new Uint8Array(Buffer.from(encoded, 'base64')) };
}

interface Body {
  readonly signature: string;
  readonly wire: Uint8Array;
  readonly keys: readonly string[];
  readonly version: 'legacy' | 0 | 1;
}

function encodedBody(encoded: readonly string[], meta: Json): Body | string {
  const [body = '', encoding] = encoded;
  const wire = encoding === 'base64' ? new Uint8Array(Buffer.from(body, 'base64')) : encoding === 'base58' ? decodeBase58(body) : null;
  const decoded: DecodedTransaction | { kind: 'malformed'; reason: string } =
    wire === null ? { kind: 'malformed', reason: 'not base64 or base58' } : decodeTransaction(wire);
  if (decoded.kind === 'malformed' || wire === null) return decoded.kind === 'malformed' ? decoded.reason : 'no bytes';
  const loaded = object(meta['loadedAddresses']);
  const keys = [...decoded.accountKeys, ...strings(loaded['writable']), ...strings(loaded['readonly'])];
  return { signature: decoded.signatures[0] ?? '', wire, keys, version: decoded.version };
}

function jsonBody(transaction: Json, meta: Json, version: 'legacy' | 0 | 1): Body | string {
  const [signature] = strings(transaction['signatures']);
  if (signature === undefined || decodeBase58(signature)?.length !== 64) return 'no signature';
  const keys = readKeys(object(transaction['message']), meta);
  if (keys.all.length === 0) return 'no account keys';
  return { signature, wire: rebuildWire(transaction, keys, version), keys: keys.all, version };
}

/**
 * A transaction record from a recorded one: a getTransaction result or an element of a block, in json, jsonParsed, base64 or base58. `wire`
 * is empty if a jsonParsed recording cannot be reversed so that its signature verifies.
 */
export function rebuildTransaction(recorded: unknown): Rebuilt {
  const source = object(recorded);
  if (!('transaction' in source)) return { ok: false, reason: 'not a getTransaction result' };
  const meta = object(source['meta']);
  const version = versionOf(source['version']);
  if (version === null) return { ok: false, reason: 'unknown transaction version' };
  if (source['meta'] === null || !Array.isArray(meta['logMessages'])) return { ok: false, reason: 'meta has no log messages' };
  const { transaction } = source;
  const body = Array.isArray(transaction) ? encodedBody(strings(transaction), meta) : jsonBody(object(transaction), meta, version);
  if (typeof body === 'string') return { ok: false, reason: body };
  const slot = typeof source['slot'] === 'number' ? source['slot'] : null;
  const record: TransactionRecord = {
    signature: body.signature,
    wire: body.wire,
    version: body.version,
    slot: slot ?? 0,
    index: typeof source['transactionIndex'] === 'number' ? source['transactionIndex'] : 0,
    blockTime: typeof source['blockTime'] === 'number' ? source['blockTime'] : 0,
    err: (meta['err'] ?? null) as TransactionErrorJson | null,
    logs: strings(meta['logMessages']),
    unitsConsumed: Number(meta['computeUnitsConsumed'] ?? 0),
    fee: whole(meta['fee']),
    innerInstructions: readInner(meta, body.keys),
    accountKeys: body.keys,
    preBalances: list(meta['preBalances']).map(whole),
    postBalances: list(meta['postBalances']).map(whole),
    preTokenBalances: readTokenBalances(meta['preTokenBalances']),
    postTokenBalances: readTokenBalances(meta['postTokenBalances']),
    returnData: readReturnData(meta),
    written: new Map(),
  };
  return { ok: true, record, slot };
}
