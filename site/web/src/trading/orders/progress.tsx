import type { OrderObject, TradeAnswer } from '@sluice/client';
import { useEffect, useState } from 'preact/hooks';
import { faultText, simulated, sluice } from '../../state/server.ts';
import { short, sol } from '../../format/price.ts';
import { inQuoteCoin } from '../../format/quote-coin.ts';
import { explorerTx, OutLink } from '../../parts/links.tsx';
import { useSignal } from '../../parts/hooks.ts';
import { Fault } from '../../parts/parts.tsx';
import { useStore } from '../../state/store.ts';
import { OrderBadge } from '../../parts/mode.tsx';
import { aboutRent, errorText, isFinal, stateText } from './words.ts';

const steps = ['submitted', 'processed', 'confirmed', 'finalized'] as const;
/** The stream reports changes at once. The order is also read regularly, in case the stream is disconnected. */
const readEveryMs = 4_000;

function useOrder(id: string | null): { readonly order: OrderObject | null; readonly fault: string | null } {
  const [order, setOrder] = useState<OrderObject | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const isEnded = order !== null && isFinal(order.status);
  useSignal([id, isEnded], (signal) => {
    if (id === null || isEnded) return;
    const read = async (): Promise<void> => {
      try {
        const now = await sluice.order(id, { signal });
        setFault(null);
        setOrder((last) => (last !== null && last.version > now.version ? last : now));
      } catch (error) {
        if (!signal.aborted) setFault(faultText(error));
      }
    };
    sluice.subscribe('orders', {
      signal,
      onEvent: (event) => {
        if (event.type === 'order' && event.orderId === id) void read();
      },
      onError: () => undefined,
    });
    const timer = setInterval(() => void read(), readEveryMs);
    signal.addEventListener('abort', () => clearInterval(timer));
    void read();
  });
  return { order, fault };
}

/** The steps of a placed order, up to its final state. */
export function OrderProgress(props: {
  readonly answer: TradeAnswer;
  readonly symbol: string;
  /** The transaction is in a block of this slot; called again when that is final. */
  readonly onLanded: (slot: number) => void;
}) {
  const { answer, symbol, onLanded } = props;
  const { order, fault } = useOrder(answer.orderId);
  const slot = order?.fill?.slot ?? null;
  useEffect(() => {
    if (slot !== null) onLanded(slot);
  }, [slot, order?.status === 'finalized']);
  const isSimulated = useStore(simulated) === true;
  const status = order?.status ?? answer.status;
  const reached = steps.indexOf(status as (typeof steps)[number]);
  const { signature } = answer;
  const fill = order?.fill ?? null;
  const isPaper = answer.paper === true;
  return (
    <div class="progress" role="status">
      <p>
        <span class={`side ${answer.side}`}>{answer.side}</span> <b class={`state ${status}`}>{status}</b>
        {answer.orderId === null && <span class="badge paper">{isPaper ? 'quoted only' : 'simulated only'}</span>}{' '}
        {isPaper ? <OrderBadge kind="paper" /> : order !== null && <OrderBadge kind={order.kind} />}
      </p>
      {answer.orderId !== null && !isPaper && (
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
        Answered in {Math.round(answer.timing.totalMs)} ms. {answer.orderId !== null && <a href="#/orders">All orders</a>}{' '}
        {signature !== null && !isSimulated && <OutLink href={explorerTx(signature)}>Transaction</OutLink>}
      </p>
    </div>
  );
}
