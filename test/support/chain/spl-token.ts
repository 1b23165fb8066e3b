import { createRequire } from 'node:module';
import type { PublicKey, TransactionInstruction } from '@solana/web3.js';

type Instruct = (...args: unknown[]) => TransactionInstruction;

/** What the tests use of the published library of the token programs: it came with `@pump-fun/pump-sdk`. */
interface SplToken {
  readonly TOKEN_2022_PROGRAM_ID: PublicKey;
  readonly ExtensionType: Readonly<Record<string, number>>;
  getMintLen(types: readonly number[], variable?: Readonly<Record<string, number>>): number;
  unpackMint(address: PublicKey, account: unknown, program: PublicKey): SplMint;
  unpackAccount(address: PublicKey, account: unknown, program: PublicKey): SplAccount;
  getTransferFeeConfig(mint: SplMint): SplFee | null;
  getTransferHook(mint: SplMint): { authority: PublicKey; programId: PublicKey } | null;
  getPermanentDelegate(mint: SplMint): { delegate: PublicKey } | null;
  getDefaultAccountState(mint: SplMint): { state: number } | null;
  getMetadataPointerState(mint: SplMint): { metadataAddress: PublicKey | null } | null;
  getMintCloseAuthority(mint: SplMint): { closeAuthority: PublicKey } | null;
  getInterestBearingMintConfigState(mint: SplMint): { currentRate: number; rateAuthority: PublicKey } | null;
  createInitializeTransferFeeConfigInstruction: Instruct;
  createInitializeTransferHookInstruction: Instruct;
  createInitializePermanentDelegateInstruction: Instruct;
  createInitializeDefaultAccountStateInstruction: Instruct;
  createInitializeMintCloseAuthorityInstruction: Instruct;
  createInitializeInterestBearingMintInstruction: Instruct;
  createInitializeNonTransferableMintInstruction: Instruct;
  createInitializePausableConfigInstruction: Instruct;
  createInitializeScaledUiAmountConfigInstruction: Instruct;
  createInitializeMetadataPointerInstruction: Instruct;
  createInitializeMint2Instruction: Instruct;
  createInitializeAccount3Instruction: Instruct;
  createInitializeMultisigInstruction: Instruct;
  createMintToInstruction: Instruct;
  createFreezeAccountInstruction: Instruct;
  createSetTransferFeeInstruction: Instruct;
}

interface SplMint {
  readonly mintAuthority: PublicKey | null;
  readonly supply: bigint;
  readonly decimals: number;
  readonly freezeAuthority: PublicKey | null;
  readonly tlvData: Buffer;
}

interface SplAccount {
  readonly mint: PublicKey;
  readonly owner: PublicKey;
  readonly amount: bigint;
  readonly isFrozen: boolean;
}

interface SplFee {
  readonly transferFeeConfigAuthority: PublicKey;
  readonly withdrawWithheldAuthority: PublicKey;
  readonly olderTransferFee: { readonly epoch: bigint; readonly maximumFee: bigint; readonly transferFeeBasisPoints: number };
  readonly newerTransferFee: { readonly epoch: bigint; readonly maximumFee: bigint; readonly transferFeeBasisPoints: number };
}

const ownRequire = createRequire(import.meta.url);
export const splToken = createRequire(ownRequire.resolve('@pump-fun/pump-sdk'))('@solana/spl-token') as SplToken;
