import { PublicKey, SystemProgram } from '@solana/web3.js';
import { compileMessage, type AccountMeta, type Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { associatedTokenAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import {
  associatedTokenProgram,
  computeBudgetProgram,
  systemProgram,
  token2022Program,
  tokenProgram,
  wrappedSolMint,
} from '@sluice/shared/solana/well-known.ts';
import { canonicalPoolAddress, instructionDiscriminators as amm, programId as ammProgram } from '@sluice/venues/pump/amm/program.ts';
import { bondingCurveAddress, instructionDiscriminators as pump, programId as pumpProgram } from '@sluice/venues/pump/curve/program.ts';

/** Trades in the form that a gateway sends to be signed, with parts that a test can replace. */
export const blockhash = generateKeypair(new Uint8Array(32).fill(200)).publicKey;

/** An address that has no part in a trade. */
export function stranger(n = 0): string {
  return generateKeypair(new Uint8Array(32).fill(100 + n)).publicKey;
}

export function u64s(...values: readonly bigint[]): Uint8Array {
  const data = Buffer.alloc(values.length * 8);
  for (const [index, value] of values.entries()) data.writeBigUInt64LE(value, index * 8);
  return data;
}

export function instruction(programId: string, accounts: readonly string[], data: Uint8Array, signer?: string): Instruction {
  const metas = accounts.map((address): AccountMeta => ({ address, signer: address === signer, writable: true }));
  return { programId, accounts: metas, data: Uint8Array.from(data) };
}

export const computeLimit = (units: number): Instruction =>
  instruction(computeBudgetProgram, [], Uint8Array.from([2, units & 255, (units >> 8) & 255, (units >> 16) & 255, 0]));
export const computePrice = (microLamports: bigint): Instruction =>
  instruction(computeBudgetProgram, [], Buffer.concat([Uint8Array.of(3), u64s(microLamports)]));
export const transfer = (from: string, to: string, lamports: bigint): Instruction =>
  instruction(systemProgram, [from, to], Buffer.concat([Uint8Array.of(2, 0, 0, 0), u64s(lamports)]), from);
export const makeAccount = (payer: string, owner: string, mint: string, program: string): Instruction =>
  instruction(
    associatedTokenProgram,
    [payer, associatedTokenAddress(owner, mint, program), owner, mint, systemProgram, program],
    Uint8Array.of(1),
    payer,
  );
export const syncNative = (account: string): Instruction => instruction(tokenProgram, [account], Uint8Array.of(17));
export const closeAccount = (account: string, destination: string, owner: string, program: string): Instruction =>
  instruction(program, [account, destination, owner], Uint8Array.of(9), owner);

export interface TradeParts {
  readonly wallet: string;
  readonly mint: string;
  readonly quoteMint?: string;
  readonly baseProgram?: string;
  /** Default: the associated account. */
  readonly quoteAccount?: string;
  /** Input and output, in the order of the instruction. */
  readonly amounts?: readonly [bigint, bigint];
}

function placed(length: number, at: Readonly<Record<number, string>>): readonly string[] {
  return Array.from({ length }, (_, index) => at[index] ?? stranger(index));
}

export function pumpTrade(kind: 'buyV2' | 'buyExactQuoteInV2' | 'sellV2', parts: TradeParts): Instruction {
  const { wallet, mint, quoteMint = wrappedSolMint, baseProgram = token2022Program, amounts = [1_000n, 2_000n] } = parts;
  const accounts = placed(kind === 'sellV2' ? 26 : 27, {
    1: mint,
    2: quoteMint,
    3: baseProgram,
    4: tokenProgram,
    10: bondingCurveAddress(mint),
    13: wallet,
    14: associatedTokenAddress(wallet, mint, baseProgram),
    15: associatedTokenAddress(wallet, quoteMint, tokenProgram),
  });
  return instruction(pumpProgram, accounts, Buffer.concat([pump[kind], u64s(...amounts)]), wallet);
}

export function ammTrade(kind: 'buy' | 'buyExactQuoteIn' | 'sell', parts: TradeParts): Instruction {
  const { wallet, mint, quoteMint = wrappedSolMint, baseProgram = token2022Program, amounts = [1_000n, 2_000n] } = parts;
  const { quoteAccount = associatedTokenAddress(wallet, quoteMint, tokenProgram) } = parts;
  const accounts = placed(kind === 'sell' ? 24 : 26, {
    0: canonicalPoolAddress(mint, quoteMint),
    1: wallet,
    3: mint,
    4: quoteMint,
    5: associatedTokenAddress(wallet, mint, baseProgram),
    6: quoteAccount,
    11: baseProgram,
    12: tokenProgram,
  });
  const tail = kind === 'sell' ? [] : [Uint8Array.of(1)];
  return instruction(ammProgram, accounts, Buffer.concat([amm[kind], u64s(...amounts), ...tail]), wallet);
}

export function messageOf(wallet: string, instructions: readonly Instruction[], version: 0 | 'legacy' = 0): Uint8Array {
  return compileMessage({ version, feePayer: wallet, recentBlockhash: blockhash, instructions });
}

/** A buy on a curve with everything that may surround it: budget, account, tip. */
export function buyMessage(
  wallet: string,
  mint: string,
  lamports: bigint,
  tip?: { readonly to: string; readonly lamports: bigint },
): Uint8Array {
  return messageOf(wallet, [
    computeLimit(200_000),
    computePrice(1_000n),
    makeAccount(wallet, wallet, mint, token2022Program),
    pumpTrade('buyExactQuoteInV2', { wallet, mint, amounts: [lamports, 1n] }),
    ...(tip === undefined ? [] : [transfer(wallet, tip.to, tip.lamports)]),
  ]);
}

/** A seeded account of the wallet, by @solana/web3.js. */
const seedOfSol = 'abcd';
export async function temporarySolOf(wallet: string): Promise<string> {
  return (await PublicKey.createWithSeed(new PublicKey(wallet), seedOfSol, new PublicKey(tokenProgram))).toBase58();
}

export interface SeededAccount {
  readonly from: string;
  readonly address: string;
  readonly base?: string;
  readonly lamports: bigint;
  readonly space?: number;
  readonly owner?: string;
}

export function createWithSeed({ from, address, base = from, lamports, space = 165, owner = tokenProgram }: SeededAccount): Instruction {
  const { keys, data } = SystemProgram.createAccountWithSeed({
    fromPubkey: new PublicKey(from),
    newAccountPubkey: new PublicKey(address),
    basePubkey: new PublicKey(base),
    seed: seedOfSol,
    lamports: Number(lamports),
    space,
    programId: new PublicKey(owner),
  });
  const accounts = keys.map(({ pubkey, isSigner: signer, isWritable: writable }) => ({ address: pubkey.toBase58(), signer, writable }));
  return { programId: systemProgram, accounts, data: Uint8Array.from(data) };
}

export const initializeFor = (account: string, owner: string, mint = wrappedSolMint, program = tokenProgram): Instruction =>
  instruction(program, [account, mint], Buffer.concat([Uint8Array.of(18), new PublicKey(owner).toBytes()]));

/** A buy on PumpSwap that wraps the SOL to spend in an account that it opens and closes. Not more, because the accounts of the venue fill it. */
export function openingBuyMessage(wallet: string, mint: string, lamports: bigint, address: string): Uint8Array {
  return messageOf(wallet, [
    createWithSeed({ from: wallet, address, lamports: lamports + 1_488_440n }),
    initializeFor(address, wallet),
    ammTrade('buyExactQuoteIn', { wallet, mint, quoteAccount: address, amounts: [lamports, 1n] }),
    closeAccount(address, wallet, wallet, tokenProgram),
  ]);
}

/** A buy on PumpSwap that wraps the SOL to spend in the associated account. */
export function wrappingBuyMessage(wallet: string, mint: string, lamports: bigint): Uint8Array {
  const wrapped = associatedTokenAddress(wallet, wrappedSolMint, tokenProgram);
  return messageOf(wallet, [
    computeLimit(200_000),
    computePrice(1_000n),
    makeAccount(wallet, wallet, mint, token2022Program),
    makeAccount(wallet, wallet, wrappedSolMint, tokenProgram),
    transfer(wallet, wrapped, lamports),
    syncNative(wrapped),
    ammTrade('buyExactQuoteIn', { wallet, mint, amounts: [lamports, 1n] }),
    closeAccount(wrapped, wallet, wallet, tokenProgram),
  ]);
}

/** A sell of everything on a curve, which closes the empty account. */
export function sellMessage(wallet: string, mint: string): Uint8Array {
  return messageOf(wallet, [
    computeLimit(200_000),
    computePrice(1_000n),
    pumpTrade('sellV2', { wallet, mint, amounts: [1_000_000n, 1n] }),
    closeAccount(associatedTokenAddress(wallet, mint, token2022Program), wallet, wallet, token2022Program),
  ]);
}
