import { useEffect, useState } from 'preact/hooks';
import { me } from '../../state/server.ts';
import { quoteSymbol } from '../../format/quote-coin.ts';
import { Button, Fault } from '../../parts/parts.tsx';
import { shownSymbol, type NamedToken } from '../../parts/token-name.tsx';
import { useStore } from '../../state/store.ts';
import { useShortcut } from '../../app/shortcuts.tsx';
import { newKey } from '../orders/attempts.ts';
import { ExitInputs } from '../triggers/exit-fields.tsx';
import { exitsOf, hasExits, type ExitFields } from '../triggers/exits.ts';
import { amountFor, isPart, readTerms, type Side } from './amounts.ts';
import { ConfirmOrder, type OrderWish } from './confirm-order.tsx';
import { useLiveQuotes, type LiveQuotes } from './live-quotes.ts';
import type { Placing } from './placing.ts';
import { MovedPrice, Quotes } from './quotes.tsx';
import type { TicketValues } from './ticket-fields.tsx';

const sideKeys = { buy: 'b', sell: 's' } as const;

interface NowOrderProps {
  readonly token: NamedToken;
  /** The coin in which the token trades; null if that is unknown. */
  readonly quoteMint: string | null;
  /** Quote coins for one token now; null if that is unknown. */
  readonly price: number | null;
  readonly publicKey: string;
  readonly fields: TicketValues;
  readonly exits: ExitFields;
  readonly setExits: (exits: ExitFields) => void;
  readonly placing: Placing;
  /** The slot of the last own trade. */
  readonly landed: object | null;
  /** What Enter in the amount does. */
  readonly onEnter: { current: () => void };
  readonly cannot: boolean;
}

/** Buys and sells at the quote on the screen. */
export function NowOrder(props: NowOrderProps) {
  const { token, quoteMint, price, publicKey, fields, exits, setExits, placing, landed, onEnter, cannot } = props;
  const { mint } = token;
  const symbol = shownSymbol(token);
  const [asked, setAsked] = useState<{ readonly wish: OrderWish; readonly isReal: boolean } | null>(null);
  const { fault, moved, place } = placing;
  const quotes = useLiveQuotes({ mint, amount: fields.amount, slippage: fields.slippage, publicKey });
  useQuoteChanges(quotes, placing, landed, price);

  /** `always`: asks before an order that spends nothing real, too. */
  const request = (side: Side, dryRun: boolean, always = false): void => {
    const read = readTerms(side, fields, quoteSymbol(quoteMint));
    if (typeof read === 'string') return placing.refuse(read);
    const sales = side === 'buy' ? exitsOf(exits, newKey()) : [];
    if (typeof sales === 'string') return placing.refuse(sales);
    const { amount, ...terms } = read;
    const body = { publicKey, mint, ...terms, ...(dryRun && { dryRun }) };
    const asks = { side, amount, symbol, quoteMint, shown: null, exits: sales, askedAtMs: Date.now(), body };
    const wish = atQuote(asks, quotes);
    if (dryRun) return place(wish);
    placing.placeOrAsk(wish, (real, isReal) => setAsked({ wish: real, isReal }), always);
  };
  /** The fields still ask for this order. */
  const isSame = ({ side, amount, body }: OrderWish): boolean =>
    amountFor(side, fields.amount) === amount && Number(fields.slippage) === body.slippage && publicKey === body.publicKey;
  const press = (side: Side, dryRun: boolean): void => {
    if (!cannot) request(side, dryRun, true);
  };
  useShortcut(sideKeys.buy, () => press('buy', false));
  useShortcut(sideKeys.sell, () => press('sell', false));
  useEffect(() => {
    onEnter.current = () => press(isPart(fields.amount) ? 'sell' : 'buy', true);
    return () => void (onEnter.current = () => {});
  });

  return (
    <>
      <Quotes quotes={quotes} symbol={symbol} />
      <ExitInputs fields={exits} onChange={setExits} />
      <div class="pair actions">
        {(['buy', 'sell'] as const).map((side) => (
          <SideButtons
            key={side}
            side={side}
            cannot={cannot}
            isQuoted={quotes[side].shown !== null}
            hasExits={hasExits(exits)}
            placing={placing}
            onPress={request}
          />
        ))}
      </div>
      <Fault text={fault} />
      {moved !== null && isSame(moved.wish) && (
        <MovedPrice
          wish={moved.wish}
          quote={quotes[moved.wish.side]}
          disabled={cannot}
          onTake={() => place(atQuote({ ...moved.wish, shown: null }, quotes))}
        />
      )}
      {placing.isUnknown && <UnknownOrder placing={placing} />}
      {asked !== null && (
        <ConfirmOrder
          {...asked}
          token={token}
          quote={quotes[asked.wish.side]}
          onClose={() => setAsked(null)}
          onConfirm={() => place(atQuote(asked.wish, quotes))}
        />
      )}
    </>
  );
}

/** The quotes of the ticket follow its orders and the price. */
function useQuoteChanges(quotes: LiveQuotes, { moved }: Placing, landed: object | null, price: number | null): void {
  useEffect(() => {
    if (moved !== null) quotes.replace(moved.wish.side, moved.quote);
  }, [moved]);
  useEffect(() => quotes.refresh(), [landed]);
  useEffect(() => quotes.priceChanged(), [price]);
}

/** The order with the bounds of the quote that is on the screen now. */
function atQuote(wish: OrderWish, quotes: LiveQuotes): OrderWish {
  const { side, amount, body } = wish;
  const bounds = quotes.boundsOf(side);
  if (bounds === null) return wish;
  const { minOut, maxIn } = bounds;
  // The balance may grow before the order arrives. A part of it is then no more than what was shown.
  return { ...wish, shown: quotes[side].shown, body: { ...body, minOut, ...(typeof amount === 'string' && { maxIn }) } };
}

function SideButtons(props: {
  readonly side: Side;
  readonly cannot: boolean;
  /** Without a quote on the screen nothing is bought or sold. */
  readonly isQuoted: boolean;
  readonly hasExits: boolean;
  readonly placing: Placing;
  readonly onPress: (side: Side, dryRun: boolean) => void;
}) {
  const { side, cannot, isQuoted, placing, onPress } = props;
  const verb = side === 'sell' ? 'Sell' : props.hasExits ? 'Buy with exits' : 'Buy';
  const { busy, isDry } = placing;
  const isPaper = useStore(me)?.trading === 'paper';
  return (
    <div>
      <Button
        class={side}
        disabled={cannot || !isQuoted}
        title={`Key ${sideKeys[side].toUpperCase()}: asks first`}
        aria-keyshortcuts={sideKeys[side]}
        onClick={() => onPress(side, false)}
      >
        {busy === side && !isDry ? 'Sending …' : verb}
      </Button>
      <Button
        class="small"
        disabled={cannot}
        aria-label={side === 'buy' ? 'Simulate the purchase' : 'Simulate the sale'}
        title={
          isPaper ? 'Checks the order at its quote. Nothing is stored.' : 'Builds and simulates the transaction. Nothing is signed or sent.'
        }
        onClick={() => onPress(side, true)}
      >
        {busy === side && isDry ? 'Simulating …' : 'Simulate'}
      </Button>
    </div>
  );
}

function UnknownOrder({ placing: { sendAgain, forget } }: { readonly placing: Placing }) {
  return (
    <div class="warn" role="alert">
      <p>The server may have this order. If you send it again, the server still places it only once.</p>
      <div class="row">
        <Button onClick={sendAgain}>Send it again</Button>
        <Button onClick={forget}>I have checked Orders</Button>
      </div>
    </div>
  );
}
