import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { ChainAccount } from '../chain.ts';
import { Fields, type Params } from './params.ts';
import { readTokenAccount } from './parse-token.ts';

/** Filters of one request (`MAX_GET_PROGRAM_ACCOUNT_FILTERS` of a node). */
const maxFilters = 4;
/** Bytes that one memcmp filter may compare. */
const maxMemcmpBytes = 128;

export type AccountFilter =
  | { readonly kind: 'dataSize'; readonly size: number }
  | { readonly kind: 'memcmp'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'tokenAccountState' };

function readMemcmp(fields: Fields): AccountFilter {
  const offset = fields.uint('offset') ?? 0;
  const encoding = fields.choice('encoding', ['base58', 'base64'] as const, 'base58');
  const raw = fields.source['bytes'];
  let bytes: Uint8Array | null = null;
  if (typeof raw === 'string') bytes = encoding === 'base64' ? new Uint8Array(Buffer.from(raw, 'base64')) : decodeBase58(raw);
  else if (Array.isArray(raw) && raw.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256)) bytes = Uint8Array.from(raw);
  if (bytes === null) fields.params.fail('Invalid param: invalid memcmp bytes');
  else if (bytes.length > maxMemcmpBytes) fields.params.fail(`Invalid param: memcmp data too large, max ${maxMemcmpBytes} bytes`);
  return { kind: 'memcmp', offset, bytes: bytes ?? new Uint8Array(0) };
}

function readFilter(value: unknown, params: Params): AccountFilter | null {
  if (value === 'tokenAccountState') return { kind: 'tokenAccountState' };
  if (typeof value === 'object' && value !== null) {
    const fields = new Fields(value as Record<string, unknown>, params);
    const size = fields.uint('dataSize');
    if (size !== null) return { kind: 'dataSize', size };
    const memcmp = fields.object('memcmp');
    if (memcmp !== null) return readMemcmp(memcmp);
    if (fields.has('tokenAccountState')) return { kind: 'tokenAccountState' };
  }
  params.fail('Invalid params: unknown filter, expected one of `dataSize`, `memcmp`, `tokenAccountState`');
  return null;
}

/** `filters` of getProgramAccounts and programSubscribe. */
export function readFilters(fields: Fields): readonly AccountFilter[] {
  const list = fields.list('filters');
  if (list.length > maxFilters) fields.params.fail(`Too many filters provided; max ${maxFilters}`);
  return list.map((value) => readFilter(value, fields.params)).filter((filter) => filter !== null);
}

function matches(account: ChainAccount, filter: AccountFilter): boolean {
  if (filter.kind === 'dataSize') return account.data.length === filter.size;
  if (filter.kind === 'tokenAccountState') return readTokenAccount(account) !== null;
  const { offset, bytes } = filter;
  if (offset + bytes.length > account.data.length) return false;
  return bytes.every((byte, index) => account.data[offset + index] === byte);
}

export function passesFilters(account: ChainAccount, filters: readonly AccountFilter[]): boolean {
  return filters.every((filter) => matches(account, filter));
}
