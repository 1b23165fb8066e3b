import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { BorshWriter } from '../../layout/borsh.ts';

export const tokenTag = {
  initializeMint: 0,
  initializeAccount: 1,
  transfer: 3,
  approve: 4,
  revoke: 5,
  setAuthority: 6,
  mintTo: 7,
  burn: 8,
  closeAccount: 9,
  transferChecked: 12,
  approveChecked: 13,
  mintToChecked: 14,
  burnChecked: 15,
  initializeAccount2: 16,
  syncNative: 17,
  initializeAccount3: 18,
  initializeMint2: 20,
  getAccountDataSize: 21,
  initializeImmutableOwner: 22,
  metadataPointer: 39,
} as const;

export const authorityType = { mintTokens: 0, freezeAccount: 1, accountOwner: 2, closeAccount: 3 } as const;
/** First eight bytes of sha256 of `spl_token_metadata_interface:initialize_account` and `:update_the_authority`. */
export const metadataTag = {
  initialize: Uint8Array.from(Buffer.from('d2e11ea258b84d8d', 'hex')),
  updateAuthority: Uint8Array.from(Buffer.from('d7e4a6e45464567b', 'hex')),
} as const;

const writable = (address: string) => ({ address, signer: false, writable: true });
const readonly = (address: string) => ({ address, signer: false, writable: false });
const signer = (address: string) => ({ address, signer: true, writable: false });

export interface TransferParts {
  readonly programId: string;
  readonly source: string;
  readonly mint: string;
  readonly destination: string;
  readonly authority: string;
  readonly amount: bigint;
  readonly decimals: number;
}

export function transferCheckedInstruction(parts: TransferParts): Instruction {
  return {
    programId: parts.programId,
    accounts: [writable(parts.source), readonly(parts.mint), writable(parts.destination), signer(parts.authority)],
    data: new BorshWriter().u8(tokenTag.transferChecked).u64(parts.amount).u8(parts.decimals).done(),
  };
}

export function initializeMint2Instruction(programId: string, mint: string, decimals: number, authority: string): Instruction {
  const data = new BorshWriter().u8(tokenTag.initializeMint2).u8(decimals).address(authority).u8(0).done();
  return { programId, accounts: [writable(mint)], data };
}

export function mintToInstruction(programId: string, mint: string, destination: string, authority: string, amount: bigint): Instruction {
  return {
    programId,
    accounts: [writable(mint), writable(destination), signer(authority)],
    data: new BorshWriter().u8(tokenTag.mintTo).u64(amount).done(),
  };
}

export function burnInstruction(programId: string, account: string, mint: string, authority: string, amount: bigint): Instruction {
  return {
    programId,
    accounts: [writable(account), writable(mint), signer(authority)],
    data: new BorshWriter().u8(tokenTag.burn).u64(amount).done(),
  };
}

export function closeAccountInstruction(programId: string, account: string, destination: string, authority: string): Instruction {
  return {
    programId,
    accounts: [writable(account), writable(destination), signer(authority)],
    data: Uint8Array.of(tokenTag.closeAccount),
  };
}

export function syncNativeInstruction(programId: string, account: string): Instruction {
  return { programId, accounts: [writable(account)], data: Uint8Array.of(tokenTag.syncNative) };
}

export function removeMintAuthorityInstruction(programId: string, mint: string, authority: string): Instruction {
  return {
    programId,
    accounts: [writable(mint), signer(authority)],
    data: Uint8Array.of(tokenTag.setAuthority, authorityType.mintTokens, 0),
  };
}

export function accountDataSizeInstruction(programId: string, mint: string, extensionType: number): Instruction {
  return { programId, accounts: [readonly(mint)], data: new BorshWriter().u8(tokenTag.getAccountDataSize).u16(extensionType).done() };
}

export function initializeImmutableOwnerInstruction(programId: string, account: string): Instruction {
  return { programId, accounts: [writable(account)], data: Uint8Array.of(tokenTag.initializeImmutableOwner) };
}

export function initializeAccount3Instruction(programId: string, account: string, mint: string, owner: string): Instruction {
  return {
    programId,
    accounts: [writable(account), readonly(mint)],
    data: new BorshWriter().u8(tokenTag.initializeAccount3).address(owner).done(),
  };
}

export function initializeMetadataPointerInstruction(programId: string, mint: string): Instruction {
  const data = new BorshWriter().u8(tokenTag.metadataPointer).u8(0).zeros(32).address(mint).done();
  return { programId, accounts: [writable(mint)], data };
}

export interface MetadataText {
  readonly name: string;
  readonly symbol: string;
  readonly uri: string;
}

export function initializeMetadataInstruction(programId: string, mint: string, authority: string, text: MetadataText): Instruction {
  return {
    programId,
    accounts: [writable(mint), readonly(authority), readonly(mint), signer(authority)],
    data: new BorshWriter().bytes(metadataTag.initialize).string(text.name).string(text.symbol).string(text.uri).done(),
  };
}

export function removeMetadataAuthorityInstruction(programId: string, mint: string, authority: string): Instruction {
  return {
    programId,
    accounts: [writable(mint), signer(authority)],
    data: new BorshWriter().bytes(metadataTag.updateAuthority).zeros(32).done(),
  };
}
