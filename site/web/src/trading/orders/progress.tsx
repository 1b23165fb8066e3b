import type { TradeAnswer } from '@sluice/client';
import { useEffect } from 'preact/hooks';
import { simulated } from '../../state/server.ts';
import { short, sol } from '../../format/price.ts';
import { inQuoteCoin } from '../../format/quote-coin.ts';
import { explorerTx, OutLink } from '../../parts/links.tsx';
import { Fault } from '../../parts/parts.tsx';
import { useStore } from '../../state/store.ts';
import { OrderBadge } from '../../parts/mode.tsx';
import { useOrder } from './followed.ts';
import { aboutRent, errorText, stateText } from './words.ts';

const steps = ['submitted', 'processed', 'confirmed', 'finalized'] as const;

/** An order that was placed. */
export interface Placed {
  /** Null: it was simulated. */
  readonly orderId: string | null;
  readonly status: TradeAnswer['status'];
  readonly side: 'buy' | 'sell';
  readonly signature: string | null;
  readonly isPaper: boolean;
  /** Milliseconds; null if a trigger placed it. */
  readonly answeredInMs: number | null;
}

export function placedBy({ orderId, status, side, signature, paper, timing }: TradeAnswer): Placed {
  return { orderId, status, side, signature, isPaper: paper === true, answeredInMs: timing.totalMs };
}

/** The steps of a placed order, up to its final state. */
export function OrderProgress(props: {
  readonly placed: Placed;
  readonly symbol: string;
  /** The transaction is in a block of this slot; called again when that is final. */
  readonly onLanded: (slot: number) => void;
}) {
  const { placed, symbol, onLanded } = props;
  const { orderId, side, isPaper, answeredInMs } = placed;
  const { order, fault } = useOrder(orderId);
  const slot = order?.fill?.slot ?? null;
  useEffect(() => {
    if (slot !== null) onLanded(slot);
  }, [slot, order?.status === 'finalized']);
  const isSimulated = useStore(simulated) === true;
  const status = order?.status ?? placed.status;
  const reached = steps.indexOf(status as (typeof steps)[number]);
  const signature = placed.signature ?? order?.signature ?? null;
  const fill = order?.fill ?? null;
  return (
    <div class="progress" role="status">
      <p>
        <span class={`side ${side}`}>{side}</span> <b class={`state ${status}`}>{status}</b>
        {orderId === null && <span class="badge paper">{isPaper ? 'quoted only' : 'simulated only'}</span>}{' '}
        {isPaper ? <OrderBadge kind="paper" /> : order !== null && <OrderBadge kind={order.kind} />}
      </p>
      {orderId !== null && !isPaper && (
        <ol>
          {steps.map((step, at) => (
            <li key={step} class={at <= reached ? 'done' : ''}>
              {step}
            </li>
          ))}
        </ol>
      )}
      <p class="faint">{stateText(status, isPaper)}</p>
      {fill !== null && (
        <p>
          {short(fill.baseUiAmount)} <bdi>{symbol}</bdi> for {inQuoteCoin(fill.traderQuoteUiAmount, order?.quoteMint ?? null)}
        </p>
      )}
      {fill !== null && (
        <p class="faint" title={aboutRent}>
          Network fee {sol(Number(fill.networkFee) / 1e9)}, rent and tips {sol(Number(fill.otherLamports) / 1e9)}
        </p>
      )}
      {order?.error != null && <Fault text={errorText(order.error)} />}
      <Fault text={fault} />
      <p class="faint">
        {answeredInMs !== null && `Answered in ${Math.round(answeredInMs)} ms. `}
        {orderId !== null && <a href="#/orders">All orders</a>}{' '}
        {signature !== null && !isSimulated && <OutLink href={explorerTx(signature)}>Transaction</OutLink>}
      </p>
    </div>
  );
}
