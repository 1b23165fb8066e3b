import { maxU64 } from '@sluice/shared/venues/quoting.ts';
import type { Venue } from '@sluice/shared/venues/venue.ts';
import type { BuyBody, SellBody } from '@sluice/shared/wire/rest/trade.ts';
import { isAddress } from '@sluice/shared/solana/base58.ts';
import type { Tip } from './surround.ts';
import { rawAmount } from '../../quote/amounts.ts';
import { readOrder, type QuoteOrder } from '../../quote/order.ts';
import { wrongFields, type QuoteRefusal } from '../../quote/quoted.ts';

/** A trade as it was asked for, checked as far as that goes without the chain. */
export interface TradeRequest {
  readonly order: QuoteOrder;
  /** Signs and pays. */
  readonly publicKey: string;
  /** Of the whole transaction, lamports; null: by recent fees. */
  readonly priorityFeeLamports: bigint | null;
  /** Absolute bounds beside the slippage; null where none was given. */
  readonly maxIn: bigint | null;
  readonly minOut: bigint | null;
  /** Everything is sold and the emptied token account closed. */
  readonly sellAll: boolean;
  readonly dryRun: boolean;
  readonly skipSimulation: boolean;
  /** Paid to somebody by the transaction itself, for sending it. */
  readonly tip?: Tip;
}

const solDecimals = 9;

/** Reads a body that is of the schema. Names every wrong field at once. */
export function readTradeRequest(side: 'buy' | 'sell', body: BuyBody | SellBody, venues: readonly Venue[]): TradeRequest | QuoteRefusal {
  const { publicKey, mint, slippage, priorityFee, pool } = body;
  const sellAll = side === 'sell' && (body as SellBody).sellAll === true;
  // Everything is more exact than any number beside it.
  const amount = sellAll ? {} : { amount: body.amount };
  const read = readOrder(
    {
      side,
      mint,
      publicKey,
      ...(amount.amount === undefined ? {} : { amount: amount.amount }),
      ...(sellAll ? { sellAll } : {}),
      ...(slippage === undefined ? {} : { slippage }),
      ...(pool === undefined ? {} : { pool }),
    },
    venues,
  );
  const fields: Record<string, string> = !read.ok && read.error === 'INVALID_REQUEST' ? { ...read.fields } : {};
  if (!isAddress(publicKey)) fields['publicKey'] = 'is no address';
  const fee = priorityFee === undefined ? null : rawAmount(priorityFee, solDecimals);
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
  return { order: read.order, publicKey, priorityFeeLamports, maxIn, minOut, sellAll, dryRun, skipSimulation };
}

/** Micro-lamports for a compute unit that come, over `units`, to no more than this fee. */
export function pricePerUnit(lamports: bigint, units: number): bigint {
  return (lamports * 1_000_000n) / BigInt(units);
}

/** What a price comes to, rounded up as the runtime rounds. */
export function priorityFeeOf(microLamportsPerUnit: bigint, units: number): bigint {
  return (microLamportsPerUnit * BigInt(units) + 999_999n) / 1_000_000n;
}

export const lamportsOfSignature = 5_000n;
