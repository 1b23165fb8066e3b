import proto from 'laserstream-core-proto-js';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { Block, ChainAccount, TokenBalance, TransactionRecord } from '../../simnet/chain.ts';
import { encodeTransaction } from '../../simnet/rpc/encode-transaction.ts';

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
  const encoded = encodeTransaction(record, 'json', 1);
  if (!encoded.ok) throw new Error(`${record.signature} cannot be encoded.`);
  const update = { keys: record.accountKeys, failed: record.err !== null };
  return {
    ...none,
    ...update,
    kind: 'transaction',
    slot: record.slot,
    bytes: answerUpdate(encoded.value as Answer, record.slot, bankId, record.index),
  };
}

/** A transaction as `getTransaction` and `getBlock` show it, with the encoding `json`. */
export interface Answer {
  readonly transaction: {
    readonly signatures: readonly string[];
    readonly message: {
      readonly header: {
        readonly numRequiredSignatures: number;
        readonly numReadonlySignedAccounts: number;
        readonly numReadonlyUnsignedAccounts: number;
      };
      readonly accountKeys: readonly string[];
      readonly recentBlockhash: string;
      readonly instructions: readonly AnswerInstruction[];
    };
  };
  readonly version?: 'legacy' | number;
  readonly meta: {
    readonly err: unknown;
    readonly fee: number;
    readonly preBalances: readonly number[];
    readonly postBalances: readonly number[];
    readonly innerInstructions: readonly { readonly index: number; readonly instructions: readonly AnswerInstruction[] }[] | null;
    readonly logMessages: readonly string[] | null;
    readonly preTokenBalances: readonly AnswerBalance[];
    readonly postTokenBalances: readonly AnswerBalance[];
    readonly loadedAddresses?: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
    readonly computeUnitsConsumed?: number;
  };
}
interface AnswerInstruction {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: string;
  readonly stackHeight?: number | null;
}
type AnswerBalance = Omit<TokenBalance, 'amount' | 'decimals'> & {
  readonly uiTokenAmount: { readonly uiAmount: number | null; readonly decimals: number; readonly amount: string };
};

/** The same transaction as an update of the service. The server does not send the place 0, as protobuf has it. */
export function answerUpdate({ transaction, version, meta }: Answer, slot: number, bankId = 0, place = 0): Uint8Array {
  const { signatures, message } = transaction;
  const { writable, readonly } = meta.loadedAddresses ?? { writable: [], readonly: [] };
  const instructionOf = ({ programIdIndex, accounts, data, stackHeight }: AnswerInstruction): object => ({
    programIdIndex,
    accounts: Buffer.from(accounts),
    data: bytesOf(data),
    ...(typeof stackHeight === 'number' && { stackHeight }),
  });
  const balanceOf = ({ uiTokenAmount, ...balance }: AnswerBalance): object => ({
    ...balance,
    uiTokenAmount: { ...uiTokenAmount, uiAmount: uiTokenAmount.uiAmount ?? 0, uiAmountString: '' },
  });
  const info = {
    signature: bytesOf(signatures[0]!),
    isVote: false,
    ...(place > 0 && { index: place }),
    transaction: {
      signatures: signatures.map(bytesOf),
      message: {
        header: message.header,
        accountKeys: message.accountKeys.map((key) => addressBytes(key)),
        recentBlockhash: bytesOf(message.recentBlockhash),
        instructions: message.instructions.map(instructionOf),
        versioned: version !== undefined && version !== 'legacy',
        ...(version === 1 && { config: {} }),
      },
    },
    meta: {
      ...(meta.err !== null && { err: { err: Buffer.from([1]) } }),
      fee: meta.fee,
      preBalances: [...meta.preBalances],
      postBalances: [...meta.postBalances],
      innerInstructions: (meta.innerInstructions ?? []).map(({ index, instructions }) => ({
        index,
        instructions: instructions.map(instructionOf),
      })),
      logMessages: [...(meta.logMessages ?? [])],
      preTokenBalances: meta.preTokenBalances.map(balanceOf),
      postTokenBalances: meta.postTokenBalances.map(balanceOf),
      loadedWritableAddresses: writable.map((key) => addressBytes(key)),
      loadedReadonlyAddresses: readonly.map((key) => addressBytes(key)),
      computeUnitsConsumed: meta.computeUnitsConsumed ?? 0,
    },
  };
  const encoded = geyser.SubscribeUpdateTransaction.encode({ transaction: info, slot }).finish();
  return updateOf(4, withBank(encoded, 3, bankId));
}
