import { many } from '../../format/price.ts';
import { Fault } from '../../parts/parts.tsx';
import { me, sluice } from '../../state/server.ts';
import { useStore } from '../../state/store.ts';
import { useFollowed } from '../orders/followed.ts';
import { OrderProgress } from '../orders/progress.tsx';
import { errorText } from '../orders/words.ts';
import type { Trigger } from './trigger.ts';
import { isOpen, reasonText, statusText } from './words.ts';

/** A trigger and its children, as they were armed. */
export interface Armed {
  readonly trigger: Trigger;
  readonly exits: number;
}

/** A buy that was armed together with its exits: its trigger, and then its order. */
export function ArmedProgress(props: { readonly armed: Armed; readonly symbol: string; readonly onLanded: (slot: number) => void }) {
  const { armed, symbol, onLanded } = props;
  const isPaper = useStore(me)?.trading === 'paper';
  const { value, fault } = useFollowed<Trigger>({
    id: armed.trigger.triggerId,
    read: (id, signal) => sluice.triggers.get(id, { signal }),
    isAbout: (event, id) => event.type === 'trigger' && event.triggerId === id,
    isEnded: (trigger) => !isOpen(trigger),
    isOlder: (one, than) => one.updatedAt < than.updatedAt,
  });
  const { status, side, orderId, error, waitingFor } = value ?? armed.trigger;
  const exits = many(armed.exits, 'exit');
  return (
    <>
      {orderId === null ? (
        <div class="progress" role="status">
          <p>
            <span class={`side ${side}`}>{side}</span> <b class={`state ${status}`}>{status}</b>
          </p>
          <p class="faint">{statusText(status)}</p>
          {waitingFor !== null && <p class="warn">{reasonText(waitingFor)}</p>}
        </div>
      ) : (
        <OrderProgress
          key={orderId}
          placed={{ orderId, status: 'accepted', side, signature: null, isPaper, answeredInMs: null }}
          symbol={symbol}
          onLanded={onLanded}
        />
      )}
      {status === 'failed' && error !== null && orderId === null && <Fault text={errorText(error)} />}
      <Fault text={fault} />
      <p class="faint">
        {status === 'fired' ? `Armed: ${exits}.` : isOpen({ status }) ? `${exits} will be armed when it has filled.` : `No exit was armed.`}
      </p>
    </>
  );
}
