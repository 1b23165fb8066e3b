import { SluiceError, type TradeAnswer } from '@sluice/client';
import { useRef, useState } from 'preact/hooks';
import { faultText, sluice, spendsRealCoins } from '../../state/server.ts';
import { newKey, undecided } from '../orders/attempts.ts';
import { orderFault } from '../orders/words.ts';
import type { Side } from './amounts.ts';
import type { Armed } from '../triggers/progress.tsx';
import type { OrderWish } from './confirm-order.tsx';
import { buyWithExits } from './exit-order.ts';
import type { QuoteObject } from './screen-quotes.ts';

/** Clicks within this time after an order do nothing: the second click of a double click must not buy again. */
const settleMs = 1_000;
/** After a refusal for a moved price, the second click of a double click must not take a quote that nobody has read. */
const readMs = 700;
/** An order with its Idempotency-Key. If it is sent again, the server still places it once. */
interface Attempt {
  readonly wish: OrderWish;
  readonly idempotencyKey: string;
}

interface PlacingState {
  /** The side whose request is under way. */
  readonly busy: Side | null;
  /** Whether that request is, or the last one was, a simulation. */
  readonly isDry: boolean;
  /** An order is being placed, or was a moment ago. */
  readonly isSettling: boolean;
  readonly answer: TradeAnswer | null;
  /** The last order, if it was a buy with exits. */
  readonly armed: Armed | null;
  readonly fault: string | null;
  /** The order that was refused because the market has left its quote, with the new quote if the server knew it. */
  readonly moved: { readonly wish: OrderWish; readonly quote: QuoteObject | null } | null;
  /** The order of which no answer says whether the server has it. */
  readonly unknown: Attempt | null;
}

const idle: PlacingState = {
  busy: null,
  isDry: false,
  isSettling: false,
  answer: null,
  armed: null,
  fault: null,
  moved: null,
  unknown: null,
};

async function request({ wish, idempotencyKey }: Attempt): Promise<Pick<PlacingState, 'answer'> | Pick<PlacingState, 'armed'>> {
  const { side, amount, body, exits } = wish;
  if (exits.length > 0 && body.dryRun !== true) {
    return { armed: { trigger: await sluice.triggers.arm(buyWithExits(wish), { idempotencyKey }), exits: exits.length } };
  }
  if (side === 'buy') return { answer: await sluice.buy({ ...body, amount: Number(amount) }, { idempotencyKey }) };
  return { answer: await sluice.sell({ ...body, amount }, { idempotencyKey }) };
}

export type Placing = ReturnType<typeof usePlacing>;

/** Places one order at a time. */
export function usePlacing() {
  /** Two clicks can arrive before the buttons are disabled. */
  const underWay = useRef(false);
  const [state, setState] = useState(idle);
  const set = (change: Partial<PlacingState>): void => setState((last) => ({ ...last, ...change }));
  const lock = (change: Partial<PlacingState> = {}): void => {
    underWay.current = true;
    // The refusal of the last order would look like the answer.
    set({ isSettling: true, fault: null, moved: null, ...change });
  };
  const unlock = (): void => {
    underWay.current = false;
    set({ isSettling: false });
  };

  const send = async (attempt: Attempt): Promise<void> => {
    if (underWay.current) return;
    const { wish } = attempt;
    const { side, body } = wish;
    lock({ busy: side, isDry: body.dryRun === true, answer: null, armed: null });
    try {
      set({ busy: null, unknown: null, ...(await request(attempt)) });
      setTimeout(unlock, settleMs);
    } catch (error) {
      const { code = '', details = {} } = error instanceof SluiceError ? error : {};
      const isMoved = code === 'SLIPPAGE_EXCEEDED';
      set({
        busy: null,
        fault: orderFault(error),
        unknown: undecided.has(code) && body.dryRun !== true ? attempt : null,
        moved: isMoved ? { wish, quote: (details['quote'] as QuoteObject | undefined) ?? null } : null,
      });
      if (isMoved) setTimeout(unlock, readMs);
      else unlock();
    }
  };
  const place = (wish: OrderWish): void => void send({ wish, idempotencyKey: newKey() });

  const placeOrAsk = async (wish: OrderWish, ask: (wish: OrderWish, isReal: boolean) => void, always: boolean): Promise<void> => {
    // A slow answer to a second click must not place a second order after the first one is done.
    if (underWay.current) return;
    lock();
    try {
      const isReal = await spendsRealCoins();
      unlock();
      if (isReal || always) ask(wish, isReal);
      else place(wish);
    } catch (error) {
      unlock();
      set({ fault: faultText(error) });
    }
  };

  const { isSettling, unknown, ...shown } = state;
  return {
    ...shown,
    /** No other order can be placed now. */
    isLocked: isSettling || unknown !== null,
    isUnknown: unknown !== null && shown.busy === null,
    refuse: (fault: string) => set({ fault }),
    place,
    /** Places the order if it spends no real coins; otherwise calls `ask`. With `always` it calls `ask` in any case. */
    placeOrAsk: (...parts: Parameters<typeof placeOrAsk>) => void placeOrAsk(...parts),
    /** Sends the order whose outcome is unknown again. */
    sendAgain: () => void (unknown !== null && send(unknown)),
    /** Gives up finding out whether the server has the order. */
    forget: () => set({ unknown: null, fault: null }),
  };
}
