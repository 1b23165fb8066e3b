import { useEffect, useState } from 'preact/hooks';
import { shortAddress } from '../../format/text.ts';
import { sol } from '../../format/price.ts';
import { inQuoteCoin } from '../../format/quote-coin.ts';
import { Dialog, Fact } from '../../parts/parts.tsx';
import { me } from '../../state/server.ts';
import { useStore } from '../../state/store.ts';
import { MintEnds, NameWarning, type NamedToken } from '../../parts/token-name.tsx';
import type { Exit } from '../triggers/exits.ts';
import { amountText, conditionText } from '../triggers/words.ts';
import type { Side } from './amounts.ts';
import type { SideQuote } from './live-quotes.ts';
import { QuoteAge, Received } from './quotes.tsx';
import type { ShownQuote } from './screen-quotes.ts';

export interface OrderWish {
  readonly side: Side;
  /** Quote coins for a buy; tokens or a percentage for a sell. */
  readonly amount: number | string;
  readonly symbol: string;
  readonly quoteMint: string | null;
  /** The quote that was on the screen; null for a simulation without one. */
  readonly shown: ShownQuote | null;
  /** Of a buy: sales that are armed with it. */
  readonly exits: readonly Exit[];
  /** Unix milliseconds. */
  readonly askedAtMs: number;
  readonly body: {
    readonly publicKey: string;
    readonly mint: string;
    readonly slippage: number;
    readonly priorityFee?: number;
    readonly dryRun?: boolean;
    readonly minOut?: string;
    readonly maxIn?: string;
  };
}

/** The second click of a double click on Buy must not confirm. */
const readyAfterMs = 700;

/** The confirmation of an order that spends real coins, or that a key asked for. The dialog opens with the focus on Cancel, so that a repeated click or key does nothing. */
export function ConfirmOrder(props: {
  readonly wish: OrderWish;
  readonly isReal: boolean;
  readonly token: NamedToken;
  /** As the market moves. The order obeys what is shown at the confirmation. */
  readonly quote: SideQuote;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}) {
  const { side, amount, symbol, quoteMint, body, exits } = props.wish;
  const { shown, fault } = props.quote;
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), readyAfterMs);
    return () => clearTimeout(timer);
  }, []);
  const { isReal } = props;
  const isPaper = useStore(me)?.trading === 'paper';
  const verb = side === 'buy' ? 'Buy' : 'Sell';
  return (
    <Dialog
      title={isReal ? `${verb} with real coins` : `${verb}${isPaper ? ' on paper' : ' on the simulated chain'}`}
      onClose={props.onClose}
    >
      {isReal ? <p class="warn">This order is sent to the chain. It cannot be undone.</p> : <p class="hint">It spends no real coins.</p>}
      <NameWarning {...props.token} />
      <dl class="facts list">
        <Fact name={side === 'buy' ? 'Spend' : 'Sell'}>
          {side === 'buy' ? (
            inQuoteCoin(Number(amount), quoteMint)
          ) : (
            <>
              {amount} <bdi>{symbol}</bdi>
            </>
          )}
        </Fact>
        <Fact name="Token">
          <bdi>{symbol}</bdi> <MintEnds mint={body.mint} />
        </Fact>
        <Fact name="Wallet" title={body.publicKey}>
          {shortAddress(body.publicKey)}
        </Fact>
        {shown === null ? (
          <Fact name="Quote">{fault ?? 'Waiting for a quote …'}</Fact>
        ) : (
          <>
            <Fact name="Receive about">
              <Received side={side} amount={shown.quote.outUiAmount} quoteMint={shown.quoteMint} symbol={symbol} />
            </Fact>
            <Fact name="At least">
              <Received side={side} amount={shown.quote.minOutUiAmount} quoteMint={shown.quoteMint} symbol={symbol} />
            </Fact>
            <Fact name="Quote">
              <QuoteAge shown={shown} />
            </Fact>
          </>
        )}
        {exits.map((exit, at) => (
          <Fact key={at} name="Then sell">
            {amountText({ ...exit, side: 'sell' })}: {conditionText({ ...exit, side: 'sell' })}
          </Fact>
        ))}
        <Fact name="Slippage at most">{`${body.slippage} %`}</Fact>
        <Fact name="Priority fee">{body.priorityFee === undefined ? 'automatic' : sol(body.priorityFee)}</Fact>
      </dl>
      <form method="dialog" class="row">
        <button type="submit" autoFocus>
          Cancel
        </button>
        <button type="submit" class={side} disabled={!isReady || shown === null} onClick={props.onConfirm}>
          {isReal ? `${verb} for real` : `${verb} now`}
        </button>
      </form>
    </Dialog>
  );
}
