import type { TradeAnswer } from '@sluice/client';
import { useEffect, useState } from 'preact/hooks';
import { me, simulated, sluice } from '../app/server.ts';
import { shortAddress } from '../format/text.ts';
import { OrderProgress } from '../orders/progress.tsx';
import { Fault } from '../parts/parts.tsx';
import { useStore } from '../parts/store.ts';
import { useOwnWallets, type OwnWallet } from '../wallets/own-wallets.ts';
import { amountFor, orderFault, type Side } from './amounts.ts';
import { Quotes } from './quotes.tsx';
import { TicketFields, type TicketValues } from './ticket-fields.tsx';

/** How long a second click confirms a live order, milliseconds. */
const confirmMs = 5_000;
export function Ticket({ mint, symbol }: { readonly mint: string; readonly symbol: string }) {
  const mode = useStore(me)?.trading ?? 'off';
  const isSimulated = useStore(simulated) === true;
  const wallets = useOwnWallets();
  const [wallet, setWallet] = useState('');
  const [fields, setFields] = useState<TicketValues>({ amount: '0.1', slippage: '10', priorityFee: '', dryRun: false });
  const [fault, setFault] = useState<string | null>(null);
  const [armed, setArmed] = useState<Side | null>(null);
  const [busy, setBusy] = useState<Side | null>(null);
  const [answer, setAnswer] = useState<TradeAnswer | null>(null);
  const publicKey = wallet === '' ? (wallets.value?.at(-1)?.publicKey ?? '') : wallet;
  useEffect(() => {
    const timer = setTimeout(() => setArmed(null), confirmMs);
    return () => clearTimeout(timer);
  }, [armed]);
  const isReal = mode === 'live' && !isSimulated && !fields.dryRun;

  const place = async (side: Side): Promise<void> => {
    const amount = amountFor(side, fields.amount);
    if (amount === null)
      return setFault(side === 'buy' ? 'Amount: SOL to spend, for example 0.1.' : 'Amount: tokens, or a part such as 50%.');
    if (isReal && armed !== side) return setArmed(side);
    setArmed(null);
    setFault(null);
    setBusy(side);
    const body = {
      publicKey,
      mint,
      slippage: Number(fields.slippage),
      ...(fields.priorityFee.trim() !== '' && { priorityFee: Number(fields.priorityFee) }),
      ...(fields.dryRun && { dryRun: true }),
    };
    try {
      setAnswer(side === 'buy' ? await sluice.buy({ ...body, amount: Number(amount) }) : await sluice.sell({ ...body, amount }));
    } catch (error) {
      setFault(orderFault(error));
    } finally {
      setBusy(null);
    }
  };
  const button = (side: Side, text: string) => (
    <button type="button" class={side} disabled={busy !== null || publicKey === '' || mode === 'off'} onClick={() => void place(side)}>
      {busy === side ? 'Sending …' : armed === side ? `Confirm: ${text.toLowerCase()} ${fields.amount}` : text}
    </button>
  );

  return (
    <section class="card ticket" aria-labelledby="ticket">
      <div class="row between">
        <h2 id="ticket">Order</h2>
        <ModeBadge mode={mode} isSimulated={isSimulated} />
      </div>
      <WalletChoice mode={mode} wallets={wallets.value} chosen={publicKey} onChange={setWallet} />
      <TicketFields symbol={symbol} fields={fields} onChange={setFields} />
      <Quotes mint={mint} symbol={symbol} amount={fields.amount} slippage={fields.slippage} publicKey={publicKey} />
      <div class="pair actions">
        {button('buy', 'Buy')}
        {button('sell', 'Sell')}
      </div>
      <Fault text={fault ?? wallets.fault} />
      {answer !== null && <OrderProgress key={answer.orderId ?? answer.signature} answer={answer} symbol={symbol} />}
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

export function ModeBadge({ mode, isSimulated }: { readonly mode: 'off' | 'paper' | 'live'; readonly isSimulated: boolean }) {
  if (mode === 'live') return <span class={`badge ${isSimulated ? 'simulated' : 'live'}`}>{isSimulated ? 'live on simnet' : 'live'}</span>;
  return <span class={`badge ${mode}`}>{mode === 'paper' ? 'paper' : 'trading off'}</span>;
}
