import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { decodeTransaction, type DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Execution, InnerInstruction, TokenBalance, TransactionRecord } from '../chain.ts';
import { base64Of } from './encode-account.ts';
import { u64 } from './json.ts';
import { uiTokenAmount } from './parse-token.ts';
import { answer, fault, rpcCodes, type RpcResult } from './rpc-fault.ts';

export const transactionEncodings = ['json', 'jsonParsed', 'base64', 'base58'] as const;
export type TransactionEncoding = (typeof transactionEncodings)[number];

/** Addresses from lookup tables; they follow the static keys in `accountKeys`. */
function loadedAddresses(
  decoded: DecodedTransaction,
  accountKeys: readonly string[],
): { readonly readonly: readonly string[]; readonly writable: readonly string[] } {
  const firstLoaded = decoded.accountKeys.length;
  const writableCount = decoded.addressTableLookups.reduce((sum, lookup) => sum + lookup.writableIndexes.length, 0);
  return {
    readonly: accountKeys.slice(firstLoaded + writableCount),
    writable: accountKeys.slice(firstLoaded, firstLoaded + writableCount),
  };
}

function tokenBalances(balances: readonly TokenBalance[]): readonly object[] {
  return balances.map(({ accountIndex, mint, owner, programId, amount, decimals }) => ({
    accountIndex,
    mint,
    owner,
    programId,
    uiTokenAmount: uiTokenAmount(amount, decimals),
  }));
}

function compiledInner(instruction: InnerInstruction, indexOf: ReadonlyMap<string, number>): object {
  return {
    accounts: instruction.accounts.map((address) => indexOf.get(address) ?? 255),
    data: encodeBase58(instruction.data),
    programIdIndex: indexOf.get(instruction.programId) ?? 255,
    stackHeight: instruction.stackHeight,
  };
}

function readableInner(instruction: InnerInstruction): object {
  const { accounts, data, programId, stackHeight } = instruction;
  return { accounts, data: encodeBase58(data), programId, stackHeight };
}

/** Inner instructions by top-level index: with key indexes, or with addresses (`jsonParsed`, simulations). */
export function encodeInner(execution: Execution, form: 'compiled' | 'addresses'): readonly object[] {
  const indexOf = new Map(execution.accountKeys.map((key, index) => [key, index]));
  return execution.innerInstructions.map(({ index, instructions }) => ({
    index,
    instructions: instructions.map((inner) => (form === 'compiled' ? compiledInner(inner, indexOf) : readableInner(inner))),
  }));
}

export function encodeReturnData(execution: Execution): object | null {
  const { returnData } = execution;
  return returnData === null ? null : { data: [base64Of(returnData.data), 'base64'], programId: returnData.programId };
}

function encodeMeta(record: TransactionRecord, decoded: DecodedTransaction | null, form: 'compiled' | 'addresses'): object {
  const returnData = encodeReturnData(record);
  return {
    computeUnitsConsumed: record.unitsConsumed,
    err: record.err,
    fee: u64(record.fee),
    innerInstructions: encodeInner(record, form),
    ...(decoded === null || form === 'addresses' ? {} : { loadedAddresses: loadedAddresses(decoded, record.accountKeys) }),
    logMessages: record.logs,
    postBalances: record.postBalances.map(u64),
    postTokenBalances: tokenBalances(record.postTokenBalances),
    preBalances: record.preBalances.map(u64),
    preTokenBalances: tokenBalances(record.preTokenBalances),
    ...(returnData === null ? {} : { returnData }),
    rewards: [],
    status: record.err === null ? { Ok: null } : { Err: record.err },
  };
}

/** Whether the key at `index` of all keys is a signer, and whether it is writable. */
function keyFlags(decoded: DecodedTransaction, index: number): { readonly signer: boolean; readonly writable: boolean } {
  const { requiredSignatures, readonlySigned, readonlyUnsigned } = decoded.header;
  const count = decoded.accountKeys.length;
  if (index >= count) {
    const writable = decoded.addressTableLookups.reduce((sum, lookup) => sum + lookup.writableIndexes.length, 0);
    return { signer: false, writable: index < count + writable };
  }
  const signer = index < requiredSignatures;
  return { signer, writable: signer ? index < requiredSignatures - readonlySigned : index < count - readonlyUnsigned };
}

function lookups(decoded: DecodedTransaction): readonly object[] {
  return decoded.addressTableLookups.map(({ table, readonlyIndexes, writableIndexes }) => ({
    accountKey: table,
    readonlyIndexes,
    writableIndexes,
  }));
}

function versionedFields(decoded: DecodedTransaction): object {
  if (decoded.version === 'legacy') return {};
  if (decoded.version === 0) return { addressTableLookups: lookups(decoded) };
  const { computeUnitLimit, heapBytes, loadedAccountsBytesLimit, priorityFeeLamports } = decoded.config;
  return {
    transactionConfig: {
      computeUnitLimit,
      heapSize: heapBytes,
      loadedAccountsDataSizeLimit: loadedAccountsBytesLimit,
      priorityFee: priorityFeeLamports === null ? null : u64(priorityFeeLamports),
    },
  };
}

function jsonMessage(decoded: DecodedTransaction): object {
  const { requiredSignatures, readonlySigned, readonlyUnsigned } = decoded.header;
  return {
    accountKeys: decoded.accountKeys,
    header: {
      numReadonlySignedAccounts: readonlySigned,
      numReadonlyUnsignedAccounts: readonlyUnsigned,
      numRequiredSignatures: requiredSignatures,
    },
    instructions: decoded.instructions.map(({ accountIndexes, data, programIdIndex }) => ({
      accounts: accountIndexes,
      data: encodeBase58(data),
      programIdIndex,
      stackHeight: 1,
    })),
    recentBlockhash: decoded.recentBlockhash,
    ...versionedFields(decoded),
  };
}

/** The form `jsonParsed`, but every instruction stays as program, accounts and data (a node parses those of well-known programs). */
function parsedMessage(decoded: DecodedTransaction, accountKeys: readonly string[]): object {
  const key = (index: number): string => accountKeys[index] ?? '';
  return {
    accountKeys: accountKeys.map((pubkey, index) => ({
      pubkey,
      ...keyFlags(decoded, index),
      source: index < decoded.accountKeys.length ? 'transaction' : 'lookupTable',
    })),
    instructions: decoded.instructions.map(({ accountIndexes, data, programIdIndex }) => ({
      accounts: accountIndexes.map(key),
      data: encodeBase58(data),
      programId: key(programIdIndex),
      stackHeight: 1,
    })),
    recentBlockhash: decoded.recentBlockhash,
    ...versionedFields(decoded),
  };
}

function encodeBody(record: TransactionRecord, decoded: DecodedTransaction, encoding: TransactionEncoding): unknown {
  if (encoding === 'base64') return [base64Of(record.wire), 'base64'];
  if (encoding === 'base58') return [encodeBase58(record.wire), 'base58'];
  const message = encoding === 'json' ? jsonMessage(decoded) : parsedMessage(decoded, record.accountKeys);
  return { message, signatures: decoded.signatures };
}

/**
 * One transaction with its meta, as in getTransaction and getBlock. Without a `maxVersion` only legacy transactions are returned, and
 * without `version`; a version above `maxVersion` is refused with -32015.
 */
export function encodeTransaction(record: TransactionRecord, encoding: TransactionEncoding, maxVersion: number | null): RpcResult {
  const { version } = record;
  if (version !== 'legacy' && (maxVersion === null || version > maxVersion)) {
    const message =
      `Transaction version (${version}) is not supported by the requesting client. ` +
      `Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`;
    return fault(rpcCodes.unsupportedTransactionVersion, message);
  }
  const decoded = decodeTransaction(record.wire);
  if (decoded.kind === 'malformed') {
    return fault(
      rpcCodes.internal,
      'The bytes of this transaction are not known: it was replayed from a recording that has only its parsed form.',
    );
  }
  return answer({
    meta: encodeMeta(record, decoded, encoding === 'jsonParsed' ? 'addresses' : 'compiled'),
    transaction: encodeBody(record, decoded, encoding),
    ...(maxVersion === null ? {} : { version }),
  });
}
