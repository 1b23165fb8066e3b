import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { slippageLimits, type QuoteBody } from '@sluice/shared/wire/rest/trading/quote.ts';
import type { VenueName } from '@sluice/shared/wire/events/events.ts';
import { partsPerMillion, rawAmount } from './amounts.ts';

/**
 * How much to trade. `ui`: whole coins, of the quote coin for a buy and of the token for a sell. `coins`: whole coins of the named coin, as a
 * decimal text; decimals beyond those of the coin are cut off. `part`: parts per million of the wallet's balance,
 * but at most `most`, a raw amount, and `mostCoins`, whole coins.
 */
export type OrderAmount =
  | { readonly kind: 'ui'; readonly value: number }
  | { readonly kind: 'coins'; readonly of: 'base' | 'sol'; readonly text: string }
  | { readonly kind: 'part'; readonly ppm: bigint; readonly publicKey: string; readonly most?: bigint; readonly mostCoins?: number };

/** A requested quote, after all checks that need no chain. */
export interface QuoteRequest {
  readonly side: 'buy' | 'sell';
  readonly mint: string;
  readonly amount: OrderAmount;
  readonly slippageBps: bigint;
  readonly pool: 'auto' | VenueName;
}

export type ReadQuote =
  | { readonly ok: true; readonly order: QuoteRequest }
  | { readonly ok: false; readonly error: 'INVALID_MINT' }
  | { readonly ok: false; readonly error: 'INVALID_REQUEST'; readonly fields: Readonly<Record<string, string>> };

const allPpm = 1_000_000n;
/** Slippage has hundredths of a percent. */
const slippageDecimals = 2;

/** Reads a body that matches the schema, and checks how its fields depend on each other. Reports all wrong fields at once. */
export function readQuoteRequest(body: QuoteBody): ReadQuote {
  const fields: Record<string, string> = {};
  const amount = readAmount(body, fields);
  const slippage = rawAmount(body.slippage ?? slippageLimits.default, slippageDecimals);
  if (!slippage.ok) fields['slippage'] = 'has more than two decimals';
  if (amount === null || !slippage.ok || Object.keys(fields).length > 0) return { ok: false, error: 'INVALID_REQUEST', fields };
  const { side, mint, pool = 'auto' } = body;
  if (!isAddress(mint)) return { ok: false, error: 'INVALID_MINT' };
  return { ok: true, order: { side, mint, amount, slippageBps: slippage.raw, pool } };
}

function readAmount({ side, amount, sellAll, publicKey }: QuoteBody, fields: Record<string, string>): OrderAmount | null {
  const fault = (field: string, what: string): null => {
    fields[field] = what;
    return null;
  };
  if (publicKey !== undefined && !isAddress(publicKey)) return fault('publicKey', 'is not an address');
  if (sellAll === true) {
    if (side === 'buy') return fault('sellAll', 'is for a sell');
    if (amount !== undefined) return fault('amount', 'must be left out with `sellAll`');
    return publicKey === undefined ? fault('publicKey', 'is needed for `sellAll`') : { kind: 'part', ppm: allPpm, publicKey };
  }
  if (amount === undefined) return fault('amount', 'is required');
  if (typeof amount === 'number') return amount > 0 ? { kind: 'ui', value: amount } : fault('amount', 'must be above 0');
  if (side === 'buy') return fault('amount', 'must be a number');
  const ppm = partsPerMillion(amount);
  if (ppm === null) return fault('amount', 'must be a number, or a percentage above 0% and up to 100%, as "50%"');
  return publicKey === undefined ? fault('publicKey', 'is needed for a percentage') : { kind: 'part', ppm, publicKey };
}
