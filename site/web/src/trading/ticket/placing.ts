import { SluiceError, type TradeAnswer } from '@sluice/client';
import { useRef, useState } from 'preact/hooks';
import { faultText, sluice, spendsRealCoins } from '../../state/server.ts';
import type { Side } from './amounts.ts';
import { orderFault } from './order-fault.ts';
import type { OrderWish } from './confirm-order.tsx';
import type { QuoteObject } from './screen-quotes.ts';

/** Clicks within this time after an order do nothing: the second click of a double click must not buy again. */
const settleMs = 1_000;
/** After a refusal for a moved price, the second click of a double click must not take a quote that nobody has read. */
const readMs = 700;
/** Codes of errors after which the server may have the order. */
const undecided: ReadonlySet<string> = new Set(['NETWORK', 'TIMEOUT', 'MALFORMED', 'INTERNAL', 'IDEMPOTENCY_IN_PROGRESS']);

/** An order with its Idempotency-Key. If it is sent again, the server still places it once. */
interface Attempt {
  readonly wish: OrderWish;
  readonly idempotencyKey: string;
}

export interface MovedOrder {
  readonly wish: OrderWish;
  readonly quote: QuoteObject | null;
}

export interface Placing {
  /** The side whose request is under way. */
  readonly busy: Side | null;
  /** Whether that request is, or the last one was, a simulation. */
  readonly isDry: boolean;
  /** No other order can be placed now. */
  readonly isLocked: boolean;
  readonly answer: TradeAnswer | null;
  readonly fault: string | null;
  /** The order that was refused because the market has left its quote, with the new quote if the server knew it. */
  readonly moved: MovedOrder | null;
  /** No answer says whether the server has the order. */
  readonly isUnknown: boolean;
  readonly refuse: (fault: string) => void;
  readonly place: (wish: OrderWish) => void;
  /** Places the order if it spends no real coins; otherwise calls `ask`. With `always` it calls `ask` in any case. */
  readonly placeOrAsk: (wish: OrderWish, ask: (wish: OrderWish, isReal: boolean) => void, always: boolean) => void;
  /** Sends the order whose outcome is unknown again. */
  readonly sendAgain: () => void;
  /** Gives up finding out whether the server has the order. */
  readonly forget: () => void;
}

/** Places one order at a time. */
export function usePlacing(): Placing {
  const underWay = useRef(false);
  const [isSettling, setSettling] = useState(false);
  const [busy, setBusy] = useState<Side | null>(null);
  const [isDry, setDry] = useState(false);
  const [answer, setAnswer] = useState<TradeAnswer | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [moved, setMoved] = useState<MovedOrder | null>(null);
  const [unknown, setUnknown] = useState<Attempt | null>(null);

  const unlock = (): void => {
    underWay.current = false;
    setSettling(false);
  };
  const send = async (attempt: Attempt): Promise<void> => {
    // Two clicks can arrive before the buttons are disabled.
    if (underWay.current) return;
    underWay.current = true;
    const { side, amount, body } = attempt.wish;
    setSettling(true);
    setBusy(side);
    setDry(body.dryRun === true);
    setFault(null);
    setAnswer(null);
    setMoved(null);
    try {
      const { idempotencyKey } = attempt;
      setAnswer(
        side === 'buy'
          ? await sluice.buy({ ...body, amount: Number(amount) }, { idempotencyKey })
          : await sluice.sell({ ...body, amount }, { idempotencyKey }),
      );
      setUnknown(null);
    } catch (error) {
      const isUndecided = error instanceof SluiceError && undecided.has(error.code) && body.dryRun !== true;
      setUnknown(isUndecided ? attempt : null);
      setFault(orderFault(error));
      setBusy(null);
      if (!(error instanceof SluiceError) || error.code !== 'SLIPPAGE_EXCEEDED') return unlock();
      setMoved({ wish: attempt.wish, quote: (error.details['quote'] as QuoteObject | undefined) ?? null });
      setTimeout(unlock, readMs);
      return;
    }
    setBusy(null);
    setTimeout(unlock, settleMs);
  };

  const place = (wish: OrderWish): void => void send({ wish, idempotencyKey: newKey() });
  const placeOrAsk = async (...[wish, ask, always]: Parameters<Placing['placeOrAsk']>): Promise<void> => {
    // A slow answer to a second click must not place a second order after the first one is done.
    if (underWay.current) return;
    underWay.current = true;
    setSettling(true);
    // Until the answer arrives, the refusal of the last order would look like the answer.
    setFault(null);
    setMoved(null);
    try {
      const isReal = await spendsRealCoins();
      unlock();
      if (isReal || always) ask(wish, isReal);
      else place(wish);
    } catch (error) {
      unlock();
      setFault(faultText(error));
    }
  };

  return {
    busy,
    isDry,
    isLocked: isSettling || unknown !== null,
    answer,
    fault,
    moved,
    isUnknown: unknown !== null && busy === null,
    refuse: setFault,
    place,
    placeOrAsk: (...parts) => void placeOrAsk(...parts),
    sendAgain: () => void (unknown !== null && send(unknown)),
    forget: () => {
      setUnknown(null);
      setFault(null);
    },
  };
}

/** 32 hexadecimal digits. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
