import type { EventOf, OrderObject } from '@sluice/client';
import { useState } from 'preact/hooks';
import { useSignal } from '../../parts/hooks.ts';
import { faultText, sluice } from '../../state/server.ts';
import { isFinal } from './words.ts';

/** The stream reports changes at once. The order or trigger is also read regularly, in case the stream is disconnected. */
const readEveryMs = 4_000;

interface Followed<T> {
  /** Null: nothing to follow. */
  readonly id: string | null;
  readonly read: (id: string, signal: AbortSignal) => Promise<T>;
  /** The event is about it. */
  readonly isAbout: (event: EventOf<'orders'>, id: string) => boolean;
  /** It changes no more. */
  readonly isEnded: (value: T) => boolean;
  readonly isOlder: (value: T, than: T) => boolean;
}

/** One order or trigger, up to its final state. */
export function useFollowed<T>({ id, read, isAbout, isEnded, isOlder }: Followed<T>): {
  readonly value: T | null;
  readonly fault: string | null;
} {
  const [value, setValue] = useState<T | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const hasEnded = value !== null && isEnded(value);
  useSignal([id, hasEnded], (signal) => {
    if (id === null || hasEnded) return;
    const readNow = async (): Promise<void> => {
      try {
        const now = await read(id, signal);
        setFault(null);
        setValue((last) => (last !== null && isOlder(now, last) ? last : now));
      } catch (error) {
        if (!signal.aborted) setFault(faultText(error));
      }
    };
    sluice.subscribe('orders', {
      signal,
      onEvent: (event) => {
        if (isAbout(event, id)) void readNow();
      },
      onError: () => undefined,
    });
    const timer = setInterval(() => void readNow(), readEveryMs);
    signal.addEventListener('abort', () => clearInterval(timer));
    void readNow();
  });
  return { value, fault };
}

/** Null: there is no order. */
export function useOrder(id: string | null) {
  const { value: order, fault } = useFollowed<OrderObject>({
    id,
    read: (orderId, signal) => sluice.order(orderId, { signal }),
    isAbout: (event, orderId) => event.type === 'order' && event.orderId === orderId,
    isEnded: ({ status }) => isFinal(status),
    isOlder: (one, than) => one.version < than.version,
  });
  return { order, fault };
}
