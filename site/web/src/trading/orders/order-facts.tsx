import type { OrderObject } from '@sluice/client';
import { price, sol } from '../../format/price.ts';
import { inQuoteCoin, quoteSymbol } from '../../format/quote-coin.ts';
import { dateTime, shortAddress } from '../../format/text.ts';
import { explorerTx, OutLink, WalletLink } from '../../parts/links.tsx';
import { Fact } from '../../parts/parts.tsx';
import { simulated } from '../../state/server.ts';
import { useStore } from '../../state/store.ts';
import { aboutRent, errorText, stateText } from './words.ts';

/** What is known of an order. */
export function OrderFacts({ order }: { readonly order: OrderObject }) {
  const { fill, signature, publicKey, quote } = order;
  const coin = quoteSymbol(order.quoteMint);
  const isSimulated = useStore(simulated) === true;
  return (
    <dl class="facts list">
      <Fact name="State">{stateText(order.status, order.kind === 'paper')}</Fact>
      {order.error !== null && <Fact name="Reason">{errorText(order.error)}</Fact>}
      <Fact name="Placed">{dateTime(order.createdAtMs)}</Fact>
      <Fact name="Order">{order.orderId}</Fact>
      {publicKey !== null && (
        <Fact name="Wallet">
          <WalletLink address={publicKey} />
        </Fact>
      )}
      {quote !== null && <Fact name={`Quoted price in ${coin}`}>{price(quote.price)}</Fact>}
      {fill !== null && <Fact name={`Filled at, in ${coin}`}>{price(fill.price)}</Fact>}
      {fill !== null && <Fact name="Fees of the venue">{inQuoteCoin(fill.venueFeesUi, order.quoteMint)}</Fact>}
      {fill !== null && <Fact name="Network fee">{sol(Number(fill.networkFee) / 1e9)}</Fact>}
      {fill !== null && (
        <Fact name="Rent and tips" title={`${aboutRent} Less than 0: the wallet got rent back.`}>
          {sol(Number(fill.otherLamports) / 1e9)}
        </Fact>
      )}
      {fill !== null && <Fact name="Slot">{fill.slot.toLocaleString('en-US')}</Fact>}
      {signature !== null && (
        <Fact name="Transaction" title={signature}>
          {isSimulated ? <code>{shortAddress(signature)}</code> : <OutLink href={explorerTx(signature)}>{shortAddress(signature)}</OutLink>}
        </Fact>
      )}
      {order.timing != null && (
        <Fact
          name="Prepared in"
          title="From the request until the order could be stored and sent"
        >{`${Math.round(order.timing.totalMs)} ms`}</Fact>
      )}
    </dl>
  );
}
