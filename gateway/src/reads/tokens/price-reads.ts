import type { ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import { depthShare } from '@sluice/shared/market/pools/depth-share.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { inSol, inSolAndUsd, valuedCoins, type Rates } from '@sluice/shared/wire/values/money.ts';
import { isCurveVenue } from '@sluice/shared/wire/venues.ts';
import type { MarketHealth } from '../market-health.ts';
import type { MintView } from './mint-view.ts';
import type { PoolState } from './pool-state.ts';
import type { TokenBook } from './token-book.ts';

/** What the book of tokens shows of the price of a mint. */
export type PriceOfBook = NonNullable<ReturnType<typeof priceOf>>;

export interface PriceReadsParts {
  readonly book: Pick<TokenBook, 'find'>;
  readonly health: Pick<MarketHealth, 'rates' | 'fault'>;
  readonly slots: Pick<ConfirmedSlots, 'fateOfSlot'>;
}

/** Reads the prices of mints from the book of tokens. A mint is missing while the chain or the log cannot be read. */
export function createPriceReads({ book, health, slots }: PriceReadsParts) {
  return async (mints: readonly string[]): Promise<ReadonlyMap<string, PriceOfBook>> => {
    const found = new Map<string, PriceOfBook>();
    if (health.fault() !== null) return found;
    await Promise.all(
      mints.map(async (mint) => {
        const outcome = await book.find(mint);
        if (outcome.ok) found.set(mint, priceOf(outcome.token, health.rates(), slots));
      }),
    );
    return found;
  };
}

function priceOf(view: MintView, rates: Rates, slots: PriceReadsParts['slots']) {
  const { supply, decimals } = view.facts.token;
  return {
    tick: view.main === null ? null : tickOf(view.mint, view.main, rates, slots),
    supply: supply === 0n ? null : toUi(supply, decimals),
    goal: view.facts.curve?.account.goal ?? null,
  };
}

function tickOf(mint: string, main: PoolState, rates: Rates, slots: PriceReadsParts['slots']) {
  const { priceQuote, quoteMint, reserves, slot, commitment, atMs } = main;
  if (priceQuote === null) return null;
  const unit = valuedCoins.get(quoteMint)?.unit;
  if (unit === undefined) return null;
  // In the unit of the quote coin, so that the price of SOL does not move it.
  const price = inSolAndUsd(priceQuote, quoteMint, rates)[unit];
  if (price === null) return null;
  return {
    kind: 'price',
    mint,
    id: '',
    slot,
    isSettled: commitment !== 'processed' || slots.fateOfSlot(slot) === 'pass',
    price,
    unit,
    heldSol: heldSol(main, rates),
    curve:
      isCurveVenue(main.venue) && reserves !== null ? { realBase: Number(reserves.realBase), realQuote: Number(reserves.realQuote) } : null,
    receivedUs: atMs * 1_000,
    publishedUs: atMs * 1_000,
  } as const;
}

/** Quote coins that the pool can pay out around its price. */
function heldSol({ quoteMint, quoteDecimals, reserves, depth }: PoolState, rates: Rates): number | null {
  if (quoteDecimals === null) return null;
  if (reserves === null && depth === null) return null;
  const raw = reserves === null ? Number(depth) / depthShare : Math.min(Number(reserves.virtualQuote), Number(reserves.realQuote));
  return inSol(raw / 10 ** quoteDecimals, quoteMint, rates);
}
