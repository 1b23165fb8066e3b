import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import {
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
  type BuyBody,
  type SellBody,
} from '@sluice/shared/wire/rest/trade.ts';
import { refusalOf } from '../../place/admission/admission.ts';
import type { SendSigned } from '../../place/send-signed.ts';
import { rounded, termsJson, tradedQuote } from '../../place/trade-answer.ts';
import { readTradeRequest } from '../../prepare/request.ts';
import { checkedTrade, expiresInSeconds, unsignedWire, type CheckParts } from '../../prepare/checked-trade.ts';
import { answerOf } from './answer.ts';
import { withIdempotency } from './idempotency.ts';
import { orderEndpoint, type OrderAnswer, type OrderCall, type OrderEndpoint } from '../order-call.ts';

export interface TransactionParts extends CheckParts {
  readonly venues: readonly Venue[];
  readonly sendSigned: SendSigned;
}

/** `POST /transaction/buy` and `/sell` return a transaction that the caller signs; `/transaction/send` sends it. */
export function transactionEndpoints(parts: TransactionParts): OrderEndpoint[] {
  return [
    orderEndpoint(transactionBuyEndpoint, ({ body }) => unsigned('buy', body, parts)),
    orderEndpoint(transactionSellEndpoint, ({ body }) => unsigned('sell', body, parts)),
    orderEndpoint(transactionSendEndpoint, (call) => send(call, parts.sendSigned)),
  ];
}

async function unsigned(
  side: 'buy' | 'sell',
  body: BuyBody | SellBody,
  parts: TransactionParts,
): Promise<OrderAnswer<typeof transactionBuyEndpoint>> {
  const startedMs = performance.now();
  const request = readTradeRequest(side, body, parts.venues);
  if ('error' in request) return request;
  try {
    const checked = await checkedTrade(request, parts);
    if ('error' in checked) return checked;
    const { prepared, simulation, timing } = checked;
    const { built, blockhash, priorityFeeLamports } = prepared;
    return {
      json: {
        transaction: base64Of(unsignedWire(prepared)),
        ...termsJson(request, prepared),
        quote: tradedQuote(request, prepared),
        blockhash: blockhash.blockhash,
        lastValidBlockHeight: blockhash.lastValidBlockHeight,
        expiresInSeconds: expiresInSeconds(prepared, parts),
        computeUnitLimit: built.computeUnitLimit,
        priorityFee: String(priorityFeeLamports),
        priorityFeeUi: toUi(priorityFeeLamports, solDecimals),
        simulation,
        timing: rounded({ totalMs: performance.now() - startedMs, ...timing }),
      },
    };
  } catch (error) {
    return refusalOf(error);
  }
}

async function send(
  call: OrderCall<typeof transactionSendEndpoint>,
  sendSigned: SendSigned,
): Promise<OrderAnswer<typeof transactionSendEndpoint>> {
  const { owner, body } = call;
  if (owner === null) return { error: 'UNAUTHENTICATED' };
  const wire = new Uint8Array(Buffer.from(body.transaction, 'base64'));
  const signed = { wire, skipSimulation: body.skipSimulation === true };
  return withIdempotency(call, transactionSendEndpoint.id, async (use) => answerOf(await sendSigned(owner, signed, use)));
}
