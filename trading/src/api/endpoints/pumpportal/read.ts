import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { pumpPortalVenue } from '@sluice/shared/wire/venues.ts';
import { slippageLimits } from '@sluice/shared/wire/rest/quote.ts';
import { pumpPortalFlags, pumpPortalLimits, type PumpPortalBody } from '@sluice/shared/wire/rest/pumpportal.ts';
import { partsPerMillion, rawOfText } from '../../../quote/amounts.ts';
import type { OrderAmount } from '../../../quote/order.ts';
import { wrongFields, type QuoteRefusal } from '../../../quote/best-quote.ts';
import type { TradeRequest } from '../../../prepare/request.ts';

/** An order of a PumpPortal client. */
export interface PumpPortalOrder {
  /** Null if the body names no wallet: then the account's only wallet trades. */
  readonly publicKey: string | null;
  readonly jitoOnly: boolean;
  /** The order of this wallet. */
  readonly of: (publicKey: string) => TradeRequest;
}

type AmountOf = (publicKey: string) => OrderAmount;
type Fields = Record<string, string>;

/** Slippage has hundredths of a percent. */
const slippageDecimals = 2;
const lamportsOfSol = 10n ** BigInt(solDecimals);

/** Reads a body that has passed the schema. The refusal names every wrong field at once. Never throws. */
export function readPumpPortalOrder(body: PumpPortalBody, venues: readonly Venue[]): PumpPortalOrder | QuoteRefusal {
  const { action: side, publicKey = null, mint } = body;
  if (side !== 'buy' && side !== 'sell') {
    return wrongFields({ action: `\`${side}\` is not supported; \`buy\` and \`sell\` are` });
  }
  const fields: Fields = {};
  if (publicKey !== null && !isAddress(publicKey)) fields['publicKey'] = 'is not an address';
  if (mint === undefined) fields['mint'] = 'is required';
  for (const name of pumpPortalFlags) if (readFlag(body[name]) === null) fields[name] = 'must be `true` or `false`';
  const amount = readAmount(side, body, fields);
  const slippageBps = readDecimal(
    'slippage',
    body.slippage ?? slippageLimits.default,
    slippageDecimals,
    { max: pumpPortalLimits.maxSlippage, unit: 'percent' },
    fields,
  );
  const fee = body.priorityFee;
  const priorityFeeLamports =
    fee === undefined ? null : readDecimal('priorityFee', fee, solDecimals, { max: pumpPortalLimits.maxPriorityFee, unit: 'SOL' }, fields);
  const pool = readPool(body.pool, venues, fields);
  if (mint === undefined || amount === null || slippageBps === null || pool === null || Object.keys(fields).length > 0) {
    return wrongFields(fields);
  }
  if (!isAddress(mint)) return { error: 'INVALID_MINT' };
  return {
    publicKey,
    jitoOnly: readFlag(body.jitoOnly) === true,
    of: (wallet) => ({
      order: { side, mint, amount: amount(wallet), slippageBps, pool },
      publicKey: wallet,
      priorityFeeLamports,
      maxIn: null,
      minOut: null,
      dryRun: false,
      skipSimulation: readFlag(body.skipPreflight) === true,
    }),
  };
}

/** A flag as programs write it: Python's forms have `True`. A missing one is false; null if it is neither. */
function readFlag(flag: boolean | number | string = false): boolean | null {
  const text = String(flag).toLowerCase();
  if (text === 'true' || text === '1') return true;
  return text === 'false' || text === '0' ? false : null;
}

function readAmount(side: 'buy' | 'sell', { amount, denominatedInSol }: PumpPortalBody, fields: Fields): AmountOf | null {
  const fault = (field: string, what: string): null => {
    fields[field] = what;
    return null;
  };
  if (amount === undefined) return fault('amount', 'is required');
  const text = String(amount);
  if (text.endsWith('%')) {
    if (side === 'buy') return fault('amount', 'of a buy must be a number');
    const ppm = partsPerMillion(text);
    if (ppm === null) return fault('amount', 'must be a percentage above 0% and up to 100%, as "50%"');
    return (publicKey) => ({ kind: 'part', ppm, publicKey });
  }
  const lamports = rawOfText(text, solDecimals);
  if (lamports === null) return fault('amount', side === 'buy' ? 'must be a number above 0' : 'must be a number above 0, or a percentage');
  if (denominatedInSol === undefined) return fault('denominatedInSol', 'is required: `true` if `amount` is SOL, `false` if it is tokens');
  const isSol = readFlag(denominatedInSol) === true;
  if (isSol && side === 'buy' && rawOfText(text, solDecimals, BigInt(pumpPortalLimits.maxSol) * lamportsOfSol) === null) {
    return fault('amount', `must be at most ${pumpPortalLimits.maxSol} SOL`);
  }
  // An amount below the smallest unit of the coin is refused later, when its decimals are known.
  if (!/[1-9]/.test(text.replace(/e.*$/i, ''))) return fault('amount', 'must be above 0');
  return () => ({ kind: 'coins', of: isSol ? 'sol' : 'base', text });
}

/** A number from 0 to `max`, as an integer with this many decimals. If it is not such a number, returns null and adds a fault. */
function readDecimal(
  name: string,
  value: number | string,
  decimals: number,
  { max, unit }: { readonly max: number; readonly unit: string },
  fields: Fields,
): bigint | null {
  const raw = rawOfText(String(value), decimals, rawOfText(String(max), decimals));
  if (raw === null) fields[name] = `must be a number from 0 to ${max} ${unit}`;
  return raw;
}

/** Our names of venues equal PumpPortal's. */
function readPool(name: string | undefined, venues: readonly Venue[], fields: Fields): TradeRequest['order']['pool'] | null {
  if (name === undefined) return pumpPortalVenue;
  if (name === 'auto') return name;
  const traded = venues.filter(({ signing }) => signing !== null);
  const venue = traded.find((one) => one.name === name);
  if (venue !== undefined) return venue.name;
  const names = ['auto', ...traded.map((one) => one.name)].map((one) => `\`${one}\``);
  fields['pool'] = `\`${name}\` is not supported; ${names.join(', ')} are`;
  return null;
}
