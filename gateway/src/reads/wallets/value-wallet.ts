import { inSolAndUsd, quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { shownStart } from './paper-balance.ts';
import type { PaperBalance } from '../../store/sql/tables/orders/paper.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { maxHoldings, type Portfolio, type UnpricedReason } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import type { MarketHealth } from '../market-health.ts';
import { priceNow, type PriceNow } from '../tokens/render-token.ts';
import type { HeldToken, WalletRead } from './wallet-reader.ts';
import type { MintView } from '../tokens/mint-view.ts';
import type { TokenBook } from '../tokens/token-book.ts';

type Holding = Portfolio['holdings'][number];

/** What is known about a held token. `not_looked_up`: beyond the limit of one answer. `unknown`: it could not be read. */
export type LookedUp = { readonly token: MintView } | { readonly token: null; readonly reason: 'not_looked_up' | 'unknown' };

export interface WalletValues {
  readonly wallet: string;
  readonly read: WalletRead;
  /** Null: a wallet of the chain. */
  readonly paper: Pick<PaperBalance, 'startLamports' | 'startedAtMs'> | null;
  readonly lookUp: (mint: string) => LookedUp;
  readonly book: Pick<TokenBook, 'identityOf'>;
  readonly health: MarketHealth;
  readonly nowMs: number;
}

/** The answer of `/portfolio`. A pure function: the time and all data are arguments. */
export function valueWallet(values: WalletValues): Portfolio {
  const { wallet, read, paper, lookUp, health, nowMs } = values;
  const solUsd = health.solUsd();
  const solAmount = toUi(read.lamports, solDecimals);
  const solValueUsd = solUsd === null ? null : solAmount * solUsd.price;
  const all = read.held.map((held) => valueHolding(held, lookUp(held.mint), values)).toSorted(byValue);
  const listed = all.slice(0, maxHoldings);
  const valueSol = listed.reduce((sum, { valueSol: value }) => sum + (value ?? 0), solAmount);
  const usd = listed.reduce((sum, { valueUsd: value }) => sum + (value ?? 0), solValueUsd ?? 0);
  const priced = listed.filter(({ unpriced }) => unpriced === null).length;
  const shareOf = (value: number | null): number | null =>
    value === null || valueSol <= 0 ? null : Math.min(100, (value / valueSol) * 100);
  return {
    publicKey: wallet,
    asOfMs: nowMs,
    ...(health.simulated === true ? { simulated: true as const } : {}),
    ...(paper === null ? {} : { paper: resultOf(paper, valueSol) }),
    slot: read.slot,
    sol: {
      amount: read.lamports.toString(),
      decimals: solDecimals,
      uiAmount: solAmount,
      priceUsd: solUsd?.price ?? null,
      valueUsd: solValueUsd,
      sharePercent: shareOf(solAmount),
    },
    holdings: listed.map((holding) => ({ ...holding, sharePercent: shareOf(holding.valueSol) })),
    emptyAccounts: read.emptyAccounts,
    omittedHoldings: all.length - listed.length,
    solUsd,
    totals: { valueSol, valueUsd: solUsd === null ? null : usd, priced, unpriced: listed.length - priced },
  };
}

function resultOf(paper: NonNullable<WalletValues['paper']>, valueSol: number): NonNullable<Portfolio['paper']> {
  const start = shownStart(paper);
  const resultSol = valueSol - start.startUiAmount;
  return { ...start, resultSol, resultPct: start.startUiAmount > 0 ? (resultSol / start.startUiAmount) * 100 : null };
}

function valueHolding(held: HeldToken, found: LookedUp, { book, health, nowMs }: WalletValues): Holding {
  const identity = found.token === null ? null : book.identityOf(found.token);
  const mint = found.token?.facts.token ?? null;
  const decimals = mint?.decimals ?? null;
  const uiAmount = decimals === null ? null : toUi(held.amount, decimals);
  const nft = mint !== null && mint.decimals === 0 && mint.supply === 1n;
  const price = priceHolding(held.mint, found, nft, health, nowMs);
  const value = (of: number | null): number | null => (of === null || uiAmount === null ? null : of * uiAmount);
  return {
    mint: held.mint,
    tokenProgram: held.tokenProgram,
    name: identity?.name ?? null,
    symbol: identity?.symbol ?? null,
    accounts: held.accounts,
    amount: held.amount.toString(),
    frozenAmount: held.frozenAmount.toString(),
    decimals,
    uiAmount,
    nft,
    venue: found.token?.main?.venue ?? null,
    priceSol: price.sol,
    priceUsd: price.usd,
    valueSol: value(price.sol),
    valueUsd: value(price.usd),
    sharePercent: null,
    unpriced: price.reason,
  };
}

type HoldingPrice = Pick<PriceNow, 'sol' | 'usd'> & { readonly reason: UnpricedReason | null };

function priceHolding(mint: string, found: LookedUp, nft: boolean, health: MarketHealth, nowMs: number): HoldingPrice {
  const none = (reason: UnpricedReason): HoldingPrice => ({ sol: null, usd: null, reason });
  if (found.token === null) return none(found.reason);
  // The value of a quote coin needs no market, only the SOL/USD price.
  if (quoteCoins.has(mint)) return { ...inSolAndUsd(1, mint, health.rates()), reason: null };
  if (nft) return none('nft');
  const { sol, usd, reason } = priceNow(found.token, health, health.rates(), nowMs);
  return { sol, usd, reason: reason === null && sol === null && usd === null ? 'unknown' : reason };
}

function byValue(a: Holding, b: Holding): number {
  const valueOf = ({ valueSol, unpriced }: Holding): number => valueSol ?? (unpriced === null ? 0 : -1);
  return valueOf(b) - valueOf(a) || (a.mint < b.mint ? -1 : 1);
}
