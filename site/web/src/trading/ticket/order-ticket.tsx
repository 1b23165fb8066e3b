import type { Trade } from '@sluice/client';
import { isTradedVenue, venueLabel } from '@sluice/shared/wire/venues.ts';
import { useEffect, useState } from 'preact/hooks';
import { me } from '../../state/server.ts';
import { presetsOf, quoteSymbol } from '../../format/quote-coin.ts';
import { shortAddress } from '../../format/text.ts';
import { ModeBadge } from '../../parts/mode.tsx';
import { OrderProgress } from '../orders/progress.tsx';
import { Button, Card, Fault, Select } from '../../parts/parts.tsx';
import { MintEnds, NameWarning, shownSymbol, type NamedToken } from '../../parts/token-name.tsx';
import { useStore } from '../../state/store.ts';
import { useShortcut } from '../../app/shortcuts.tsx';
import { useChosenWallet, useOwnWallets, type OwnWallet } from '../../parts/own-wallets.ts';
import { BalanceLine, useBalances } from './balances.tsx';
import { amountFor, isNumber, isPart, isSlippage, type Side } from './amounts.ts';
import { ConfirmOrder, type OrderWish } from './confirm-order.tsx';
import { useLiveQuotes, type LiveQuotes } from './live-quotes.ts';
import { usePlacing, type Placing } from './placing.ts';
import { MovedPrice, Quotes } from './quotes.tsx';
import { TicketFields, type TicketValues } from './ticket-fields.tsx';

interface TicketProps extends NamedToken {
  /** The coin in which the token trades; null if that is unknown. */
  readonly quoteMint: string | null;
  /** Quote coins for one token now; null if that is unknown. */
  readonly price: number | null;
  /** The venues of its pools. */
  readonly venues: readonly string[];
  /** The newest trades, newest first. */
  readonly trades: readonly Trade[];
  /** An own trade is in a block, or filled on paper. */
  readonly onTraded: () => void;
}

const sideKeys = { buy: 'b', sell: 's' } as const;

export function Ticket({ mint, symbol: raw, name, quoteMint, price, venues, trades, onTraded }: TicketProps) {
  const token: NamedToken = { mint, symbol: raw, name };
  const symbol = shownSymbol(token);
  const isTraded = venues.length === 0 || venues.some(isTradedVenue);
  const quote = quoteSymbol(quoteMint);
  const mode = useStore(me)?.trading ?? 'off';
  const wallets = useOwnWallets();
  const [publicKey, setWallet] = useChosenWallet(wallets.value);
  const [fields, setFields] = useState<TicketValues>({ amount: presetsOf(quoteMint)[0]!, slippage: '10', priorityFee: '' });
  const [asked, setAsked] = useState<{ readonly wish: OrderWish; readonly isReal: boolean } | null>(null);
  /** Its own last trade. */
  const [landed, setLanded] = useState<{ readonly slot: number } | null>(null);
  const placing = usePlacing();
  const { answer, fault, moved, place } = placing;
  const quotes = useLiveQuotes({ mint, amount: fields.amount, slippage: fields.slippage, publicKey });
  useQuoteChanges(quotes, placing, landed, price);
  const lastTrade = trades.find(({ trader }) => trader === publicKey)?.id ?? null;
  const balances = useBalances({ publicKey, mint, quoteMint, landed, lastTrade });

  /** `always`: asks before an order that spends nothing real, too. */
  const request = (side: Side, dryRun: boolean, always = false): void => {
    const read = readFields(side, fields, quote);
    if (typeof read === 'string') return placing.refuse(read);
    const { amount, ...terms } = read;
    const body = { publicKey, mint, ...terms, ...(dryRun && { dryRun }) };
    const wish = atQuote({ side, amount, symbol, quoteMint, shown: null, body }, quotes);
    if (dryRun) return place(wish);
    placing.placeOrAsk(wish, (asks, isReal) => setAsked({ wish: asks, isReal }), always);
  };
  /** The fields still ask for this order. */
  const isSame = ({ side, amount, body }: OrderWish): boolean =>
    amountFor(side, fields.amount) === amount && Number(fields.slippage) === body.slippage && publicKey === body.publicKey;
  const cannot = placing.isLocked || publicKey === '' || mode === 'off' || !isTraded;
  const press = (side: Side, dryRun: boolean): void => {
    if (!cannot) request(side, dryRun, true);
  };
  const onLanded = (slot: number): void => {
    setLanded({ slot });
    onTraded();
  };
  useShortcut(sideKeys.buy, () => press('buy', false));
  useShortcut(sideKeys.sell, () => press('sell', false));

  return (
    <Card id="ticket" title="Order" class="ticket" aside={<ModeBadge />}>
      <TicketHead token={token} mode={mode} />
      {!isTraded && <p class="warn">sluice quotes this token, but sends no orders to its venue ({venues.map(venueLabel).join(', ')}).</p>}
      <WalletChoice mode={mode} wallets={wallets.value} chosen={publicKey} onChange={setWallet} />
      <TicketFields
        symbol={symbol}
        quoteMint={quoteMint}
        held={balances?.tokens ?? null}
        fields={fields}
        onChange={setFields}
        onEnter={() => press(isPart(fields.amount) ? 'sell' : 'buy', true)}
      />
      {balances !== null && <BalanceLine balances={balances} symbol={symbol} quoteMint={quoteMint} price={price} />}
      <Quotes quotes={quotes} symbol={symbol} />
      <div class="pair actions">
        {(['buy', 'sell'] as const).map((side) => (
          <SideButtons key={side} side={side} cannot={cannot} isQuoted={quotes[side].shown !== null} placing={placing} onPress={request} />
        ))}
      </div>
      <Fault text={fault ?? wallets.fault} />
      {moved !== null && isSame(moved.wish) && (
        <MovedPrice
          wish={moved.wish}
          quote={quotes[moved.wish.side]}
          disabled={cannot}
          onTake={() => place(atQuote({ ...moved.wish, shown: null }, quotes))}
        />
      )}
      {placing.isUnknown && <UnknownOrder placing={placing} />}
      {answer !== null && <OrderProgress key={answer.orderId ?? answer.signature} answer={answer} symbol={symbol} onLanded={onLanded} />}
      {asked !== null && (
        <ConfirmOrder
          {...asked}
          token={token}
          quote={quotes[asked.wish.side]}
          onClose={() => setAsked(null)}
          onConfirm={() => place(atQuote(asked.wish, quotes))}
        />
      )}
    </Card>
  );
}

function TicketHead({ token, mode }: { readonly token: NamedToken; readonly mode: string }) {
  return (
    <>
      <p class="ticket-token">
        <b>
          <bdi>{shownSymbol(token)}</bdi>
        </b>{' '}
        <MintEnds mint={token.mint} />
      </p>
      <NameWarning {...token} />
      {mode === 'paper' && (
        <p class="hint">Paper: an order is filled at its quote, from the paper balance of the wallet. Nothing is sent.</p>
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

/** The terms of an order, or what is wrong with a field. */
function readFields(
  side: Side,
  fields: TicketValues,
  quote: string,
): { readonly amount: number | string; readonly slippage: number; readonly priorityFee?: number } | string {
  const amount = amountFor(side, fields.amount);
  const fee = fields.priorityFee.trim();
  if (amount === null) return side === 'buy' ? `Amount: ${quote} to spend, for example 0.1.` : 'Amount: tokens, or a part such as 50%.';
  if (!isSlippage(fields.slippage)) return 'Slippage: a percentage from 0.1 to 50, for example 10.';
  if (fee !== '' && !isNumber(fee)) return 'Priority fee: SOL, for example 0.0001.';
  return { amount, slippage: Number(fields.slippage), ...(fee !== '' && { priorityFee: Number(fee) }) };
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
  readonly placing: Placing;
  readonly onPress: (side: Side, dryRun: boolean) => void;
}) {
  const { side, cannot, isQuoted, placing, onPress } = props;
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
        {busy === side && !isDry ? 'Sending …' : side === 'buy' ? 'Buy' : 'Sell'}
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

function WalletChoice(props: {
  readonly mode: string;
  readonly wallets: readonly OwnWallet[] | null;
  readonly chosen: string;
  readonly onChange: (publicKey: string) => void;
}) {
  const { mode, wallets, chosen, onChange } = props;
  return (
    <>
      {mode === 'off' && <p class="warn">Trading is off on this server. The setting TRADING turns it on.</p>}
      {wallets?.length === 0 && (
        <p class="warn">
          Your account has no wallet on this server. Create or import one in <a href="#/wallets">Wallets</a>.
        </p>
      )}
      {wallets !== null && wallets.length > 1 && (
        <Select
          label="Wallet"
          value={chosen}
          onChange={onChange}
          options={wallets.map((one) => [one.publicKey, `${one.label ?? 'Wallet'} ${shortAddress(one.publicKey)}`] as const)}
        />
      )}
    </>
  );
}
