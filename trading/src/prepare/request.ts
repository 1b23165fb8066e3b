import { maxU64 } from '@sluice/venues/seam/quoting.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import type { BuyBody, SellBody } from '@sluice/shared/wire/rest/trading/trade.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import type { LaneTip } from './surround.ts';
import { rawAmount } from '../quote/amounts.ts';
import { readQuoteRequest, type QuoteRequest } from '../quote/order.ts';
import { wrongFields, type QuoteRefusal } from '../quote/best-quote.ts';

/** A requested trade, after all checks that need no chain. */
export interface TradeRequest {
  readonly order: QuoteRequest;
  /** The wallet that signs and pays. */
  readonly publicKey: string;
  /** For the whole transaction. Null: chosen from recent fees. */
  readonly priorityFeeLamports: bigint | null;
  /** Absolute bounds in addition to the slippage; null if none was given. */
  readonly maxIn: bigint | null;
  readonly minOut: bigint | null;
  readonly dryRun: boolean;
  readonly skipSimulation: boolean;
  /** Paid by the transaction to a block engine or sender that forwards it, if the message has room. */
  readonly tip?: LaneTip;
  /** Sent to the block engine alone, and tips only it. */
  readonly blockEngineOnly?: true;
}

const solDecimals = 9;

/** Reads a body that matches the schema. Reports all wrong fields at once. */
export function readTradeRequest(side: 'buy' | 'sell', body: BuyBody | SellBody, venues: readonly Venue[]): TradeRequest | QuoteRefusal {
  const { amount, ...quoted } = body;
  const { publicKey, priorityFee, pool } = body;
  // `sellAll` takes precedence over an amount.
  const hasAmount = amount !== undefined && !('sellAll' in quoted && quoted.sellAll);
  const read = readQuoteRequest({ ...quoted, side, ...(hasAmount && { amount }) });
  const fields: Record<string, string> = !read.ok && read.error === 'INVALID_REQUEST' ? { ...read.fields } : {};
  if (venues.some(({ name, signing }) => name === pool && signing === null))
    fields['pool'] = `\`${pool}\` is quoted, but no orders are sent to it`;
  if (!isAddress(publicKey)) fields['publicKey'] = 'is not an address';
  const fee = priorityFee === undefined ? null : rawAmount(priorityFee, solDecimals, 'SOL');
  if (fee?.ok === false) fields['priorityFee'] = fee.fault;
  const bound = (name: 'maxIn' | 'minOut'): bigint | null => {
    const text = body[name];
    if (text === undefined) return null;
    const value = BigInt(text);
    if (value === 0n || value > maxU64) fields[name] = 'must be 1 to 18446744073709551615';
    return value;
  };
  const [maxIn, minOut] = [bound('maxIn'), bound('minOut')];
  if (Object.keys(fields).length > 0) return wrongFields(fields);
  if (!read.ok) return { error: read.error };
  const { dryRun = false, skipSimulation = false } = body;
  const priorityFeeLamports = fee?.ok === true ? fee.raw : null;
  return { order: boundedPart(read.order, maxIn), publicKey, priorityFeeLamports, maxIn, minOut, dryRun, skipSimulation };
}

/** The balance may grow after the client saw a quote: then a part of it still sells no more than the client's bound. */
function boundedPart(order: QuoteRequest, maxIn: bigint | null): QuoteRequest {
  const { amount } = order;
  return amount.kind === 'part' && maxIn !== null ? { ...order, amount: { ...amount, most: maxIn } } : order;
}

/** The highest price in micro-lamports for each unit whose total over `units` does not exceed this fee. */
export function pricePerUnit(lamports: bigint, units: number): bigint {
  return (lamports * 1_000_000n) / BigInt(units);
}

/** The fee for `units` at this price, rounded up as the runtime does. */
export function priorityFeeOf(microLamportsPerUnit: bigint, units: number): bigint {
  return (microLamportsPerUnit * BigInt(units) + 999_999n) / 1_000_000n;
}

export const lamportsOfSignature = 5_000n;
