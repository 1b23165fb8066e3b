import { encodeBase58 } from '../encoding/base58.ts';
import { noExtensions, readMintExtensions, type MintExtensions } from './token-extensions.ts';
import { token2022Program, tokenProgram } from '../well-known.ts';

/** Lengths that distinguish the accounts. Token-2022 pads a mint with extensions to the length of a token account. */
const mintLength = 82;
const tokenAccountLength = 165;
const multisigLength = 355;
const accountTypeMint = 1;
const accountTypeAccount = 2;

/** Fields of a mint's account. Source: `state::Mint` of SPL Token. */
export interface Mint {
  readonly tokenProgram: string;
  readonly mintAuthority: string | null;
  readonly supply: bigint;
  readonly decimals: number;
  readonly freezeAuthority: string | null;
  readonly extensions: MintExtensions;
}

/** Offset of the extensions of a mint or token account; -1 if it has none; null if the bytes are of another kind. */
export function extensionsAt(owner: string, data: Uint8Array, kind: 'mint' | 'account'): number | null {
  if (owner !== tokenProgram && owner !== token2022Program) return null;
  if (data.length === (kind === 'mint' ? mintLength : tokenAccountLength)) return -1;
  const isExtended = owner === token2022Program && data.length > tokenAccountLength && data.length !== multisigLength;
  if (!isExtended || data[tokenAccountLength] !== (kind === 'mint' ? accountTypeMint : accountTypeAccount)) return null;
  return tokenAccountLength + 1;
}

/** `COption<Pubkey>`: u32 tag, 32 bytes. Undefined if the tag is invalid. */
function optionalKey(data: Uint8Array, view: DataView, at: number): string | null | undefined {
  const tag = view.getUint32(at, true);
  if (tag === 0) return null;
  return tag === 1 ? encodeBase58(data, at + 4, 32) : undefined;
}

/** Reads a mint of either token program; null if the account is not one, or not initialized. Never throws. */
export function decodeMint(owner: string, data: Uint8Array): Mint | null {
  const extended = extensionsAt(owner, data, 'mint');
  if (extended === null || data[45] !== 1) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const mintAuthority = optionalKey(data, view, 0);
  const freezeAuthority = optionalKey(data, view, 46);
  if (mintAuthority === undefined || freezeAuthority === undefined) return null;
  const extensions = extended === -1 ? noExtensions : readMintExtensions(data, extended);
  if (extensions === null) return null;
  return { tokenProgram: owner, mintAuthority, supply: view.getBigUint64(36, true), decimals: data[44]!, freezeAuthority, extensions };
}
