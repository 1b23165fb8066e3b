import type { TokenInfo, Trade } from '@sluice/client';
import { isTradedVenue, venueLabel } from '@sluice/shared/wire/venues.ts';
import { useRef, useState } from 'preact/hooks';
import { me } from '../../state/server.ts';
import { presetsOf, quoteSymbol } from '../../format/quote-coin.ts';
import { shortAddress } from '../../format/text.ts';
import { ModeBadge } from '../../parts/mode.tsx';
import { OrderProgress, placedBy } from '../orders/progress.tsx';
import { Card, Choice, Fault, Select } from '../../parts/parts.tsx';
import { profitOf, type WalletPosition } from '../../parts/positions.ts';
import { MintEnds, NameWarning, shownSymbol, type NamedToken } from '../../parts/token-name.tsx';
import { useStore } from '../../state/store.ts';
import type { ChosenWallet, OwnWallet } from '../../parts/own-wallets.ts';
import { noExits } from '../triggers/exits.ts';
import { ArmedProgress } from '../triggers/progress.tsx';
import { ArmForm } from './arm-form.tsx';
import { BalanceLine, useBalances } from './balances.tsx';
import { NowOrder } from './now-order.tsx';
import { usePlacing } from './placing.ts';
import { PositionLine } from './position.tsx';
import { TicketFields, type TicketValues } from './ticket-fields.tsx';

interface TicketProps extends Pick<NamedToken, 'symbol' | 'name'> {
  readonly info: TokenInfo;
  /** The newest trades, newest first. */
  readonly trades: readonly Trade[];
  readonly wallet: ChosenWallet;
  /** Of the wallet in this token; null if it has none, or if it is not known. */
  readonly position: WalletPosition | null;
  /** An own trade is in a block, or filled on paper. */
  readonly onTraded: () => void;
}

/** Orders of one token: now, or when a condition holds. */
export function Ticket({ info, symbol: raw, name, trades, wallet, position, onTraded }: TicketProps) {
  const { mint, quoteMint, priceQuote } = info;
  const token: NamedToken = { mint, symbol: raw, name };
  const symbol = shownSymbol(token);
  const venues = [...new Set(info.pools.map(({ venue }) => venue))];
  const isTraded = venues.length === 0 || venues.some(isTradedVenue);
  const mode = useStore(me)?.trading ?? 'off';
  const { publicKey } = wallet;
  const [fields, setFields] = useState<TicketValues>({ amount: presetsOf(quoteMint)[0]!, slippage: '10', priorityFee: '' });
  const [exits, setExits] = useState(noExits);
  const [when, setWhen] = useState<'now' | 'later'>('now');
  /** Its own last trade. */
  const [landed, setLanded] = useState<{ readonly slot: number } | null>(null);
  const placing = usePlacing();
  const { answer, armed } = placing;
  const lastTrade = trades.find(({ trader }) => trader === publicKey)?.id ?? null;
  const balances = useBalances({ publicKey, mint, quoteMint, landed, lastTrade });
  const profit = position === null ? null : profitOf(position, info.priceSol);
  const cannot = placing.isLocked || publicKey === '' || mode === 'off' || !isTraded;
  const onLanded = (slot: number): void => {
    setLanded({ slot });
    onTraded();
  };
  const onEnter = useRef(() => {});
  return (
    <Card id="ticket" title="Order" class="ticket" aside={<ModeBadge />}>
      <TicketHead token={token} mode={mode} />
      {!isTraded && <p class="warn">sluice quotes this token, but sends no orders to its venue ({venues.map(venueLabel).join(', ')}).</p>}
      <WalletChoice mode={mode} wallet={wallet} />
      <TicketFields
        symbol={symbol}
        quoteMint={quoteMint}
        held={balances?.tokens ?? null}
        fields={fields}
        onChange={setFields}
        onEnter={() => onEnter.current()}
      />
      {balances !== null && <BalanceLine balances={balances} symbol={symbol} quoteMint={quoteMint} price={priceQuote} />}
      {position !== null && <PositionLine position={position} profit={profit} />}
      <Choice
        name="When"
        value={when}
        onChange={setWhen}
        options={[
          ['now', 'Now'],
          ['later', 'On a condition'],
        ]}
      />
      {when === 'now' ? (
        <NowOrder {...{ token, quoteMint, publicKey, fields, exits, setExits, placing, landed, onEnter, cannot }} price={priceQuote} />
      ) : (
        <ArmForm
          {...{ mint, symbol, publicKey, fields }}
          quote={quoteSymbol(quoteMint)}
          known={{ prices: info, curvePercent: info.curve?.progressPercent ?? null, profitPercent: profit?.percent ?? null }}
          disabled={cannot}
        />
      )}
      {answer !== null && (
        <OrderProgress key={answer.orderId ?? answer.signature} placed={placedBy(answer)} symbol={symbol} onLanded={onLanded} />
      )}
      {armed !== null && <ArmedProgress key={armed.trigger.triggerId} armed={armed} symbol={symbol} onLanded={onLanded} />}
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

function WalletChoice({ mode, wallet }: { readonly mode: string; readonly wallet: ChosenWallet }) {
  const { wallets, publicKey, choose, fault } = wallet;
  return (
    <>
      <Fault text={fault} />
      {mode === 'off' && <p class="warn">Trading is off on this server. The setting TRADING turns it on.</p>}
      {wallets?.length === 0 && (
        <p class="warn">
          Your account has no wallet on this server. Create or import one in <a href="#/wallets">Wallets</a>.
        </p>
      )}
      {wallets !== null && wallets.length > 1 && (
        <Select
          label="Wallet"
          value={publicKey}
          onChange={choose}
          options={wallets.map((one: OwnWallet) => [one.publicKey, `${one.label ?? 'Wallet'} ${shortAddress(one.publicKey)}`] as const)}
        />
      )}
    </>
  );
}
