import { AddressLookupTableAccount, type PublicKey, VersionedTransaction } from '@solana/web3.js';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';

/** Largest transaction on the wire (SIMD-0296). */
const maxWireBytes = 4_096;

/** Accounts of lookup tables by their addresses. */
export type LookupTables = Readonly<Record<string, Uint8Array>>;

export interface ReadAnswer {
  readonly view: TransactionView;
  readonly signatures: number;
  /** Null if the transaction was not executed. */
  readonly meta: Readonly<Record<string, unknown>> | null;
  /** The instructions in JSON, which have a parsed form in the encoding `jsonParsed`. */
  readonly message: Readonly<Record<string, unknown>>;
}

/** The bytes of a transaction in base64 or base58 text, read; null if it is none. A version that @solana/web3.js does not know gives null. */
function deserialized(text: string): VersionedTransaction | null {
  try {
    const bytes = Buffer.from(text, 'base64');
    return bytes.length > maxWireBytes ? null : VersionedTransaction.deserialize(bytes);
  } catch {
    // The bytes are no transaction, and web3.js has many errors for that.
    return null;
  }
}

/** The lookup tables that a transaction needs; none if the text is no transaction. */
export function neededTables(text: string): readonly string[] {
  return deserialized(text)?.message.addressTableLookups.map(({ accountKey }) => accountKey.toBase58()) ?? [];
}

/** Reads an answer of `getTransaction` in any encoding. Returns why it cannot. */
export function readAnswer(answer: unknown): ReadAnswer | string {
  if (!isRecord(answer) || !isRecord(answer['meta'])) return 'it is no answer of getTransaction';
  const { transaction } = answer;
  const meta = answer['meta'];
  const wire = Array.isArray(transaction) && transaction[1] === 'base64' && typeof transaction[0] === 'string' ? transaction[0] : null;
  const read = wire === null ? null : deserialized(wire);
  const json = read === null ? answer : { ...answer, transaction: jsonOf(read), version: read.version };
  const view = readTransaction(json);
  if (view.kind === 'malformed') return view.reason;
  const { transaction: body } = json as Readonly<Record<string, unknown>>;
  const [message, signatures] = isRecord(body) ? [body['message'], body['signatures']] : [null, null];
  return { view, signatures: Array.isArray(signatures) ? signatures.length : 1, meta, message: isRecord(message) ? message : {} };
}

/** Reads a transaction in base64 that was not executed. The tables resolve its addresses. Returns why it cannot. */
export function readWire(text: string, tables: LookupTables): ReadAnswer | string {
  const transaction = deserialized(text);
  if (transaction === null) return 'it is no transaction in base64, or has a version that is not supported';
  const lookups = transaction.message.addressTableLookups;
  const missing = lookups.find(({ accountKey }) => !Object.hasOwn(tables, accountKey.toBase58()));
  if (missing !== undefined) return `its lookup table ${missing.accountKey.toBase58()} could not be read`;
  try {
    const addressLookupTableAccounts = lookups.map(({ accountKey }) => {
      const state = AddressLookupTableAccount.deserialize(tables[accountKey.toBase58()]!);
      return new AddressLookupTableAccount({ key: accountKey, state });
    });
    const { accountKeysFromLookups } = transaction.message.getAccountKeys({ addressLookupTableAccounts });
    const textOf = (keys: readonly PublicKey[] = []): string[] => keys.map((key) => key.toBase58());
    const loadedAddresses = { writable: textOf(accountKeysFromLookups?.writable), readonly: textOf(accountKeysFromLookups?.readonly) };
    const view = readTransaction({ transaction: jsonOf(transaction), version: transaction.version, meta: { loadedAddresses } });
    return view.kind === 'malformed' ? view.reason : { view, signatures: transaction.signatures.length, meta: null, message: {} };
  } catch (error) {
    return `its addresses cannot be resolved: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The encoding `json` of a transaction. */
function jsonOf({ signatures, message }: VersionedTransaction): Readonly<Record<string, unknown>> {
  return {
    signatures: signatures.map((signature) => encodeBase58(signature)),
    message: {
      accountKeys: message.staticAccountKeys.map((key) => key.toBase58()),
      instructions: message.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => ({
        programIdIndex,
        accounts: [...accountKeyIndexes],
        data: encodeBase58(data),
      })),
    },
  };
}
