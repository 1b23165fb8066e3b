import type { Commitment } from '@sluice/shared/wire/events/events.ts';
import { readFilters, type AccountFilter } from '../account-filters.ts';
import { readAccountFormat, type AccountFormat } from '../encode-account.ts';
import { transactionEncodings, type TransactionEncoding } from '../encode-transaction.ts';
import { addressFault, type Fields, type Params } from '../params.ts';

/** How transactions are returned. */
export interface TransactionForm {
  readonly encoding: TransactionEncoding;
  readonly maxVersion: number | null;
}

/** The content of one subscription, after reading its parameters. */
export type Subscription =
  | { readonly kind: 'logs'; readonly mention: string | null; readonly votes: boolean; readonly commitment: Commitment }
  | { readonly kind: 'account'; readonly address: string; readonly format: AccountFormat; readonly commitment: Commitment }
  | {
      readonly kind: 'program';
      readonly programId: string;
      readonly filters: readonly AccountFilter[];
      readonly format: AccountFormat;
      readonly commitment: Commitment;
    }
  | { readonly kind: 'signature'; readonly signature: string; readonly received: boolean; readonly commitment: Commitment }
  | { readonly kind: 'block'; readonly mention: string | null; readonly form: TransactionForm; readonly commitment: Commitment }
  /** In the form of Helius. `mentions`: any of these addresses; empty for all. */
  | {
      readonly kind: 'transaction';
      readonly mentions: readonly string[];
      readonly failed: boolean | null;
      readonly form: TransactionForm;
      readonly commitment: Commitment;
    }
  | { readonly kind: 'slot' }
  | { readonly kind: 'root' };

export type SubscriptionKind = Subscription['kind'];

function readLogs(params: Params): Subscription {
  const filter = params.list[0];
  const commitment = params.config(1).commitment();
  if (filter === 'all' || filter === 'allWithVotes') return { kind: 'logs', mention: null, votes: filter === 'allWithVotes', commitment };
  if (typeof filter === 'object' && filter !== null && 'mentions' in filter && Array.isArray(filter.mentions)) {
    const mentions: readonly unknown[] = filter.mentions;
    const [mention] = mentions;
    if (mentions.length !== 1) params.fail('Invalid Request: Only 1 address supported');
    else if (typeof mention !== 'string') params.fail('Invalid param: Invalid');
    else params.check(mention, addressFault);
    return { kind: 'logs', mention: String(mention), votes: true, commitment };
  }
  params.fail('Invalid params: expected `all`, `allWithVotes` or {"mentions":[address]}');
  return { kind: 'logs', mention: null, votes: false, commitment };
}

function readForm(fields: Fields): TransactionForm {
  const encoding = fields.choice('encoding', transactionEncodings, 'json');
  return { encoding, maxVersion: fields.uint('maxSupportedTransactionVersion') };
}

function readBlocks(params: Params): Subscription {
  const [filter] = params.list;
  const fields = params.config(1);
  const commitment = fields.commitment();
  if (commitment === 'processed') params.fail('Method does not support commitment below `confirmed`');
  const mention = filter === 'all' ? null : params.config(0).text('mentionsAccountOrProgram');
  if (filter !== 'all' && mention === null) params.fail('Invalid params: expected `all` or {"mentionsAccountOrProgram":address}');
  if (mention !== null) params.check(mention, addressFault);
  return { kind: 'block', mention, form: readForm(fields), commitment };
}

function readTransactions(params: Params): Subscription {
  const filter = params.config(0);
  const fields = params.config(1);
  const mentions = filter.list('accountInclude').map(String);
  for (const mention of mentions) params.check(mention, addressFault);
  const failed = filter.has('failed') ? filter.flag('failed') : null;
  return { kind: 'transaction', mentions, failed, form: readForm(fields), commitment: fields.commitment() };
}

const readers: Readonly<Record<string, (params: Params) => Subscription>> = {
  logsSubscribe: readLogs,
  accountSubscribe: (params) => {
    const address = params.address(0);
    const fields = params.config(1);
    return { kind: 'account', address, format: readAccountFormat(fields), commitment: fields.commitment() };
  },
  programSubscribe: (params) => {
    const programId = params.address(0);
    const fields = params.config(1);
    const filters = readFilters(fields);
    return { kind: 'program', programId, filters, format: readAccountFormat(fields), commitment: fields.commitment() };
  },
  signatureSubscribe: (params) => {
    const signature = params.signature(0);
    const fields = params.config(1);
    return { kind: 'signature', signature, received: fields.flag('enableReceivedNotification'), commitment: fields.commitment() };
  },
  blockSubscribe: readBlocks,
  transactionSubscribe: readTransactions,
  slotSubscribe: () => ({ kind: 'slot' }),
  rootSubscribe: () => ({ kind: 'root' }),
};

export const subscriptionKinds: readonly SubscriptionKind[] = [
  'logs',
  'account',
  'program',
  'signature',
  'block',
  'transaction',
  'slot',
  'root',
];
const unsubscribes: ReadonlySet<string> = new Set(subscriptionKinds.map((kind) => `${kind}Unsubscribe`));

export function isUnsubscribe(method: string): boolean {
  return unsubscribes.has(method);
}

/** Reads a `*Subscribe` call; null if the method is not one. A fault is stored in `params`. */
export function readSubscription(method: string, params: Params): Subscription | null {
  const read = Object.hasOwn(readers, method) ? readers[method] : undefined;
  return read === undefined ? null : read(params);
}

/** Equal for equal subscriptions, which share one subscription id and one encoded notification. */
export function subscriptionKey(subscription: Subscription): string {
  return JSON.stringify(subscription, (_name, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  );
}
