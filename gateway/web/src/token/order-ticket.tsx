import { useState } from 'preact/hooks';
import { me } from '../state/server.ts';
import { quoteSymbol } from '../format/quote-coin.ts';
import { shortAddress } from '../format/text.ts';
import { ModeBadge } from '../orders/mode.tsx';
import { OrderProgress } from '../orders/progress.tsx';
import { Fault } from '../parts/parts.tsx';
import { useStore } from '../state/store.ts';
import { useOwnWallets, type OwnWallet } from '../wallets/own-wallets.ts';
import { amountFor, isNumber, isSlippage, type Side } from './amounts.ts';
import { ConfirmOrder, type OrderWish } from './confirm-order.tsx';
import { usePlacing } from './placing.ts';
import { tradedVenues } from '../format/venues.ts';
import { Quotes } from './quotes.tsx';
import { TicketFields, type TicketValues } from './ticket-fields.tsx';

interface TicketProps {
  readonly mint: string;
  readonly symbol: string;
  /** The coin in which the token trades; null if that is unknown. */
  readonly quoteMint: string | null;
  /** The venues of its pools. */
  readonly venues: readonly string[];
}

export function Ticket({ mint, symbol, quoteMint, venues }: TicketProps) {
  const isTraded = venues.length === 0 || venues.some((venue) => tradedVenues.has(venue));
  const quote = quoteSymbol(quoteMint);
  const mode = useStore(me)?.trading ?? 'off';
  const wallets = useOwnWallets();
  const [wallet, setWallet] = useState('');
  const [fields, setFields] = useState<TicketValues>({ amount: '0.1', slippage: '10', priorityFee: '' });
  const [asked, setAsked] = useState<OrderWish | null>(null);
  const { busy, isDry, isLocked, answer, fault, isUnknown, refuse, place, placeOrAsk, sendAgain, forget } = usePlacing();
  const publicKey = wallet === '' ? (wallets.value?.at(-1)?.publicKey ?? '') : wallet;

  const request = (side: Side, dryRun: boolean): void => {
    const amount = amountFor(side, fields.amount);
    if (amount === null)
      return refuse(side === 'buy' ? `Amount: ${quote} to spend, for example 0.1.` : 'Amount: tokens, or a part such as 50%.');
    if (!isSlippage(fields.slippage)) return refuse('Slippage: a percentage from 0.1 to 50, for example 10.');
    if (fields.priorityFee.trim() !== '' && !isNumber(fields.priorityFee)) return refuse('Priority fee: SOL, for example 0.0001.');
    const body = {
      publicKey,
      mint,
      slippage: Number(fields.slippage),
      ...(fields.priorityFee.trim() !== '' && { priorityFee: Number(fields.priorityFee) }),
      ...(dryRun && { dryRun }),
    };
    const wish = { side, amount, symbol, quoteMint, body };
    if (dryRun) return place(wish);
    placeOrAsk(wish, setAsked);
  };
  const cannot = isLocked || publicKey === '' || mode === 'off' || !isTraded;
  const buttons = (side: Side, text: string, what: string) => (
    <div>
      <button type="button" class={side} disabled={cannot} onClick={() => request(side, false)}>
        {busy === side && !isDry ? 'Sending …' : text}
      </button>
      <button
        type="button"
        class="small"
        disabled={cannot}
        aria-label={`Simulate ${what}`}
        title={
          mode === 'paper'
            ? 'Checks the order at its quote. Nothing is stored.'
            : 'Builds and simulates the transaction. Nothing is signed or sent.'
        }
        onClick={() => request(side, true)}
      >
        {busy === side && isDry ? 'Simulating …' : 'Simulate'}
      </button>
    </div>
  );

  return (
    <section class="card ticket" aria-labelledby="ticket">
      <div class="row between">
        <h2 id="ticket">Order</h2>
        <ModeBadge />
      </div>
      {mode === 'paper' && (
        <p class="hint">
          Paper: an order is filled at its quote, and nothing is sent. Balances are still those of the chain, so tokens bought on paper
          cannot be sold.
        </p>
      )}
      {!isTraded && <p class="warn">sluice quotes this token, but sends no orders to its venue ({venues.join(', ')}).</p>}
      <WalletChoice mode={mode} wallets={wallets.value} chosen={publicKey} onChange={setWallet} />
      <TicketFields symbol={symbol} quote={quote} fields={fields} onChange={setFields} />
      <Quotes mint={mint} symbol={symbol} amount={fields.amount} slippage={fields.slippage} publicKey={publicKey} />
      <div class="pair actions">
        {buttons('buy', 'Buy', 'the purchase')}
        {buttons('sell', 'Sell', 'the sale')}
      </div>
      <Fault text={fault ?? wallets.fault} />
      {isUnknown && (
        <div class="warn" role="alert">
          <p>The server may have this order. If you send it again, the server still places it only once.</p>
          <div class="row">
            <button type="button" onClick={sendAgain}>
              Send it again
            </button>
            <button type="button" onClick={forget}>
              I have checked Orders
            </button>
          </div>
        </div>
      )}
      {answer !== null && <OrderProgress key={answer.orderId ?? answer.signature} answer={answer} symbol={symbol} />}
      {asked !== null && <ConfirmOrder wish={asked} onClose={() => setAsked(null)} onConfirm={() => place(asked)} />}
    </section>
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
      {wallets !== null && wallets.length === 0 && (
        <p class="warn">Your account has no wallet on this server. The operator makes one: sluice wallets create.</p>
      )}
      {(wallets ?? []).length > 1 && (
        <label>
          <span>Wallet</span>
          <select value={chosen} onChange={(event) => onChange(event.currentTarget.value)}>
            {wallets!.map((one) => (
              <option key={one.publicKey} value={one.publicKey}>
                {one.label ?? 'Wallet'} {shortAddress(one.publicKey)}
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}
