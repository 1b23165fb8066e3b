import { quoteCoins } from '@sluice/shared/money.ts';
import { hasPrefix } from '@sluice/shared/solana/bytes.ts';
import { tokenAddress } from '@sluice/shared/solana/derived.ts';
import { readTemporarySol } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { TradeForm, VenueSigning } from '@sluice/venues/signing.ts';
import { refused, type Refusal } from './verdict.ts';

/** An instruction with its accounts by address. */
export interface NamedInstruction {
  readonly programId: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/** Maximum amount that a trade costs the wallet, and the wallet's accounts that it uses. */
export interface Trade {
  readonly programId: string;
  readonly side: 'buy' | 'sell';
  /** Address of the bonding curve or pool. */
  readonly pool: string;
  readonly baseMint: string;
  readonly quoteMint: string;
  readonly baseProgram: string;
  readonly quoteProgram: string;
  readonly baseAccount: string;
  readonly quoteAccount: string;
  /** It wraps SOL in an account that its transaction opens. */
  readonly opensSol: boolean;
  /** Raw amount: of the quote coin for a buy, of the base coin for a sell. */
  readonly maxIn: bigint;
  /** Maximum rent for accounts that the program creates, lamports. */
  readonly createdRent: bigint;
}

/** The highest rent so far, lamports a byte, and the bytes that each account is charged in addition to its data. */
const rentPerByte = 6_960n;
const accountOverhead = 128n;

const signingByProgram: ReadonlyMap<string, VenueSigning> = new Map(
  venues.flatMap(({ programId, signing }) => (signing === null ? [] : [[programId, signing] as const])),
);

const tokenPrograms: ReadonlySet<string> = new Set([tokenProgram, token2022Program]);

/** Rent of new accounts with data of these sizes, lamports, at the highest rent so far. */
export function rentOf(sizes: readonly number[]): bigint {
  return sizes.reduce((sum, bytes) => sum + (accountOverhead + BigInt(bytes)) * rentPerByte, 0n);
}

export function isVenue(programId: string): boolean {
  return signingByProgram.has(programId);
}

/** Rent if the instruction grows the account of this trade's pool at the wallet's cost; null if it is another instruction. */
export function growthRentOf({ programId, accounts, data }: NamedInstruction, trade: Trade, wallet: string): bigint | null {
  const growth = signingByProgram.get(programId)?.growth ?? null;
  if (growth === null || programId !== trade.programId || accounts.length !== growth.accountCount) return null;
  const grows = data.length === growth.data.length && hasPrefix(data, growth.data);
  const isOwn = accounts[growth.pool] === trade.pool && accounts[growth.user] === wallet;
  return grows && isOwn ? BigInt(growth.bytes) * rentPerByte : null;
}

/** Whether a venue's instruction grows an account. */
export function isGrowth({ programId, data }: NamedInstruction): boolean {
  const growth = signingByProgram.get(programId)?.growth ?? null;
  return growth !== null && hasPrefix(data, growth.data);
}

/** Whether both have the same program, accounts and data. */
export function isSameInstruction({ programId, accounts, data }: NamedInstruction, other: Instruction): boolean {
  return (
    programId === other.programId &&
    accounts.length === other.accounts.length &&
    other.accounts.every(({ address }, index) => accounts[index] === address) &&
    Buffer.compare(data, other.data) === 0
  );
}

/** The accounts of wrapped SOL that a transaction opens for the wallet, each with the lamports that it gets, by instruction. */
export type OpenedSol = ReadonlyMap<NamedInstruction, { readonly address: string; readonly lamports: bigint }>;

export function openedSol(instructions: readonly NamedInstruction[], wallet: string): OpenedSol {
  const all = new Map<NamedInstruction, { readonly address: string; readonly lamports: bigint }>();
  for (const instruction of instructions) {
    const opened = readTemporarySol(instruction, wallet);
    if (opened !== null) all.set(instruction, opened);
  }
  return all;
}

/** A buy spends money, a sale receives it. Null if the form trades in both directions and not exactly one of the coins is a quote coin. */
export function sideOf({ money }: Pick<TradeForm, 'money'>, inputMint: string, outputMint: string): 'buy' | 'sell' | null {
  if (money !== null) return money === 'input' ? 'buy' : 'sell';
  const spendsMoney = quoteCoins.has(inputMint);
  if (spendsMoney === quoteCoins.has(outputMint)) return null;
  return spendsMoney ? 'buy' : 'sell';
}

/**
 * Reads a venue's instruction. Refuses everything except a trade of this wallet, on a pool that its venue allows, with the wallet's own accounts.
 * `opened`: what the transaction opens for wrapped SOL.
 */
export function readTrade(instruction: NamedInstruction, wallet: string, opened: OpenedSol): Trade | Refusal {
  const { programId, accounts, data } = instruction;
  const signing = signingByProgram.get(programId);
  const form = signing?.forms.find(({ discriminator }) => hasPrefix(data, discriminator));
  if (signing === undefined || form === undefined) {
    return refused('trade', 'An instruction of the venue is neither a buy nor a sell.');
  }
  const [fewest, most] = form.accountCount;
  if (accounts.length < fewest || accounts.length > most) return refused('trade', 'The trade has a wrong number of accounts.');
  if (data.length < form.dataBytes[0] || data.length > form.dataBytes[1])
    return refused('trade', 'The data of the trade has a wrong length.');
  const at = (index: number): string => accounts[index] ?? '';
  const { positions } = form;
  if (at(positions.user) !== wallet) return refused('trade', 'The trade belongs to another wallet.');
  const side = sideOf(form, at(positions.input.mint), at(positions.output.mint));
  if (side === null) return refused('trade', 'The trade does not show which of its coins is the money.');
  const [base, quote] = side === 'buy' ? [positions.output, positions.input] : [positions.input, positions.output];
  const [baseMint, quoteMint, baseProgram, quoteProgram] = [at(base.mint), at(quote.mint), at(base.program), at(quote.program)];
  // Selling wrapped SOL would spend SOL without counting it.
  if (baseMint === wrappedSolMint || baseMint === quoteMint) return refused('trade', 'The coin of the trade is its quote coin, or SOL.');
  if (!tokenPrograms.has(baseProgram) || !tokenPrograms.has(quoteProgram))
    return refused('trade', 'A coin of the trade belongs to an unknown token program.');
  const pool = at(positions.pool);
  if (!signing.allowsPool(pool, baseMint, quoteMint))
    return refused('trade', 'The venue does not allow this pool for the coins of the trade.');
  const baseAccount = tokenAddress(wallet, baseMint, baseProgram);
  const opensSol =
    opened.size > 0 && quoteMint === wrappedSolMint && [...opened.values()].some(({ address }) => address === at(quote.account));
  const quoteAccount = opensSol ? at(quote.account) : tokenAddress(wallet, quoteMint, quoteProgram);
  if (at(base.account) !== baseAccount || at(quote.account) !== quoteAccount) {
    return refused('token_account', "The trade uses a token account that is not the wallet's own.");
  }
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const [maxIn, minOut] = [view.getBigUint64(form.maxInAt, true), view.getBigUint64(form.minOutAt, true)];
  if (maxIn === 0n || minOut === 0n) return refused('bounds', 'The trade has no maximum to pay or no minimum to receive.');
  const createdRent = rentOf(signing.createdBytes);
  return { programId, side, pool, baseMint, quoteMint, baseProgram, quoteProgram, baseAccount, quoteAccount, opensSol, maxIn, createdRent };
}
