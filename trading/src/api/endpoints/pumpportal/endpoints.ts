import { errorTexts } from '@sluice/shared/wire/errors.ts';
import { encodeBase58, isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import {
  pumpPortalLocalEndpoint,
  pumpPortalTradeEndpoint,
  type PumpPortalAnswer,
  type PumpPortalBody,
  pumpPortalFlags,
  pumpPortalLimits,
} from '@sluice/shared/wire/rest/trading/pumpportal.ts';
import { expiryHeader } from '@sluice/shared/wire/rest/endpoint.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import { jitoTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { wrongFields, type QuoteRefusal } from '../../../quote/best-quote.ts';
import { orRefusal } from '../../../place/admission/admission.ts';
import type { PlaceOrder } from '../../../place/place-order.ts';
import { checkedTrade, expiresInSeconds, unsignedWire, type CheckParts } from '../../../prepare/checked-trade.ts';
import { prepareAgreed, type PreparedTrade } from '../../../prepare/prepare.ts';
import type { TradeRequest } from '../../../prepare/request.ts';
import { answerOnce } from '../idempotency.ts';
import { orderEndpoint, type OrderAnswer, type OrderCall, type OrderEndpoint } from '../../order-call.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { pumpPortalPools, pumpPortalVenue } from '@sluice/shared/wire/venues.ts';
import { slippageLimits } from '@sluice/shared/wire/rest/trading/quote.ts';
import { partsPerMillion, rawOfText } from '../../../quote/amounts.ts';
import type { OrderAmount } from '../../../quote/order.ts';

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

/** Our names of venues equal PumpPortal's, with few exceptions. */
function readPool(name: string | undefined, venues: readonly Venue[], fields: Fields): TradeRequest['order']['pool'] | null {
  if (name === undefined) return pumpPortalVenue;
  if (name === 'auto') return name;
  const traded = venues.filter(({ signing }) => signing !== null);
  const venue = traded.find((one) => one.name === (pumpPortalPools[name] ?? name));
  if (venue !== undefined) return venue.name;
  const names = ['auto', ...traded.map((one) => one.name)].map((one) => `\`${one}\``);
  fields['pool'] = `\`${name}\` is not supported; ${names.join(', ')} are`;
  return null;
}

export interface PumpPortalParts extends CheckParts {
  readonly venues: readonly Venue[];
  readonly placeOrder: PlaceOrder;
  /** Whether orders can be sent to a block engine alone. */
  readonly hasBlockEngine: boolean;
}

const noRoomForTip =
  'no order has room for this tip: the wallets have accounts of wrapped SOL; close the one of the first order, or set it to 0';

type LocalAnswer = OrderAnswer<typeof pumpPortalLocalEndpoint>;

/** `POST /api/trade` and `/api/trade-local`: the same orders with the bodies of PumpPortal's clients. */
export function pumpPortalEndpoints(parts: PumpPortalParts): OrderEndpoint[] {
  return [
    orderEndpoint(pumpPortalTradeEndpoint, (call) => trade(call, parts)),
    orderEndpoint(pumpPortalLocalEndpoint, ({ body }) => tradeLocal(body, parts)),
  ];
}

function trade(
  call: OrderCall<typeof pumpPortalTradeEndpoint>,
  { venues, placeOrder, hasBlockEngine }: PumpPortalParts,
): Promise<OrderAnswer<typeof pumpPortalTradeEndpoint>> {
  const read = readPumpPortalOrder(call.body, venues);
  return answerOnce(call, pumpPortalTradeEndpoint, read, async (owner, { publicKey, jitoOnly, of }, use) => {
    const requestOf = (wallet: string): TradeRequest => ({
      ...of(wallet),
      ...(jitoOnly && hasBlockEngine ? { blockEngineOnly: true } : {}),
    });
    const request = publicKey === null ? { publicKey, dryRun: false, of: requestOf } : requestOf(publicKey);
    const outcome = await placeOrder(owner, request, use);
    const warnings = jitoOnly && !hasBlockEngine ? { warnings: [noBlockEngine] } : {};
    return 'error' in outcome ? outcome : { ...outcome, answer: { ...pumpPortalAnswer(outcome.answer), ...warnings } };
  });
}

const noBlockEngine = 'jitoOnly: this server has no block engine (JITO_URL), so the order is sent to its nodes as usual.';

function pumpPortalAnswer({ signature, error, orderId, status }: TradeAnswer): PumpPortalAnswer {
  if (orderId === null) throw new Error('an order without an id');
  return { signature, errors: error === null ? [] : errorTexts(error), orderId, status };
}

function tradeLocal(body: PumpPortalBody | readonly PumpPortalBody[], parts: PumpPortalParts): Promise<LocalAnswer> {
  return orRefusal(() => (Array.isArray(body) ? bundle(body as readonly PumpPortalBody[], parts) : single(body as PumpPortalBody, parts)));
}

async function single(body: PumpPortalBody, parts: PumpPortalParts): Promise<LocalAnswer> {
  const request = readLocal(body, parts);
  if ('error' in request) return request;
  const checked = await checkedTrade(request, parts);
  if ('error' in checked) return checked;
  const { prepared } = checked;
  const headers = expiryOf([prepared], parts);
  return { file: { contentType: pumpPortalLocalEndpoint.contentType, body: unsignedWire(prepared), headers } };
}

/** An order of a bundle may depend on the orders before it, so none is simulated. */
async function bundle(bodies: readonly PumpPortalBody[], parts: PumpPortalParts): Promise<LocalAnswer> {
  const requests: TradeRequest[] = [];
  for (const [index, body] of bodies.entries()) {
    const request = readLocal(body, parts);
    if ('error' in request) return ofOrder(index, request);
    requests.push(request);
  }
  const lamports = requests[0]?.priorityFeeLamports ?? null;
  if (lamports === null) return wrongFields({ '0.priorityFee': 'is required: the fee of the first order is the tip of the bundle' });
  const to = jitoTipAccounts[Math.floor(Math.random() * jitoTipAccounts.length)]!;
  const all: PreparedTrade[] = [];
  let isTipped = lamports === 0n;
  for (const [index, request] of requests.entries()) {
    const tip = isTipped ? {} : { tip: { lane: 'jito', accounts: [to], lamports } as const };
    const prepared = await prepareAgreed({ ...request, priorityFeeLamports: 0n, ...tip }, parts);
    if ('error' in prepared) return ofOrder(index, prepared);
    isTipped ||= prepared.tipLamports > 0n;
    all.push(prepared);
  }
  if (!isTipped) return wrongFields({ '0.priorityFee': noRoomForTip });
  return { json: all.map((prepared) => encodeBase58(unsignedWire(prepared))), headers: expiryOf(all, parts) };
}

/** The header with the time until the first of these transactions expires. */
function expiryOf(all: readonly PreparedTrade[], parts: CheckParts): Readonly<Record<string, string>> {
  return { [expiryHeader]: String(Math.min(...all.map((prepared) => expiresInSeconds(prepared, parts)))) };
}

function readLocal(body: PumpPortalBody, { venues }: PumpPortalParts): TradeRequest | QuoteRefusal {
  const order = readPumpPortalOrder(body, venues);
  if ('error' in order) return order;
  return order.publicKey === null ? wrongFields({ publicKey: 'is required' }) : order.of(order.publicKey);
}

/** Adds the place of the order in its list. */
function ofOrder(index: number, { error, message, details = {} }: QuoteRefusal): QuoteRefusal {
  const { fields } = details;
  if (typeof fields !== 'object' || fields === null)
    return { error, ...(message === undefined ? {} : { message }), details: { ...details, order: index } };
  return wrongFields(Object.fromEntries(Object.entries(fields).map(([name, what]) => [`${index}.${name}`, String(what)])));
}
