import { errorTexts } from '@sluice/shared/errors/codes.ts';
import { encodeBase58 } from '@sluice/shared/solana/base58.ts';
import {
  pumpPortalLocalEndpoint,
  pumpPortalTradeEndpoint,
  type PumpPortalAnswer,
  type PumpPortalBody,
} from '@sluice/shared/wire/rest/pumpportal.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trade.ts';
import { bindEndpoint, type BoundEndpoint, type Call, type EndpointAnswer } from '../../../http/endpoint.ts';
import { wrongFields, type QuoteRefusal } from '../../../quote/quoted.ts';
import { jitoTipAccounts } from '../../../signer/tip-accounts.ts';
import { fromOutside, type Lightning } from '../../place/lightning.ts';
import { prepareVouched } from '../../prepare/prepare.ts';
import type { TradeRequest } from '../../prepare/request.ts';
import { unsignedWire } from '../../prepare/checked-trade.ts';
import { buildUnsigned, type SelfCustodyParts } from '../../place/self-custody.ts';
import type { WalletAccess } from '../../place/wallet-access.ts';
import { readPumpPortalOrder } from './read.ts';

export interface PumpPortalParts extends SelfCustodyParts {
  readonly lightning: Lightning;
  readonly wallets: Pick<WalletAccess, 'onlyOne'>;
}

type LocalAnswer = EndpointAnswer<typeof pumpPortalLocalEndpoint>;

/** `POST /api/trade` and `/api/trade-local`: the orders of everybody else, by the bodies of PumpPortal's clients. */
export function pumpPortalEndpoints(parts: PumpPortalParts): BoundEndpoint[] {
  return [
    bindEndpoint(pumpPortalTradeEndpoint, (call) => trade(call, parts)),
    bindEndpoint(pumpPortalLocalEndpoint, ({ body }) => tradeLocal(body, parts)),
  ];
}

async function trade(
  { principal, request, body }: Call<typeof pumpPortalTradeEndpoint>,
  { venues, lightning, wallets }: PumpPortalParts,
): Promise<EndpointAnswer<typeof pumpPortalTradeEndpoint>> {
  if (principal === null) return { error: 'UNAUTHENTICATED' };
  const order = readPumpPortalOrder(body, venues);
  if ('error' in order) return order;
  if (order.jitoOnly)
    return wrongFields({ jitoOnly: 'is not done here: orders go to all nodes, and to Jito where the server is set up so' });
  const answer = await lightning({ principal, request, endpoint: pumpPortalTradeEndpoint.id, body }, false, async () => {
    const publicKey = order.publicKey ?? (await wallets.onlyOne(principal));
    const what = 'must name a custodial wallet: the account of this key has none, or several';
    return publicKey === null ? wrongFields({ publicKey: what }) : order.of(publicKey);
  });
  return 'json' in answer ? { ...answer, json: toldOf(answer.json) } : answer;
}

function toldOf({ signature, error, orderId, status }: TradeAnswer): PumpPortalAnswer {
  if (orderId === null) throw new Error('an order without an id');
  return { signature, errors: error === null ? [] : errorTexts(error), orderId, status };
}

async function tradeLocal(body: PumpPortalBody | readonly PumpPortalBody[], parts: PumpPortalParts): Promise<LocalAnswer> {
  try {
    return Array.isArray(body) ? await bundle(body as readonly PumpPortalBody[], parts) : await single(body as PumpPortalBody, parts);
  } catch (error) {
    return fromOutside(error);
  }
}

async function single(body: PumpPortalBody, parts: PumpPortalParts): Promise<LocalAnswer> {
  const request = readLocal(body, parts);
  if ('error' in request) return request;
  const made = await buildUnsigned(request, parts);
  if ('error' in made) return made;
  return { file: { contentType: pumpPortalLocalEndpoint.contentType, body: made.wire, headers: {} } };
}

/** Any of them may need what those before it do, so none is simulated. */
async function bundle(bodies: readonly PumpPortalBody[], parts: PumpPortalParts): Promise<LocalAnswer> {
  const requests: TradeRequest[] = [];
  for (const [index, body] of bodies.entries()) {
    const request = readLocal(body, parts);
    if ('error' in request) return ofOrder(index, request);
    requests.push(request);
  }
  const lamports = requests[0]?.priorityFeeLamports ?? null;
  if (lamports === null) return wrongFields({ '0.priorityFee': 'is required: that of the first order is the tip of the bundle' });
  const to = jitoTipAccounts[Math.floor(Math.random() * jitoTipAccounts.length)]!;
  const json: string[] = [];
  for (const [index, request] of requests.entries()) {
    const tipped = index === 0 && lamports > 0n ? { tip: { to, lamports } } : {};
    const prepared = await prepareVouched({ ...request, priorityFeeLamports: 0n, ...tipped }, parts);
    if ('error' in prepared) return ofOrder(index, prepared);
    json.push(encodeBase58(unsignedWire(prepared)));
  }
  return { json };
}

function readLocal(body: PumpPortalBody, { venues }: PumpPortalParts): TradeRequest | QuoteRefusal {
  const order = readPumpPortalOrder(body, venues);
  if ('error' in order) return order;
  return order.publicKey === null ? wrongFields({ publicKey: 'is required' }) : order.of(order.publicKey);
}

/** Says which order of a list is meant. */
function ofOrder(index: number, { error, message, details = {} }: QuoteRefusal): QuoteRefusal {
  const { fields } = details;
  if (typeof fields !== 'object' || fields === null)
    return { error, ...(message === undefined ? {} : { message }), details: { ...details, order: index } };
  return wrongFields(Object.fromEntries(Object.entries(fields).map(([name, what]) => [`${index}.${name}`, String(what)])));
}
