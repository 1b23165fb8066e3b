import { createHash } from 'node:crypto';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { isSlot } from '@sluice/shared/solana/encoding/json-forms.ts';
import { bytesField, numberField, readBytes, readMessage, type Fields, type Message } from '@sluice/shared/solana/grpc/protobuf.ts';
import type { WatchedProgram } from '../pubsub/accounts.ts';

/**
 * The messages of Yellowstone's service `geyser.Geyser` that this source uses, by their published field numbers. `bankId` is sent by versions for Agave
 * 4.3. A node numbers its banks itself, so the number is compared only within one endpoint. Parts of transactions have the names of the JSON-RPC.
 */
export const subscribePath = '/geyser.Geyser/Subscribe';

const instruction: Fields = {
  1: ['programIdIndex', 'number'],
  2: ['accounts', 'indexes'],
  3: ['data', 'bytes'],
  4: ['stackHeight', 'optional'],
};
const tokenBalance: Fields = {
  1: ['accountIndex', 'number'],
  2: ['mint', 'text'],
  3: ['uiTokenAmount', { 2: ['decimals', 'number'], 3: ['amount', 'text'] }],
  4: ['owner', 'text'],
};
const message: Fields = {
  2: ['accountKeys', 'key', 'repeated'],
  4: ['instructions', instruction, 'repeated'],
  5: ['versioned', 'flag'],
  7: ['config', {}],
};
const meta: Fields = {
  1: ['err', {}],
  5: ['innerInstructions', { 1: ['index', 'number'], 2: ['instructions', instruction, 'repeated'] }, 'repeated'],
  6: ['logMessages', 'text', 'repeated'],
  7: ['preTokenBalances', tokenBalance, 'repeated'],
  8: ['postTokenBalances', tokenBalance, 'repeated'],
  10: ['innerInstructionsNone', 'flag'],
  12: ['writable', 'key', 'repeated'],
  13: ['readonly', 'key', 'repeated'],
};
/** `SubscribeUpdateTransactionInfo`. Its parts are read only if the transaction is new. */
const info: Fields = { 1: ['signature', 'bytes'], 3: ['transaction', 'bytes'], 4: ['meta', 'bytes'], 5: ['index', 'number'] };
const transaction: Fields = { 1: ['signatures', 'bytes', 'repeated'], 2: ['message', message] };

/** `SubscribeUpdate`. */
const update: Fields = {
  2: ['account', { 1: ['account', { 1: ['pubkey', 'key'], 3: ['owner', 'key'], 6: ['data', 'bytes'] }], 2: ['slot', 'number'] }],
  3: ['slot', { 1: ['slot', 'number'], 2: ['parent', 'optional'], 3: ['status', 'number'] }],
  4: ['transaction', { 1: ['info', info], 2: ['slot', 'number'], 3: ['bankId', 'optional'] }],
  6: ['ping', {}],
  7: ['block', { 1: ['slot', 'number'], 2: ['blockhash', 'text'], 6: ['parent', 'number'], 10: ['bankId', 'optional'] }],
};
const kinds = ['account', 'slot', 'transaction', 'ping', 'block'] as const;
const signatureBytes = 64;
const statuses = ['processed', 'confirmed'] as const;

export type GrpcUpdate =
  | { readonly kind: 'transaction'; readonly slot: number; readonly info: Message }
  | { readonly kind: 'slot'; readonly slot: number; readonly parent: number | null; readonly status: 'processed' | 'confirmed' | 'other' }
  | { readonly kind: 'block'; readonly slot: number; readonly parent: number; readonly bank: unknown }
  | { readonly kind: 'account'; readonly slot: number; readonly address: string; readonly owner: string; readonly data: Uint8Array }
  | { readonly kind: 'ping' }
  | { readonly kind: 'other' };

/** Reads a `SubscribeUpdate`. */
export function readUpdate(bytes: Buffer): GrpcUpdate | 'malformed' {
  const read = readMessage(update, bytes);
  if (read === 'malformed') return read;
  const kind = kinds.find((one) => read[one] !== undefined);
  if (kind === undefined || kind === 'ping') return { kind: kind ?? 'other' };
  const found = read[kind] as Message;
  const { slot, parent } = found;
  if (!isSlot(slot)) return 'malformed';
  if (kind === 'transaction') return found['info'] === undefined ? 'malformed' : { kind, slot, info: found['info'] as Message };
  if (kind === 'account') {
    const { pubkey, owner, data } = (found['account'] ?? {}) as Message;
    if (!isKey(pubkey) || !isKey(owner)) return 'malformed';
    return { kind, slot, address: pubkey, owner, data: data as Uint8Array };
  }
  const isParent = isSlot(parent) && parent < slot;
  if (kind === 'slot') return { kind, slot, parent: isParent ? parent : null, status: statuses[Number(found['status'])] ?? 'other' };
  return isParent ? { kind, slot, parent, bank: found['bankId'] ?? found['blockhash'] } : 'malformed';
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 32 && value.length <= 44;
}

export interface TransactionHead {
  readonly signature: string;
  /** A hash of all that is read of it. */
  readonly digest: string;
}

/** What shows whether a transaction is new. Versions of the node add fields after those that are read. */
export function readHead(of: Message): TransactionHead | 'malformed' {
  const signature = of['signature'] as Buffer;
  const metaBytes = of['meta'] as Buffer;
  const read = metaBytes.length === 0 ? 'malformed' : readBytes(meta, metaBytes);
  if (read === 'malformed' || signature.length !== signatureBytes) return 'malformed';
  const bytes = of['transaction'] as Buffer;
  const digest = createHash('sha256').update(`${bytes.length}:`).update(bytes).update(read).digest('base64');
  return { signature: encodeBase58(signature), digest };
}

/** A transaction in the form of an answer to `getTransaction`, for `readTransaction`; instruction data are bytes. */
export function answerOf(of: Message, slot: number, { signature }: TransactionHead): unknown {
  const read = readMessage(transaction, of['transaction'] as Buffer);
  const readMeta = readMessage(meta, of['meta'] as Buffer);
  if (read === 'malformed' || readMeta === 'malformed') return null;
  const { err, logMessages, innerInstructions, innerInstructionsNone, preTokenBalances, postTokenBalances, writable, readonly } = readMeta;
  const { versioned, config } = (read['message'] ?? {}) as Message;
  const [first] = read['signatures'] as readonly Buffer[];
  if (first?.equals(of['signature'] as Buffer) !== true) return null;
  // Only a message of version 1 has a config.
  const version = config !== undefined ? 1 : versioned === true ? 0 : 'legacy';
  const inner = innerInstructionsNone === true ? null : innerInstructions;
  const loadedAddresses = { writable, readonly };
  return {
    slot,
    // A zero is the first place or one that the server does not know: protobuf does not send zeros. The confirmed block shows the order.
    transactionIndex: of['index'] === 0 ? null : of['index'],
    version,
    transaction: { signatures: [signature], message: read['message'] },
    meta: { err, logMessages, preTokenBalances, postTokenBalances, innerInstructions: inner, loadedAddresses },
  };
}

/** Fields of `SubscribeRequest`. */
const request = { accounts: 1, slots: 2, transactions: 3, blocksMeta: 5, commitment: 6, ping: 9, fromSlot: 11 } as const;
const processed = 0;

function filter(field: number, name: string, ...parts: readonly Uint8Array[]): Buffer {
  return bytesField(field, bytesField(1, name), bytesField(2, ...parts));
}

/** Without `filter_by_commitment`, slots are reported at every status. */
const allSlots = filter(request.slots, 'all', numberField(1, 0));

/** A request for slots alone. */
export const slotsRequest = Buffer.concat([allSlots, numberField(request.commitment, processed)]);

export interface GrpcFilters {
  /** Programs whose successful transactions are requested. */
  readonly programs: readonly string[];
  /** Programs whose accounts are requested. */
  readonly watched: readonly WatchedProgram[];
  /** Further accounts that are requested. */
  readonly accounts: readonly string[];
}

/**
 * A request has all filters, also if it only answers a ping. A server that treats such an answer as a change of filters then changes nothing. `fromSlot`:
 * the server shall replay from this slot on.
 */
export function subscribeRequest(filters: GrpcFilters, { fromSlot, ping }: { readonly fromSlot?: number; readonly ping?: number }): Buffer {
  const { programs, watched, accounts } = filters;
  return Buffer.concat([
    allSlots,
    filter(request.blocksMeta, 'all'),
    // Neither votes nor failed transactions.
    filter(request.transactions, 'venues', numberField(1, 0), numberField(2, 0), ...programs.map((program) => bytesField(3, program))),
    ...watched.flatMap(({ programId, watchedAccountPrefixes }) =>
      watchedAccountPrefixes.map((prefix, index) => {
        const memcmp = bytesField(1, numberField(1, 0), bytesField(2, prefix));
        return filter(request.accounts, `${programId}:${index}`, bytesField(3, programId), bytesField(4, memcmp));
      }),
    ),
    ...(accounts.length === 0 ? [] : [filter(request.accounts, 'named', ...accounts.map((address) => bytesField(2, address)))]),
    numberField(request.commitment, processed),
    ...(ping === undefined ? [] : [bytesField(request.ping, numberField(1, ping))]),
    ...(fromSlot === undefined ? [] : [numberField(request.fromSlot, fromSlot)]),
  ]);
}
