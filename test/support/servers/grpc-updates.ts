import proto from 'laserstream-core-proto-js';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Block, ChainAccount, TokenBalance, TransactionRecord } from '../../simnet/chain.ts';

const { geyser } = proto;
const { SlotStatus } = geyser;
type Status = (typeof SlotStatus)[keyof typeof SlotStatus];

/** An update of Yellowstone's service, encoded by a published definition of its messages, and what filters need to know about it. */
export interface ServedUpdate {
  readonly kind: 'transaction' | 'block' | 'slot' | 'account';
  readonly slot: number;
  /** Of a transaction: its keys. Of an account: its address and its owner. */
  readonly keys: readonly string[];
  readonly failed: boolean;
  readonly data: Uint8Array;
  /** Of a slot. */
  readonly status: Status | null;
  readonly bytes: Uint8Array;
}

export const status = { processed: SlotStatus.SLOT_PROCESSED, confirmed: SlotStatus.SLOT_CONFIRMED, dead: SlotStatus.SLOT_DEAD } as const;

const none = { keys: [], failed: false, data: new Uint8Array(0), status: null } as const;
const bytesOf = (text: string): Uint8Array => decodeBase58(text)!;

/** The published definition has no `bank_id` yet: the field is added to the encoded message. */
function withBank(message: Uint8Array, field: number, bankId: number): Uint8Array {
  return bankId === 0 ? message : Buffer.concat([message, Buffer.from([field * 8, bankId])]);
}

/** An update with a nested message that is already encoded. */
function updateOf(field: number, message: Uint8Array): Uint8Array {
  const filters = geyser.SubscribeUpdate.encode({ filters: ['sluice'] }).finish();
  const length: number[] = [];
  let rest = message.length;
  for (; rest >= 128; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([filters, Buffer.from([field * 8 + 2, ...length, rest]), message]);
}

export const pingUpdate = (): Uint8Array => geyser.SubscribeUpdate.encode({ filters: [], ping: {} }).finish();
export const pongUpdate = (id: number): Uint8Array => geyser.SubscribeUpdate.encode({ filters: [], pong: { id } }).finish();

export function slotUpdate(slot: number, parent: number | null, at: Status): ServedUpdate {
  const message = geyser.SubscribeUpdateSlot.encode({ slot, status: at, ...(parent !== null && { parent }) }).finish();
  return { ...none, kind: 'slot', slot, status: at, bytes: updateOf(3, message) };
}

export function blockUpdate(
  { slot, parentSlot, blockhash, transactions }: Omit<Block, 'blockHeight' | 'blockTime'>,
  bankId = 0,
): ServedUpdate {
  const message = geyser.SubscribeUpdateBlockMeta.encode({
    slot,
    blockhash,
    parentSlot,
    parentBlockhash: '11111111111111111111111111111111',
    executedTransactionCount: transactions.length,
    rewards: { rewards: [{ pubkey: '11111111111111111111111111111111', lamports: 1, postBalance: 2 }] },
  }).finish();
  return { ...none, kind: 'block', slot, bytes: updateOf(7, withBank(message, 10, bankId)) };
}

export function accountUpdate(slot: number, address: string, { owner, data, lamports }: ChainAccount): ServedUpdate {
  const account = {
    pubkey: addressBytes(address),
    owner: addressBytes(owner),
    data,
    lamports: Number(lamports),
    executable: false,
    rentEpoch: 0,
    writeVersion: 1,
  };
  const message = geyser.SubscribeUpdateAccount.encode({ account, slot, isStartup: false }).finish();
  return { ...none, kind: 'account', slot, keys: [address, owner], data, bytes: updateOf(2, message) };
}

export function transactionUpdate(record: TransactionRecord, bankId = 0): ServedUpdate {
  const message = geyser.SubscribeUpdateTransaction.encode({ transaction: infoOf(record), slot: record.slot }).finish();
  const update = { keys: record.accountKeys, failed: record.err !== null };
  return { ...none, ...update, kind: 'transaction', slot: record.slot, bytes: updateOf(4, withBank(message, 3, bankId)) };
}

function infoOf(record: TransactionRecord): object {
  const decoded = decodeTransaction(record.wire);
  if (decoded.kind === 'malformed') throw new Error(`${record.signature} cannot be encoded.`);
  const { header, accountKeys, recentBlockhash, instructions, version, addressTableLookups, signatures } = decoded;
  const indexOf = new Map(record.accountKeys.map((key, index) => [key, index]));
  const writable = addressTableLookups.reduce((sum, { writableIndexes }) => sum + writableIndexes.length, 0);
  const loaded = record.accountKeys.slice(accountKeys.length).map(addressBytes);
  const balances = (list: readonly TokenBalance[]): object[] =>
    list.map(({ accountIndex, mint, owner, programId, amount, decimals }) => ({
      accountIndex,
      mint,
      owner,
      programId,
      uiTokenAmount: { uiAmount: Number(amount) / 10 ** decimals, decimals, amount: amount.toString(), uiAmountString: '' },
    }));
  return {
    signature: bytesOf(record.signature),
    isVote: false,
    index: record.index,
    transaction: {
      signatures: signatures.map(bytesOf),
      message: {
        header: {
          numRequiredSignatures: header.requiredSignatures,
          numReadonlySignedAccounts: header.readonlySigned,
          numReadonlyUnsignedAccounts: header.readonlyUnsigned,
        },
        accountKeys: accountKeys.map(addressBytes),
        recentBlockhash: bytesOf(recentBlockhash),
        instructions: instructions.map(({ programIdIndex, accountIndexes, data }) => ({
          programIdIndex,
          accounts: Buffer.from(accountIndexes),
          data,
        })),
        versioned: version !== 'legacy',
        ...(version === 1 && { config: {} }),
      },
    },
    meta: {
      ...(record.err !== null && { err: { err: Buffer.from([1]) } }),
      fee: Number(record.fee),
      preBalances: record.preBalances.map(Number),
      postBalances: record.postBalances.map(Number),
      innerInstructions: record.innerInstructions.map(({ index, instructions: inner }) => ({
        index,
        instructions: inner.map(({ programId, accounts, data, stackHeight }) => ({
          programIdIndex: indexOf.get(programId)!,
          accounts: Buffer.from(accounts.map((key) => indexOf.get(key)!)),
          data,
          stackHeight,
        })),
      })),
      logMessages: record.logs,
      preTokenBalances: balances(record.preTokenBalances),
      postTokenBalances: balances(record.postTokenBalances),
      loadedWritableAddresses: loaded.slice(0, writable),
      loadedReadonlyAddresses: loaded.slice(writable),
      computeUnitsConsumed: record.unitsConsumed,
    },
  };
}
