import { associatedTokenAddress } from '@sluice/shared/solana/pda.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds } from '@sluice/shared/venues/quoting.ts';
import { associatedAccountBytes, tokenAccountBytes } from '@sluice/shared/venues/trading.ts';
import type { TokenAccount } from '@sluice/shared/solana/token-account.ts';
import type { MarketRead } from '../quote/markets.ts';
import { quoteOn, wrongFields, type QuotedOrder, type QuoteRefusal } from '../quote/quoted.ts';
import type { BuiltMessage, MessageBuilder } from './build/message-builder.ts';
import { lamportsOfSignature, pricePerUnit, priorityFeeOf, type TradeRequest } from './request.ts';
import type { FailureTerms } from './send/failure.ts';
import type { Blockhash } from './state/blockhashes.ts';
import type { HotState } from './state/hot-state.ts';
import type { WalletRead } from './state/hot-wallets.ts';

/** A trade that only has to be signed: what was quoted, and the message that does it. */
export interface PreparedTrade {
  readonly quoted: QuotedOrder;
  readonly bounds: { readonly minOut: bigint; readonly maxIn: bigint };
  readonly built: BuiltMessage;
  readonly blockhash: Blockhash;
  readonly priorityFeeLamports: bigint;
  /** Slot of the state that it was quoted on. */
  readonly slot: number;
  /** Most lamports that it takes from the wallet, rent included. */
  readonly lamportsNeeded: bigint;
  /** What a failure is told with. */
  readonly terms: FailureTerms;
  readonly quoteMs: number;
  readonly buildMs: number;
}

export interface PrepareParts {
  readonly state: Pick<HotState, 'market' | 'wallet' | 'blockhash' | 'feeLevel' | 'rent'>;
  readonly builder: MessageBuilder;
}

/** A market and a wallet of about one moment. */
interface Standing {
  readonly market: MarketRead;
  readonly wallet: WalletRead;
  readonly baseAccount: TokenAccount | null;
}

/** Quotes and builds on the state at hand; reads from the chain only what is not. Rejects with an `RpcError`. */
export async function prepareTrade(request: TradeRequest, parts: PrepareParts): Promise<PreparedTrade | QuoteRefusal> {
  const { state, builder } = parts;
  const startedMs = performance.now();
  const blockhash = state.blockhash();
  if (blockhash === null) return unavailable('No blockhash is known that is young enough.');
  const standing = await readStanding(request, state);
  if ('error' in standing) return standing;
  const { market, wallet, baseAccount } = standing;
  const quoted = quoteOn(request.order, market, baseAccount?.amount ?? 0n);
  if ('error' in quoted) return quoted;
  const bounds = boundsOf(request, quoted);
  if ('error' in bounds) return bounds;
  const quotedMs = performance.now();
  const { pool, trade, quote } = quoted;
  const { publicKey, priorityFeeLamports: fixed } = request;
  const built = builder.build({
    pool,
    order: {
      user: publicKey,
      trade,
      quote,
      ...bounds,
      baseTokenProgram: quoted.market.tokenProgram,
      quoteTokenProgram: quoted.quoteTokenProgram,
    },
    microLamportsPerUnit: ({ computeUnitLimit, writableAccounts }) =>
      fixed === null ? state.feeLevel(writableAccounts) : pricePerUnit(fixed, computeUnitLimit),
    blockhash: blockhash.blockhash,
    baseAccountExists: baseAccount !== null,
    closeBaseAccount: request.sellAll,
    computeUnitLimit: null,
    tip: null,
  });
  const priorityFeeLamports = priorityFeeOf(built.microLamportsPerUnit, built.computeUnitLimit);
  const lamportsNeeded = lamportsOf(
    quoted,
    bounds.maxIn,
    priorityFeeLamports,
    rentOf(built, baseAccount === null ? quoted.market.tokenProgram : null, state),
  );
  return {
    quoted,
    bounds,
    built,
    blockhash,
    priorityFeeLamports,
    slot: market.slot,
    lamportsNeeded,
    terms: termsOf(quoted, bounds, standing, lamportsNeeded),
    quoteMs: quotedMs - startedMs,
    buildMs: performance.now() - quotedMs,
  };

  function termsOf(
    { trade: { exact, amount } }: QuotedOrder,
    { minOut, maxIn }: { readonly minOut: bigint; readonly maxIn: bigint },
    at: Standing,
    need: bigint,
  ): FailureTerms {
    const isSell = exact === 'baseIn';
    const byCost = exact === 'baseOut';
    return {
      side: isSell ? 'sell' : 'buy',
      quoted: isSell || byCost ? quote.traderQuote : quote.baseAmount,
      bound: byCost ? maxIn : minOut,
      lamports: { have: wallet.lamports, need },
      tokens: isSell ? { have: at.baseAccount?.amount ?? 0n, need: amount } : { have: null, need: null },
    };
  }
}

/** The token account follows from the coin's token program, which the market tells. */
async function readStanding({ order: { mint }, publicKey }: TradeRequest, state: PrepareParts['state']): Promise<Standing | QuoteRefusal> {
  const read = state.market(mint);
  const market = read instanceof Promise ? await read : read;
  const { result } = market;
  if (result.kind !== 'market') return quotedRefusal(result.kind);
  const address = associatedTokenAddress(publicKey, mint, result.market.tokenProgram);
  const told = state.wallet(publicKey, [address]);
  const wallet = told instanceof Promise ? await told : told;
  return { market, wallet, baseAccount: wallet.tokenAccounts.get(address) ?? null };
}

function quotedRefusal(kind: 'no_mint' | 'malformed'): QuoteRefusal {
  return kind === 'no_mint' ? { error: 'INVALID_MINT' } : unavailable('The state of the pool cannot be read.');
}

/** The tighter of what the slippage gives and what was named. */
function boundsOf(request: TradeRequest, { trade, quote }: QuotedOrder): { minOut: bigint; maxIn: bigint } | QuoteRefusal {
  const { minOut, maxIn } = slippageBounds(trade, quote, request.order.slippageBps);
  if (request.maxIn !== null && request.maxIn < trade.amount) return wrongFields({ maxIn: 'is less than the amount to give' });
  const out = trade.exact === 'baseIn' ? quote.traderQuote : quote.baseAmount;
  if (request.minOut !== null && request.minOut > out) {
    return { error: 'SLIPPAGE_EXCEEDED', details: { quoted: String(request.minOut), actual: String(out) } };
  }
  return { minOut: request.minOut !== null && request.minOut > minOut ? request.minOut : minOut, maxIn };
}

/** Rent of what the transaction makes at most; accounts of the program may be there already. */
function rentOf(
  { trade: { programAccounts, quoteAccount, quoteMint } }: BuiltMessage,
  makesAccountOf: string | null,
  state: PrepareParts['state'],
): bigint {
  const wrapped = quoteAccount !== null && quoteMint === wrappedSolMint ? [tokenAccountBytes] : [];
  const made = makesAccountOf === null ? [] : [associatedAccountBytes(makesAccountOf)];
  const rent = (all: readonly number[]): bigint => all.reduce((sum, bytes) => sum + (state.rent(bytes) ?? 0n), 0n);
  const paid = programAccounts.flatMap(({ grownFrom }) => (grownFrom === null ? [] : [grownFrom]));
  return rent([...wrapped, ...made, ...programAccounts.map(({ bytes }) => bytes)]) - rent(paid);
}

function lamportsOf({ pool: { quoteMint }, trade: { exact } }: QuotedOrder, maxIn: bigint, priority: bigint, rent: bigint): bigint {
  const spent = exact !== 'baseIn' && quoteMint === wrappedSolMint ? maxIn : 0n;
  return spent + lamportsOfSignature + priority + rent;
}

function unavailable(message: string): QuoteRefusal {
  return { error: 'UPSTREAM_UNAVAILABLE', message };
}
