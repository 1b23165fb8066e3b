import { BorshReader, isZeroKey } from '../encoding/bytes.ts';
import { addressBytes, findProgramAddress } from '../addresses/pda.ts';
import { metadataProgram } from '../well-known.ts';

/** `Key::MetadataV1`, the first byte of the account. */
const metadataKey = 4;
const creatorBytes = 34;
const seed = Buffer.from('metadata');

/** Metadata of a mint in the Token Metadata program. Texts have no trailing zeros, with which old accounts pad them. */
export interface MetaplexMetadata {
  /** Null if the metadata can no longer be changed. */
  readonly updateAuthority: string | null;
  readonly mint: string;
  readonly name: string;
  readonly symbol: string;
  readonly uri: string;
}

/** The metadata account of a mint. Throws TypeError if the argument is not an address. */
export function metaplexAddress(mint: string): string {
  return findProgramAddress([seed, addressBytes(metadataProgram), addressBytes(mint)], metadataProgram).address;
}

/** Reads a Metadata account; null if the bytes are not one. Never throws. */
export function decodeMetaplex(owner: string, data: Uint8Array): MetaplexMetadata | null {
  if (owner !== metadataProgram || data[0] !== metadataKey) return null;
  const reader = new BorshReader(data, 1);
  const authorityAt = reader.at;
  const authority = reader.address();
  const mint = reader.address();
  const [name, symbol, uri] = [unpadded(reader.text()), unpadded(reader.text()), unpadded(reader.text())];
  if (reader.failed) return null;
  return { updateAuthority: isZeroKey(data, authorityAt) || !isMutable(reader) ? null : authority, mint, name, symbol, uri };
}

/** Skips seller fee, creators and `primary_sale_happened`. If the fields are cut short, the account has an old layout. */
function isMutable(reader: BorshReader): boolean {
  reader.skip(2);
  if (reader.u8() === 1) reader.skipList(creatorBytes);
  reader.skip(1);
  const flag = reader.u8();
  return reader.failed || flag !== 0;
}

function unpadded(text: string): string {
  const end = text.indexOf('\0');
  return end === -1 ? text : text.slice(0, end);
}
