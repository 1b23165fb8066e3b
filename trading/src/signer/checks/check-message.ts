import { assembleTransaction, decodeTransaction, type DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import {
  associatedTokenProgram,
  computeBudgetProgram,
  systemProgram,
  token2022Program,
  tokenProgram,
  wrappedSolMint,
} from '@sluice/shared/solana/well-known.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import { initializeTemporarySol } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import { mostTip } from '@sluice/shared/config/settings/tip-limits.ts';
import { tipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import {
  growthRentOf,
  isGrowth,
  isSameInstruction,
  isVenue,
  namedInstructions,
  openedSol,
  type OpenedSol,
  readTrade,
  rentOf,
  type NamedInstruction,
  type Trade,
} from './trade-instruction.ts';
import { refused, type Refusal, type Verdict } from './verdict.ts';

/** The longest message of a v0 transaction with one signature: 1232 bytes minus the signature and its count. */
const maxMessageBytes = 1232 - 65;
const v0Prefix = 128;
const noSignature = new Uint8Array(64);

/** Lamports for each signature. */
const signatureFee = 5_000n;
/** Maximum number of compute units of a transaction, including one that sets no limit. */
const maxComputeUnits = 1_400_000n;
const microLamports = 1_000_000n;

/**
 * Rent of a token account of the wallet that the message creates. It is counted even if the account may exist already. The account has
 * 165 bytes. Under Token-2022, 200 bytes are counted, because the mint's extensions need up to 195: 166, immutable owner (4), transfer
 * fees (12), transfer hook (5), non-transferable (4), pausable (4).
 */
const madeRent = (program: string): bigint => rentOf([program === token2022Program ? 200 : tokenAccountBytes]);

const tipReceivers = ['jito', 'sender'] as const;
/** 0.05 SOL. Without this limit, an attacker who makes this process sign could pay a whole wallet to a block producer as fees. */
const mostPriorityFee = 50_000_000n;

/** The wallet's token accounts for the two coins of a trade. No trade needs more. */
const mostAccountsMade = 2;
const mostAccountsClosed = 2;

const transferTag = 2;
const createTag = 0;
const createIdempotentTag = 1;
const closeAccountTag = 9;
const syncNativeTag = 17;

/**
 * Judges a message by its bytes alone. It allows exactly one trade of this wallet on a known venue. In addition it allows only compute
 * budget instructions, creating and closing the wallet's own token accounts, wrapping SOL into them or into an account that the message opens
 * and closes, growing the pool's account, and one tip for each receiver of tips. It refuses everything else. Only messages of version 0.1 close the
 * account of the coin; they are signed so that a signing process can be upgraded before its gateways. `poolAccount`: as in `SignRequest`.
 */
export function judge(message: Uint8Array, wallet: string, poolAccount: Uint8Array | null = null): Verdict {
  if (message.length > maxMessageBytes) return refused('malformed', 'The message is longer than any message with one signature.');
  if (message[0] !== v0Prefix) return refused('malformed', 'The message is not a version 0 message.');
  if (message[1] !== 1) return refused('signers', 'The message needs other signatures than that of the wallet.');
  const decoded = decodeTransaction(assembleTransaction(message, [noSignature]));
  if (decoded.kind === 'malformed') return refused('malformed', decoded.reason);
  const fault = frameFault(decoded, wallet);
  if (fault !== null) return fault;
  const instructions = namedInstructions(decoded);
  const trades = instructions.filter((one) => isVenue(one.programId) && !isGrowth(one));
  const [instruction] = trades;
  if (instruction === undefined || trades.length > 1)
    return refused('trade', `The message has ${trades.length} trades. It must have exactly one.`);
  const opened = openedSol(instructions, wallet);
  const trade = readTrade(instruction, { wallet, opened, poolAccount });
  if ('ok' in trade) return trade;
  const others = instructions.filter((one) => one !== instruction);
  return judgeAround(others, new Around(wallet, trade, opened));
}

/** Checks who signs and pays, and that the message itself names all accounts. */
function frameFault({ accountKeys, addressTableLookups }: DecodedTransaction, wallet: string): Refusal | null {
  if (addressTableLookups.length > 0)
    return refused('lookup_tables', 'The message uses address lookup tables. It must list all its accounts itself.');
  if (accountKeys[0] !== wallet) return refused('signers', 'Another wallet signs and pays.');
  return new Set(accountKeys).size < accountKeys.length ? refused('malformed', 'The message lists an account twice.') : null;
}

/** The trade of a message, and the sums of all its other instructions. */
class Around {
  readonly wallet: string;
  readonly trade: Trade;
  /** The accounts of wrapped SOL that the message opens. */
  readonly opened: OpenedSol;
  unitLimit: bigint | null = null;
  unitPrice: bigint | null = null;
  readonly tips = new Map<keyof typeof tipAccounts, bigint>();
  wrapped: bigint | null = null;
  made = 0;
  madeRent = 0n;
  closed = 0;
  /** The account of wrapped SOL that the message opens is open. */
  isSolOpen = false;
  grown = 0n;

  constructor(wallet: string, trade: Trade, opened: OpenedSol) {
    [this.wallet, this.trade, this.opened] = [wallet, trade, opened];
  }
}

function judgeAround(others: readonly NamedInstruction[], around: Around): Verdict {
  const { trade } = around;
  for (const instruction of others) {
    const fault = faultAround(instruction, around);
    if (fault !== null) return fault;
  }
  if (around.isSolOpen) return refused('token_account', 'The account of wrapped SOL that the message opens is not closed.');
  const limit = around.unitLimit ?? maxComputeUnits;
  const units = limit < maxComputeUnits ? limit : maxComputeUnits;
  const priorityFee = (units * (around.unitPrice ?? 0n) + microLamports - 1n) / microLamports;
  if (priorityFee > mostPriorityFee) return refused('compute_budget', 'The priority fee is higher than the signing process allows.');
  const tips = [...around.tips.values()].reduce((sum, lamports) => sum + lamports, 0n);
  const traded = trade.side === 'buy' && trade.quoteMint === wrappedSolMint ? trade.maxIn : 0n;
  const lamports = signatureFee + priorityFee + trade.createdRent + around.madeRent + around.grown + tips + traded;
  return { ok: true, lamports, mint: trade.baseMint, venue: trade.programId };
}

function faultAround(instruction: NamedInstruction, around: Around): Refusal | null {
  switch (instruction.programId) {
    case computeBudgetProgram:
      return computeBudgetFault(instruction, around);
    case systemProgram:
      return systemFault(instruction, around);
    case associatedTokenProgram:
      return newAccountFault(instruction, around);
    case tokenProgram:
    case token2022Program:
      return tokenFault(instruction, around);
    case around.trade.programId:
      return growthFault(instruction, around);
    default:
      return refused('program', `The program ${instruction.programId} is not allowed in a message with a trade.`);
  }
}

function growthFault(instruction: NamedInstruction, around: Around): Refusal | null {
  const rent = growthRentOf(instruction, around.trade, around.wallet);
  if (rent === null || around.grown > 0n)
    return refused('trade', "An instruction grows an account that is not the trade's pool, or grows the pool twice.");
  around.grown = rent;
  return null;
}

function computeBudgetFault({ accounts, data }: NamedInstruction, around: Around): Refusal | null {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  if (accounts.length === 0 && data[0] === 2 && data.length === 5 && around.unitLimit === null) {
    around.unitLimit = BigInt(view.getUint32(1, true));
    return null;
  }
  if (accounts.length === 0 && data[0] === 3 && data.length === 9 && around.unitPrice === null) {
    around.unitPrice = view.getBigUint64(1, true);
    return null;
  }
  return refused(
    'compute_budget',
    'A compute budget instruction does not set the unit limit or the unit price, or sets one of them twice.',
  );
}

function systemFault(instruction: NamedInstruction, around: Around): Refusal | null {
  const { trade } = around;
  const opened = trade.opensSol ? around.opened.get(instruction) : undefined;
  if (opened === undefined || opened.address !== trade.quoteAccount) return transferFault(instruction, around);
  const rent = madeRent(tokenProgram);
  if (around.wrapped !== null || opened.lamports > rent + (trade.side === 'buy' ? trade.maxIn : 0n))
    return refused('transfer', 'SOL is wrapped twice, or more of it than the trade may cost.');
  around.wrapped = opened.lamports;
  around.madeRent += rent;
  around.isSolOpen = true;
  return null;
}

function transferFault({ accounts, data }: NamedInstruction, around: Around): Refusal | null {
  const { trade, wallet } = around;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const [from, to = ''] = accounts;
  if (data.length !== 12 || view.getUint32(0, true) !== transferTag || accounts.length !== 2 || from !== wallet) {
    return refused('transfer', 'An instruction of the system program is not a transfer from the wallet.');
  }
  const lamports = view.getBigUint64(4, true);
  const tipped = tipReceivers.find((receiver) => tipAccounts[receiver].has(to));
  if (tipped !== undefined && !around.tips.has(tipped)) {
    if (lamports > mostTip) return refused('transfer', 'The tip is higher than the signing process allows.');
    around.tips.set(tipped, lamports);
    return null;
  }
  const wraps = to === trade.quoteAccount && trade.quoteMint === wrappedSolMint && trade.side === 'buy' && around.wrapped === null;
  if (!wraps || lamports > trade.maxIn)
    return refused('transfer', 'SOL is sent to an account that does not belong to the trade, or more of it than the trade may cost.');
  around.wrapped = lamports;
  return null;
}

/** Checks that an account is the wallet's own token account for one of the two coins. Returns the mint and its program. */
function ownAccount(address: string | undefined, trade: Trade): { readonly mint: string; readonly program: string } | null {
  if (address === trade.baseAccount) return { mint: trade.baseMint, program: trade.baseProgram };
  if (address === trade.quoteAccount) return { mint: trade.quoteMint, program: trade.quoteProgram };
  return null;
}

function newAccountFault({ accounts, data }: NamedInstruction, around: Around): Refusal | null {
  const { trade, wallet } = around;
  const [payer, account, owner, mint, system, program] = accounts;
  const own = ownAccount(account, trade);
  const creates = data.length === 0 || (data.length === 1 && (data[0] === createTag || data[0] === createIdempotentTag));
  const right = payer === wallet && owner === wallet && mint === own?.mint && program === own?.program && system === systemProgram;
  if (own === null || !creates || !right || accounts.length !== 6) {
    return refused('token_account', "A new token account is not the wallet's own account for a coin of the trade.");
  }
  around.made++;
  around.madeRent += madeRent(own.program);
  return around.made > mostAccountsMade ? refused('token_account', 'More token accounts are created than a trade has.') : null;
}

function tokenFault(instruction: NamedInstruction, around: Around): Refusal | null {
  const { trade, wallet } = around;
  if (trade.opensSol && isSameInstruction(instruction, initializeTemporarySol(wallet, trade.quoteAccount))) return null;
  const { programId, accounts, data } = instruction;
  const [account, destination, owner] = accounts;
  const own = ownAccount(account, trade);
  if (own === null || own.program !== programId || data.length !== 1) {
    return refused('token_account', "An instruction uses a token account that is not the wallet's own account for a coin of the trade.");
  }
  if (data[0] === syncNativeTag && accounts.length === 1 && own.mint === wrappedSolMint) return null;
  const closes = data[0] === closeAccountTag && accounts.length === 3 && destination === wallet && owner === wallet;
  if (!closes)
    return refused(
      'token_account',
      'An instruction on a token account neither closes it to the wallet nor updates its balance of wrapped SOL.',
    );
  around.closed++;
  if (account === trade.quoteAccount) around.isSolOpen = false;
  return around.closed > mostAccountsClosed ? refused('token_account', 'More token accounts are closed than a trade has.') : null;
}
