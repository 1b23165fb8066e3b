import type { Clock } from '@sluice/shared/clock/clock.ts';
import type { OrderLedger } from '../ledger/order-ledger.ts';
import { newOrderId } from '../../order-model/order-id.ts';
import type { OrderFill } from '../../order-model/order.ts';
import { prepareTrade, type PreparedTrade, type PrepareParts } from '../prepare/prepare.ts';
import { lamportsOfSignature } from '../prepare/request.ts';
import { checkTrade } from '../prepare/simulate-trade.ts';
import { rounded, tradeAnswer } from './trade-answer.ts';
import { newOrderOf, type Admitted } from './admitted.ts';
import { notStored, placedNow, type Outcome } from './outcome.ts';

export interface PaperParts extends PrepareParts {
  readonly ledger: Pick<OrderLedger, 'insert'>;
  readonly gatewayId: string;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Fills the order at its quote on live state. Signs and sends nothing. */
export async function tradeOnPaper(admitted: Admitted, parts: PaperParts): Promise<Outcome> {
  const { request, startedMs, use } = admitted;
  const prepared = await prepareTrade(request, parts);
  if ('error' in prepared) return prepared;
  const short = await checkTrade(prepared);
  if (short !== null) return short;
  const { quoteMs, buildMs } = prepared;
  const timing = { quoteMs, buildMs, totalMs: performance.now() - startedMs };
  const common = { signature: null, simulation: null, timing, paper: true } as const;
  if (request.dryRun) return placedNow(tradeAnswer(request, prepared, { ...common, orderId: null, status: 'simulated', dryRun: true }));
  const createdAtMs = parts.clock.wallMs();
  const order = newOrderOf(admitted, prepared, {
    id: newOrderId(createdAtMs),
    state: 'finalized',
    kind: 'paper',
    message: null,
    fill: fillOf(prepared),
    timingJson: JSON.stringify(rounded(timing)),
    createdAtMs,
  });
  const inserted = await parts.ledger.insert(order, { idempotency: use, spend: null, followedBy: parts.gatewayId });
  if (inserted.kind !== 'stored') return notStored(inserted, startedMs);
  return placedNow(tradeAnswer(request, prepared, { ...common, orderId: inserted.order.id, status: inserted.order.state }));
}

function fillOf({ quoted, priorityFeeLamports, slot }: PreparedTrade): OrderFill {
  const { baseAmount, quoteAmount, traderQuote, feeTotal } = quoted.quote;
  return {
    pool: quoted.venue.name,
    baseAmount,
    quoteAmount,
    traderQuote,
    venueFees: feeTotal,
    networkFee: lamportsOfSignature + priorityFeeLamports,
    otherLamports: 0n,
    slot,
    blockTime: null,
  };
}
