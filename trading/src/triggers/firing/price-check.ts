import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { QuotedPool, QuoteMoment } from '@sluice/venues/seam/quoting.ts';
import { unixSeconds } from '../../quote/best-quote.ts';
import type { MarketRead, Markets } from '../../quote/markets.ts';
import type { Met, MetPrice } from '../life/watch.ts';

/** The quote of a pool and the event of its program may round the price differently. */
const tolerance = 0.005;
/** The progress of a curve does not follow from its price alone: the price may differ this much from that of the trade. */
const progressTolerance = 0.02;
/** Whole tokens of a sale whose quote shows the price: with few of them, nothing may be left after fees. */
const probes = [1n, 1_000n, 1_000_000n] as const;
/** Concurrent checks. A further one fails, and is made again when the price has held for longer. */
const maxRunning = 256;

/**
 * A trade is published as soon as one node reports it, so one lying node can invent the price that meets a condition. Before an order is placed, a pool of
 * the token must show that price in state on which nodes agree.
 */
export class PriceCheck {
  readonly #markets: Pick<Markets, 'read' | 'readAgreed'>;
  readonly #clock: Pick<Clock, 'wallMs'>;
  /** By mint and slot: what nodes agree on, read once for all conditions that a tick meets. Null: they do not agree. */
  readonly #running = new Map<string, Promise<MarketRead | null>>();

  constructor(markets: Pick<Markets, 'read' | 'readAgreed'>, clock: Pick<Clock, 'wallMs'>) {
    [this.#markets, this.#clock] = [markets, clock];
  }

  /** True at once if the state in memory shows it. False also if the nodes do not agree. */
  isTrue({ mint, slot, price }: Pick<Met, 'mint' | 'slot' | 'price'>): boolean | Promise<boolean> {
    if (price === null) return true;
    const leastSlot = slot ?? 0;
    const known = this.#markets.read(mint);
    if (!(known instanceof Promise)) {
      if (isAgreed(known, leastSlot) && this.#shows(known, price)) return true;
    } else known.catch(() => undefined);
    const key = `${mint} ${leastSlot}`;
    const running = this.#running.get(key) ?? this.#read(key, mint, leastSlot);
    return running.then((read) => read !== null && this.#shows(read, price));
  }

  #read(key: string, mint: string, slot: number): Promise<MarketRead | null> {
    if (this.#running.size >= maxRunning) return Promise.resolve(null);
    const reading = this.#markets
      .readAgreed(mint, slot)
      .then((read) => (isAgreed(read, slot) ? read : null))
      // No node answered.
      .catch(() => null)
      .finally(() => this.#running.delete(key));
    this.#running.set(key, reading);
    return reading;
  }

  #shows({ result, slot }: MarketRead, { op, priceSol: tickSol, boundSol }: MetPrice): boolean {
    if (result.kind !== 'market') return false;
    const [bound, slack] = boundSol === null ? [tickSol, progressTolerance] : [boundSol, tolerance];
    const { decimals, pools } = result.market;
    const at = { slot, unixTimeS: unixSeconds(this.#clock) };
    const inSol = pools.filter(({ pool }) => pool.quoteMint === wrappedSolMint);
    // The value of other quote coins is not known here.
    if (inSol.length === 0) return true;
    return inSol.some(({ pool }) => {
      const priceSol = priceOf(pool, decimals, at);
      if (priceSol === null) return false;
      return op === '>=' ? priceSol >= bound * (1 - slack) : priceSol <= bound * (1 + slack);
    });
  }
}

function isAgreed({ soleSources, slot }: MarketRead, leastSlot: number): boolean {
  return soleSources === 0 && slot >= leastSlot;
}

/** The price of a pool before any trade, in SOL for one token; null if the pool does not trade. */
function priceOf(pool: QuotedPool, decimals: number, at: QuoteMoment): number | null {
  for (const tokens of probes) {
    const outcome = pool.quote({ exact: 'baseIn', amount: tokens * 10n ** BigInt(decimals) }, at);
    if (outcome.ok) return (Number(outcome.quote.priceQuote) / Number(outcome.quote.priceBase)) * 10 ** (decimals - solDecimals);
  }
  return null;
}
