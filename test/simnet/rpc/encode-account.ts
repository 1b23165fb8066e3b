import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { ChainAccount } from '../chain.ts';
import { u64 } from './json.ts';
import type { Fields } from './params.ts';
import { parseTokenData } from './parse-token.ts';
import { fault, rpcCodes, type RpcFault } from './rpc-fault.ts';

type AccountEncoding = 'binary' | 'base58' | 'base64' | 'jsonParsed';

interface DataSlice {
  readonly offset: number;
  readonly length: number;
}

export interface AccountFormat {
  readonly encoding: AccountEncoding;
  readonly dataSlice: DataSlice | null;
}

/** Accounts above this many bytes are refused in base58 (`MAX_BASE58_BYTES` of a node). */
const maxBase58Bytes = 128;
/** Every account here is rent-exempt. A node reports this value since rent is no longer collected. */
const rentEpoch = 18_446_744_073_709_551_615n;

/** Reads `encoding` and `dataSlice`. base64+zstd is refused: this node does not compress. */
export function readAccountFormat(fields: Fields): AccountFormat {
  const encoding = fields.choice('encoding', ['binary', 'base58', 'base64', 'jsonParsed', 'base64+zstd'] as const, 'binary');
  if (encoding === 'base64+zstd') fields.params.fail('Invalid params: base64+zstd is not supported by this node, use base64');
  const slice = fields.object('dataSlice');
  const dataSlice = slice === null ? null : { offset: slice.uint('offset') ?? 0, length: slice.uint('length') ?? 0 };
  return { encoding: encoding === 'base64+zstd' ? 'base64' : encoding, dataSlice };
}

function sliced(data: Uint8Array, slice: DataSlice | null): Uint8Array {
  if (slice === null) return data;
  return slice.offset >= data.length ? data.subarray(0, 0) : data.subarray(slice.offset, slice.offset + slice.length);
}

export function tooLargeForBase58(account: ChainAccount, format: AccountFormat): boolean {
  return (format.encoding === 'binary' || format.encoding === 'base58') && sliced(account.data, format.dataSlice).length > maxBase58Bytes;
}

export const base58TooLarge: RpcFault = fault(
  rpcCodes.invalidRequest,
  `Encoded binary (base 58) data should be less than ${maxBase58Bytes} bytes, please use Base64 encoding.`,
);

export function base64Of(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}

function encodeData(account: ChainAccount, format: AccountFormat, accountOf: (address: string) => ChainAccount | null): unknown {
  if (format.encoding === 'jsonParsed') {
    const parsed = parseTokenData(account, accountOf);
    if (parsed !== null) return parsed;
  }
  const data = sliced(account.data, format.dataSlice);
  if (format.encoding === 'base64' || format.encoding === 'jsonParsed') return [base64Of(data), 'base64'];
  const text = data.length > maxBase58Bytes ? 'error: data too large for bs58 encoding' : encodeBase58(data);
  return format.encoding === 'binary' ? text : [text, 'base58'];
}

/** UiAccount of a node. `accountOf` returns mints, for `jsonParsed`. */
export function encodeAccount(account: ChainAccount, format: AccountFormat, accountOf: (address: string) => ChainAccount | null): object {
  return {
    data: encodeData(account, format, accountOf),
    executable: account.executable,
    lamports: u64(account.lamports),
    owner: account.owner,
    rentEpoch: u64(rentEpoch),
    space: account.data.length,
  };
}
