import { errorTexts } from '@sluice/shared/runtime/errors/codes.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import {
  pumpPortalLocalEndpoint,
  pumpPortalTradeEndpoint,
  type PumpPortalAnswer,
  type PumpPortalBody,
} from '@sluice/shared/wire/rest/pumpportal.ts';
import { expiryHeader } from '@sluice/shared/wire/rest/endpoint.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trade.ts';
import { jitoTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { wrongFields, type QuoteRefusal } from '../../../quote/best-quote.ts';
import { orRefusal } from '../../../place/admission/admission.ts';
import type { PlaceOrder } from '../../../place/place-order.ts';
import { checkedTrade, expiresInSeconds, unsignedWire, type CheckParts } from '../../../prepare/checked-trade.ts';
import { prepareAgreed, type PreparedTrade } from '../../../prepare/prepare.ts';
import type { TradeRequest } from '../../../prepare/request.ts';
import { answerOnce } from '../idempotency.ts';
import { orderEndpoint, type OrderAnswer, type OrderCall, type OrderEndpoint } from '../../order-call.ts';
import { readPumpPortalOrder } from './read.ts';

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
