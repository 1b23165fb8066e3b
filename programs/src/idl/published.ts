import { gunzipSync, inflateSync } from 'node:zlib';
import { addressBytes, addressWithSeed, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { hasPrefix, viewOf } from '@sluice/shared/solana/encoding/bytes.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { maxIdlBytes } from './idl.ts';

/** The Program Metadata program, in which newer programs publish their IDL. Source: solana-program/program-metadata, `state/header.rs`. */
const metadataProgram = 'ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S';
const metadataTag = 2;
const seedBytes = 16;
/** Offsets in its header: program, encoding, compression, format, source and length of the data; then the data. */
const at = { program: 1, encoding: 83, compression: 84, format: 85, source: 86, length: 87, data: 96 } as const;

/** First bytes of the account in which Anchor publishes an IDL: `sha256("account:IdlAccount")`. The authority and the length follow. */
const anchorTag = Uint8Array.of(24, 70, 98, 191, 58, 144, 123, 158);
const anchorDataAt = 44;

/** Where a program publishes its IDL: in an account of the program itself (`anchor idl init`), or of the Program Metadata program. */
export function publishedAddresses(programId: string): readonly [anchor: string, metadata: string] {
  const program = addressBytes(programId);
  const base = addressBytes(findProgramAddress([], programId).address);
  const seed = Buffer.alloc(seedBytes);
  seed.write('idl');
  // An account of the upgrade authority has no authority among its seeds.
  const { address } = findProgramAddress([program, new Uint8Array(0), seed], metadataProgram);
  return [addressWithSeed(base, 'anchor:idl', program), address];
}

export type PublishedText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

/** The text of an IDL in one of these accounts, as `getMultipleAccounts` answers it in base64. Null if the account does not exist. */
export function readPublished(account: unknown, programId: string): PublishedText | null {
  if (account === null || account === undefined) return null;
  const data = isRecord(account) && Array.isArray(account['data']) ? (account['data'] as unknown[])[0] : undefined;
  if (!isRecord(account) || typeof data !== 'string') return { ok: false, reason: 'the node answered without the bytes of the account' };
  const bytes = Buffer.from(data, 'base64');
  if (account['owner'] === programId && hasPrefix(bytes, anchorTag) && bytes.length >= anchorDataAt) {
    return unpacked(bytes, anchorDataAt, viewOf(bytes).getUint32(anchorDataAt - 4, true), 2);
  }
  if (account['owner'] !== metadataProgram || bytes[0] !== metadataTag || bytes.length < at.data) {
    return { ok: false, reason: 'the account has another form' };
  }
  if (!hasPrefix(bytes.subarray(at.program), addressBytes(programId))) return { ok: false, reason: 'the account is of another program' };
  if (bytes[at.source] !== 0) return { ok: false, reason: 'the account only names another place for it' };
  if (bytes[at.format] !== 1 || bytes[at.encoding]! > 1) return { ok: false, reason: 'it is not JSON in UTF-8' };
  return unpacked(bytes, at.data, viewOf(bytes).getUint32(at.length, true), bytes[at.compression]!);
}

/** `compression`: 0 none, 1 gzip, 2 zlib. */
function unpacked(bytes: Buffer, from: number, length: number, compression: number): PublishedText {
  if (from + length > bytes.length) return { ok: false, reason: 'the account is shorter than it says' };
  const packed = bytes.subarray(from, from + length);
  try {
    const options = { maxOutputLength: maxIdlBytes };
    const text = compression === 0 ? packed : compression === 1 ? gunzipSync(packed, options) : inflateSync(packed, options);
    return { ok: true, text: text.toString('utf8') };
  } catch (error) {
    return { ok: false, reason: `it cannot be unpacked: ${error instanceof Error ? error.message : String(error)}` };
  }
}
