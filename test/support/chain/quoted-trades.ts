import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import type { TransactionRecord } from '../../simnet/chain.ts';
import { createV2, migrateV2, poolTrade, tradeV2, type NewCoin } from '../../simnet/market/instructions.ts';
import { wallet } from '../../simnet/runtime/wallets.ts';
import { canonicalPoolOf, curveOf } from '../../simnet/programs/addresses.ts';
import { associatedTokenInstruction } from '../../simnet/programs/token/associated-token.ts';
import { unitLimitInstruction } from '../../simnet/programs/compute-budget.ts';
import { readPool } from '../../simnet/programs/pump-amm/state.ts';
import { readCurve } from '../../simnet/programs/pump/state.ts';
import { buybackFeeRecipients, feeRecipients, reservedFeeRecipients } from '../../simnet/programs/recipients.ts';
import { transferInstruction } from '../../simnet/programs/system.ts';
import { syncNativeInstruction } from '../../simnet/programs/token/token-instructions.ts';
import { tokenAmount } from '../../simnet/layout/token-state.ts';
import { deriveTokenAccount } from '../../simnet/layout/derive.ts';
import { createChain, type SimChain } from '../../simnet/sim-chain.ts';
import { accountBytes } from '../../simnet/support/account-bytes.ts';
import { land } from '../../simnet/support/test-chain.ts';
import { decodeWith, type PlainEvent, type PlainTrade } from '../events/decoded.ts';

/** A chain without a market, and trades of one wallet on it, to compare quotes with results. */
const lamportsPerSol = 1_000_000_000n;
const startMs = 1_790_000_000_000;
const slotMs = 200;
export const maker = wallet('quotes', 'maker');
export const trader = wallet('quotes', 'trader');
/** The amount of SOL that is wrapped for trades on pools. */
const wrappedLamports = 100_000n * lamportsPerSol;

export interface QuotedCoin {
  readonly mint: string;
  readonly tokenProgram: string;
  readonly quoteMint: string;
  readonly mayhem: boolean;
}

export function tradedChain(): SimChain {
  let now = startMs;
  const funded = [maker, trader].map(({ publicKey: address }) => ({ address, lamports: 400_000n * lamportsPerSol, usdc: 10n ** 13n }));
  return createChain({ seed: 'quotes', market: false, funded, nowMs: () => (now += slotMs) });
}

function succeeded(record: TransactionRecord): TransactionRecord {
  if (record.err !== null) throw new Error(record.logs.join('\n'));
  return record;
}

let coins = 0;

/** A coin of the maker's, and everything that the trader needs to trade it. */
export function launchCoin(chain: SimChain, parts: Partial<NewCoin> = {}): QuotedCoin {
  const mint = wallet('quotes', `mint ${coins++}`);
  const coin: NewCoin = {
    mint: mint.publicKey,
    user: maker.publicKey,
    creator: maker.publicKey,
    text: { name: 'Simulated test coin', symbol: 'SIMTEST', uri: 'https://simnet.invalid/test' },
    mayhem: false,
    cashback: false,
    holderReward: false,
    creatorFeeBps: 0n,
    quoteMint: null,
    ...parts,
  };
  succeeded(land(chain, [createV2(coin)], [maker, mint]));
  return setUp(chain, {
    mint: coin.mint,
    tokenProgram: token2022Program,
    quoteMint: coin.quoteMint ?? wrappedSolMint,
    mayhem: coin.mayhem,
  });
}

/** Sends a first trade, which creates accounts, so that all later trades cost the same. */
export function setUp(chain: SimChain, coin: QuotedCoin): QuotedCoin {
  const { publicKey } = trader;
  succeeded(land(chain, [associatedTokenInstruction(publicKey, publicKey, coin.mint, coin.tokenProgram, true)], [trader]));
  succeeded(tradeOnChain(chain, coin, 'pump', { exact: 'baseOut', amount: 1_000_000n }, 10n ** 9n));
  return coin;
}

/** Migrates a completed coin, and wraps SOL for trades in its pool. */
export function moveToPool(chain: SimChain, coin: QuotedCoin, boost: boolean): void {
  const { mint, tokenProgram: base, quoteMint } = coin;
  succeeded(land(chain, [unitLimitInstruction(800_000), migrateV2(mint, base, quoteMint, maker.publicKey, boost)], [maker]));
  if (quoteMint === wrappedSolMint) wrapFor(chain, trader.publicKey, wrappedLamports);
}

/** The associated account of wrapped SOL of a wallet, with at least this balance, paid by the trader. */
export function wrapFor(chain: SimChain, owner: string, atLeast: bigint): string {
  const { publicKey } = trader;
  const account = deriveTokenAccount(owner, wrappedSolMint, tokenProgram).address;
  const wrap = [
    associatedTokenInstruction(publicKey, owner, wrappedSolMint, tokenProgram, true),
    transferInstruction(publicKey, account, atLeast),
    syncNativeInstruction(tokenProgram, account),
  ];
  if (tokenAmount(chain.account(account)) < atLeast) succeeded(land(chain, wrap, [trader]));
  return account;
}

const kinds = { quoteIn: 'buyExactQuote', baseOut: 'buy', baseIn: 'sell' } as const;
let units = 400_000;

/** Sends a trade with the bound of its instruction: the least to receive, or, for `baseOut`, the most to pay. */
export function tradeOnChain(
  chain: SimChain,
  coin: QuotedCoin,
  venue: 'pump' | 'pump-amm',
  { exact, amount }: QuotedTrade,
  limit: bigint,
  user: Keypair = trader,
): TransactionRecord {
  const parts = {
    user: user.publicKey,
    feeRecipient: (coin.mayhem ? reservedFeeRecipients : feeRecipients)[3]!,
    buyback: buybackFeeRecipients[5]!,
    amount,
    limit,
  };
  return land(chain, [unitLimitInstruction(units++), instructionOf(chain, coin, venue, kinds[exact], parts)], [user]);
}

function instructionOf(
  chain: SimChain,
  { mint, tokenProgram: program, quoteMint }: QuotedCoin,
  venue: 'pump' | 'pump-amm',
  kind: (typeof kinds)[keyof typeof kinds],
  parts: Pick<Parameters<typeof poolTrade>[0], 'user' | 'feeRecipient' | 'buyback' | 'amount' | 'limit'>,
): Instruction {
  if (venue === 'pump')
    return tradeV2({ mint, tokenProgram: program, curve: readCurve(accountBytes(chain, curveOf(mint))), ...parts }, kind);
  const poolAddress = canonicalPoolOf(mint, quoteMint);
  return poolTrade({ pool: readPool(accountBytes(chain, poolAddress)), poolAddress, baseProgram: program, ...parts }, kind);
}

/** The venues' events of a transaction. */
export function eventsOf(record: TransactionRecord): readonly PlainEvent[] {
  const events: PlainEvent[] = [];
  readLogs(record.logs, (programId, _path, data) => {
    const decoded = decodeWith(programId, data);
    if (decoded?.kind === 'decoded') events.push(decoded.event);
  });
  return events;
}

export function tradeIn(record: TransactionRecord): PlainTrade {
  const trade = eventsOf(record).find((event) => event.type === 'trade');
  if (trade === undefined) throw new Error(record.logs.join('\n'));
  return trade;
}

export function tokensOf(chain: SimChain, { mint, tokenProgram: program }: QuotedCoin, owner = trader.publicKey): bigint {
  return tokenAmount(chain.account(deriveTokenAccount(owner, mint, program).address));
}
