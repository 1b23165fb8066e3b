import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { hasPrefix } from '@sluice/shared/solana/encoding/bytes.ts';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { readTemporarySol } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import type { DecodedTransaction, Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { CoinPositions, PoolPosition, TradeForm, TradedCoins, VenueSigning } from '@sluice/venues/seam/signing.ts';
import { refused, type Refusal } from './verdict.ts';

/** An instruction with its accounts by address. */
export interface NamedInstruction {
  readonly programId: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/** An account of a lookup table has an empty address, because the tables are unknown here. */
export function namedInstructions({ accountKeys, instructions }: DecodedTransaction): readonly NamedInstruction[] {
  const keyAt = (index: number): string => accountKeys[index] ?? '';
  return instructions.map(({ programIdIndex, accountIndexes, data }) => ({
    programId: keyAt(programIdIndex),
    accounts: accountIndexes.map(keyAt),
    data,
  }));
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

/** What the signer knows besides the instruction. */
export interface TradeContext {
  readonly wallet: string;
  /** What the transaction opens for wrapped SOL. */
  readonly opened: OpenedSol;
  /** Bytes of the pool's account, for a form that needs them to prove the coins of the pool; null if they are not known. */
  readonly poolAccount: Uint8Array | null;
}

/** Reads a venue's instruction. Refuses everything except a trade of this wallet, on a pool that its venue allows, with the wallet's own accounts. */
export function readTrade(
  instruction: NamedInstruction,
  context: TradeContext,
  signing = signingByProgram.get(instruction.programId),
): Trade | Refusal {
  const { programId, accounts, data } = instruction;
  const forms = signing?.forms.filter(({ discriminator }) => hasPrefix(data, discriminator)) ?? [];
  if (signing === undefined || forms.length === 0) return refused('trade', 'An instruction of the venue is neither a buy nor a sell.');
  const form = forms.find(({ accountCount: [fewest, most] }) => accounts.length >= fewest && accounts.length <= most);
  if (form === undefined) return refused('trade', 'The trade has a wrong number of accounts.');
  if (accounts[form.user] !== context.wallet) return refused('trade', 'The trade belongs to another wallet.');
  const limits = limitsOf(form, data);
  if ('ok' in limits) return limits;
  const coins = coinsOf(form, accounts, context);
  if ('ok' in coins) return coins;
  const side = sideOf(form, coins.input, coins.output);
  if (side === null) return refused('trade', 'The trade does not show which of its coins is the money.');
  const [base, quote] = side === 'buy' ? ([form.output, form.input] as const) : ([form.input, form.output] as const);
  const [baseMint, quoteMint] = side === 'buy' ? [coins.output, coins.input] : [coins.input, coins.output];
  // Selling wrapped SOL would spend SOL without counting it.
  if (baseMint === wrappedSolMint || baseMint === quoteMint) return refused('trade', 'The coin of the trade is its quote coin, or SOL.');
  if (!isTokenProgram(base, accounts) || !isTokenProgram(quote, accounts))
    return refused('trade', 'A coin of the trade belongs to an unknown token program.');
  const pool = accounts[form.pool.at]!;
  if (!isPoolOf(form, { base: baseMint, quote: quoteMint }, accounts, context))
    return refused('trade', 'The venue does not allow this pool for the coins of the trade.');
  const [baseProgram, quoteProgram] = [programOf(base, baseMint, accounts, context), programOf(quote, quoteMint, accounts, context)];
  if (baseProgram === null || quoteProgram === null) {
    return refused('token_account', "The trade uses a token account that is not the wallet's own.");
  }
  const [baseAccount, quoteAccount] = [accounts[base.account]!, accounts[quote.account]!];
  return {
    programId,
    side,
    pool,
    baseMint,
    quoteMint,
    baseProgram,
    quoteProgram,
    baseAccount,
    quoteAccount,
    opensSol: quoteMint === wrappedSolMint && isOpened(quoteAccount, context),
    maxIn: limits.maxIn,
    createdRent: rentOf(signing.createdBytes),
  };
}

/** The trade of a transaction by its fee payer; null if it does not contain exactly one. `accountAt`: bytes of a pool's account; null if unknown. */
export function onlyTradeOf(transaction: DecodedTransaction, accountAt: (address: string) => Uint8Array | null): Trade | null {
  const [wallet = ''] = transaction.accountKeys;
  const instructions = namedInstructions(transaction);
  const opened = openedSol(instructions, wallet);
  const read = instructions.flatMap((one) => {
    const signing = signingByProgram.get(one.programId);
    if (signing === undefined) return [];
    const at = signing.forms.find(({ discriminator }) => hasPrefix(one.data, discriminator))?.pool.at ?? 0;
    return [readTrade(one, { wallet, opened, poolAccount: accountAt(one.accounts[at] ?? '') }, signing)];
  });
  const [trade, another] = read.filter((one) => 'baseMint' in one);
  return trade === undefined || another !== undefined ? null : trade;
}

/** Reads the data of a trade. */
function limitsOf({ dataBytes, limits, zeros }: TradeForm, data: Uint8Array): { readonly maxIn: bigint } | Refusal {
  if (data.length < dataBytes[0] || data.length > dataBytes[1]) return refused('trade', 'The data of the trade has a wrong length.');
  if (zeros.some(([from, end]) => data.subarray(from, end).some((byte) => byte !== 0)))
    return refused('trade', 'The trade sets a field that must be zero.');
  const mode = limits.mode === null ? null : data[limits.mode.at]!;
  const isExactOut = mode !== null && mode === limits.mode!.exactOut;
  if (mode !== null && !isExactOut && !limits.mode!.exactIn.includes(mode))
    return refused('trade', 'The trade does not show which of its amounts is exact.');
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const [first, second] = [view.getBigUint64(limits.maxInAt, true), view.getBigUint64(limits.minOutAt, true)];
  if (first === 0n || second === 0n) return refused('bounds', 'The trade has no maximum to pay or no minimum to receive.');
  return { maxIn: isExactOut ? second : first };
}

/** The coins that the user gives and receives. If the instruction does not show which is which, the user's accounts do. */
function coinsOf(
  { input, mints, pool }: TradeForm,
  accounts: readonly string[],
  context: TradeContext,
): { readonly input: string; readonly output: string } | Refusal {
  if (mints !== null && 'input' in mints) return { input: accounts[mints.input]!, output: accounts[mints.output]! };
  const coins = mints === null ? accountCoins(pool, context) : mints.either.map((at) => accounts[at]!);
  const [one, other] = coins ?? [];
  if (one === undefined || other === undefined) return refused('trade', 'The coins of the trade are not known.');
  return programOf(input, one, accounts, context) === null ? { input: other, output: one } : { input: one, output: other };
}

/** The coins that the pool's account names; null if the account is not known, or is not needed. */
function accountCoins(pool: PoolPosition, { poolAccount }: TradeContext): readonly [string, string] | null {
  return poolAccount === null || !('coinsIn' in pool) ? null : pool.coinsIn(poolAccount);
}

function isTokenProgram({ program }: CoinPositions, accounts: readonly string[]): boolean {
  return program === null || tokenPrograms.has(accounts[program]!);
}

function isPoolOf({ pool }: TradeForm, coins: TradedCoins, accounts: readonly string[], context: TradeContext): boolean {
  if ('addressOf' in pool) return accounts[pool.at] === pool.addressOf(coins, accounts);
  const named = accountCoins(pool, context);
  return named !== null && named.includes(coins.base) && named.includes(coins.quote);
}

/** The token program under which an account of the trade is the wallet's own for this coin; null if the account is not. */
function programOf({ account, program }: CoinPositions, mint: string, accounts: readonly string[], context: TradeContext): string | null {
  const [address, named] = [accounts[account]!, program === null ? null : accounts[program]!];
  if (mint === wrappedSolMint && isOpened(address, context)) return named === null || named === tokenProgram ? tokenProgram : null;
  const programs = named === null ? [...tokenPrograms] : [named];
  return programs.find((one) => tokenAddress(context.wallet, mint, one) === address) ?? null;
}

function isOpened(account: string, { opened }: TradeContext): boolean {
  return opened.size > 0 && [...opened.values()].some(({ address }) => address === account);
}
