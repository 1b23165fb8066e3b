import { encodeBase58 } from './base58.ts';
import { noExtensions, readMintExtensions, type MintExtensions } from './token-extensions.ts';
import { token2022Program, tokenProgram } from './well-known.ts';

/** Lengths by which accounts of the token programs are told apart; Token-2022 pads a mint with extensions to an account's length. */
const mintLength = 82;
const tokenAccountLength = 165;
const multisigLength = 355;
const accountTypeMint = 1;
const accountTypeAccount = 2;

/** A mint as its account has it. Source: `state::Mint` of SPL Token. */
export interface Mint {
  readonly tokenProgram: string;
  readonly mintAuthority: string | null;
  readonly supply: bigint;
  readonly decimals: number;
  readonly freezeAuthority: string | null;
  readonly extensions: MintExtensions;
}

/** Where the extensions of a mint or token account begin; null where the bytes are of another kind, -1 where there are none. */
export function extensionsAt(owner: string, data: Uint8Array, kind: 'mint' | 'account'): number | null {
  if (owner !== tokenProgram && owner !== token2022Program) return null;
  if (data.length === (kind === 'mint' ? mintLength : tokenAccountLength)) return -1;
  const isExtended = owner === token2022Program && data.length > tokenAccountLength && data.length !== multisigLength;
  if (!isExtended || data[tokenAccountLength] !== (kind === 'mint' ? accountTypeMint : accountTypeAccount)) return null;
  return tokenAccountLength + 1;
}

/** `COption<Pubkey>`: u32 tag, 32 bytes. Undefined where the tag is none. */
function optionalKey(data: Uint8Array, view: DataView, at: number): string | null | undefined {
  const tag = view.getUint32(at, true);
  if (tag === 0) return null;
  return tag === 1 ? encodeBase58(data, at + 4, 32) : undefined;
}

/** Reads a mint of either token program; null where the account is none, or not initialized. Never throws. */
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
