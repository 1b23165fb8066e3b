import type { TokenInfo } from '@sluice/client';
import { useEffect } from 'preact/hooks';
import { simulated } from '../state/server.ts';
import { many, price, short, shortUsd, sol } from '../format/price.ts';
import { quoteSymbol } from '../format/quote-coin.ts';
import { isAddress, shortAddress } from '../format/text.ts';
import { learnImage } from '../state/metadata/images.ts';
import { learnName, nameOf } from '../state/metadata/names.ts';
import { TokenIcon } from '../parts/icon.tsx';
import { DocsLink, OutLink, tokenExplorers, WalletLink } from '../parts/links.tsx';
import { AsOf, Card, Copy, Empty, Fact, Fault } from '../parts/parts.tsx';
import { NameMark, Outside, shownSymbol, type NamedToken } from '../parts/token-name.tsx';
import { useChosenWallet } from '../parts/own-wallets.ts';
import { useStore } from '../state/store.ts';
import { CandleChart } from './chart.tsx';
import { Liquidity } from './liquidity.tsx';
import { Holders, Pools } from './pools-and-holders.tsx';
import { Tape } from '../parts/tape.tsx';
import { Ticket } from '../trading/ticket/order-ticket.tsx';
import { TokenTriggers, TriggerLines, useTokenTriggers } from './token-triggers.tsx';
import { useOwnTrades, useToken } from './use-token.ts';

const priceFaults: Readonly<Record<NonNullable<TokenInfo['priceNullReason']>, string>> = {
  no_market: 'No supported venue trades this token.',
  no_liquidity: 'Its pools have no liquidity.',
  bus_down: 'The price is unknown, because the gateway has lost its connection to ingest.',
  no_ingest: 'The price is unknown, because no ingest process runs.',
  ingest_blind: 'The price is unknown, because no node delivers events at present.',
  unknown: 'The price is not known yet.',
};

export function TokenPage({ id: mint }: { readonly id: string }) {
  const token = useToken(mint);
  const { info, fault } = token;
  useEffect(() => {
    if (info !== null) learnName(mint, { symbol: info.symbol, name: info.name });
  }, [info?.symbol]);
  const hasImage = info?.offChain?.image != null;
  useEffect(() => {
    if (hasImage) learnImage(mint);
  }, [hasImage]);
  if (info === null) return fault === null ? <Empty>Loading …</Empty> : <NoToken address={mint} fault={fault} />;
  return <KnownToken token={token} info={info} />;
}

function KnownToken({ token, info }: { readonly token: ReturnType<typeof useToken>; readonly info: TokenInfo }) {
  const { readAtMs, trades, fault, tradesFault } = token;
  const { mint } = info;
  const { symbol, name } = namesOf(info);
  const own = useOwnTrades(mint, trades);
  const isSimulated = useStore(simulated) === true || info.simulated === true;
  const wallet = useChosenWallet();
  const { triggers, costs, position, positionsFault, fault: triggersFault, fired } = useTokenTriggers(mint, wallet.publicKey);
  // On paper, the stream does not show the trade of a trigger.
  useEffect(own.refresh, [fired]);
  return (
    <>
      <Head info={info} readAtMs={readAtMs} />
      <Fault text={fault} />
      <div class="token-page">
        <div class="main-column">
          <CandleChart
            mint={mint}
            supply={info.supplyUi}
            quote={quoteSymbol(info.quoteMint)}
            own={own.marks}
            over={(scale, unit) => <TriggerLines {...{ costs, info, scale, unit }} triggers={triggers ?? []} />}
          />
          <Tape trades={trades} fault={tradesFault} isOwn={own.isOwn} isSimulated={isSimulated} />
        </div>
        <div class="side-column">
          <Ticket {...{ info, symbol, name, wallet, position }} trades={trades ?? []} onTraded={own.refresh} />
          <TokenTriggers triggers={triggers} fault={triggersFault ?? positionsFault} decimals={info.decimals} />
          <Facts info={info} readAtMs={readAtMs} isSimulated={isSimulated} />
          <Pools info={info} readAtMs={readAtMs} />
          <Liquidity mint={mint} mainPool={info.poolAddress} />
          <Holders mint={mint} creator={info.creator} />
        </div>
      </div>
    </>
  );
}

const namesOf = ({ mint, symbol, name }: TokenInfo): NamedToken => ({
  mint,
  symbol: symbol ?? nameOf(mint)?.symbol ?? null,
  name: name ?? nameOf(mint)?.name ?? null,
});

function NoToken({ address, fault }: { readonly address: string; readonly fault: string }) {
  return (
    <>
      <div class="page-head">
        <h1>Token {shortAddress(address)}</h1>
      </div>
      <Fault text={fault} />
      {isAddress(address) && (
        <p>
          If it is a wallet, open its page: <WalletLink address={address} />
        </p>
      )}
    </>
  );
}

function Head({ info, readAtMs }: { readonly info: TokenInfo; readonly readAtMs: number }) {
  const { mint } = info;
  const { symbol, name } = namesOf(info);
  return (
    <div class="token-head">
      <TokenIcon of={mint} size={52} />
      <div class="titles">
        <h1>
          <bdi>{shownSymbol({ mint, symbol })}</bdi> <small>{name !== null && name !== undefined && <Outside text={name} />}</small>{' '}
          <NameMark mint={mint} symbol={symbol} name={name} />
        </h1>
        <p class="faint">
          <code title={mint}>{shortAddress(mint)}</code> <Copy text={mint} name="Copy mint" /> <DocsLink page="http-token" about="tokens" />
        </p>
      </div>
      <dl class="facts big">
        <Fact name="Price" title="Of the newest trade, at the value of SOL now">
          {info.priceUsd === null ? price(info.priceQuote) : `$${price(info.priceUsd)}`}
        </Fact>
        <Fact name="Market cap">{shortUsd(info.marketCapUsd)}</Fact>
        <Fact name="Liquidity">{shortUsd(info.liquidityUsd)}</Fact>
        <Fact name="Volume 24h">
          {shortUsd(info.windows?.['24h'].volumeUsd)} <AsOf readAtMs={readAtMs} />
        </Fact>
      </dl>
      {info.priceNullReason !== null && <p class="warn">{priceFaults[info.priceNullReason]}</p>}
    </div>
  );
}

function Facts({ info, readAtMs, isSimulated }: { readonly info: TokenInfo; readonly readAtMs: number; readonly isSimulated: boolean }) {
  const { curve, extensions, chain } = info;
  return (
    <Card id="facts" title="About" class="about" aside={<AsOf readAtMs={readAtMs} />}>
      {curve !== null && (
        <div class="curve">
          <span>Bonding curve</span>
          <progress max="100" value={curve.complete ? 100 : (curve.progressPercent ?? 0)} aria-label="Progress of the bonding curve" />
          <b>{curve.complete ? 'complete' : curve.progressPercent === null ? '–' : `${curve.progressPercent.toFixed(1)} %`}</b>
        </div>
      )}
      {info.offChain?.description != null && (
        <p class="description">
          <bdi>{info.offChain.description.slice(0, 400)}</bdi>
        </p>
      )}
      <dl class="facts list">
        <Fact name="Price in SOL">{price(info.priceSol)}</Fact>
        <Fact name="Market cap">{sol(info.marketCapSol)}</Fact>
        <Fact name="Supply" title="Supply and authorities are read from the chain once a minute">
          {info.supplyUi === 0 ? '–' : short(info.supplyUi)} <AsOf readAtMs={readAtMs - chain.ageMs} />
        </Fact>
        <Fact name="Creator">{info.creator === null ? 'unknown' : <WalletLink address={info.creator} />}</Fact>
        {info.creatorFeeBps !== null && (
          <Fact
            name="Creator fee"
            title="What the creator receives of each trade. The venue decides unless another fee was set for this token"
          >
            {info.creatorFeeBps === 0 ? 'set by the venue' : `${info.creatorFeeBps / 100} %`}
          </Fact>
        )}
        <Fact name="Mint authority">{info.mintAuthority === null ? 'none' : shortAddress(info.mintAuthority)}</Fact>
        <Fact name="Freeze authority">{info.freezeAuthority === null ? 'none' : shortAddress(info.freezeAuthority)}</Fact>
        {extensions.transferFee !== null && <Fact name="Transfer fee">{`${extensions.transferFee.bps / 100} %`}</Fact>}
        {info.windows !== null &&
          (['5m', '1h', '24h'] as const).map((span) => (
            <Fact key={span} name={`Trades ${span}`}>
              <span class="buy">{many(info.windows![span].buys, 'buy')}</span>,{' '}
              <span class="sell">{many(info.windows![span].sells, 'sell')}</span>{' '}
              <span class="faint">{shortUsd(info.windows![span].volumeUsd)}</span>
            </Fact>
          ))}
      </dl>
      <p class="row out">
        {isSimulated ? (
          <span class="faint">Public explorers do not know the simulated chain.</span>
        ) : (
          tokenExplorers(info.mint).map(([text, href]) => (
            <OutLink key={href} href={href}>
              {text}
            </OutLink>
          ))
        )}
        {(['website', 'twitter', 'telegram'] as const).map((name) => {
          const href = info.offChain?.[name] ?? '';
          return /^https?:/.test(href) ? (
            <OutLink key={name} href={href}>
              {name}
            </OutLink>
          ) : null;
        })}
      </p>
    </Card>
  );
}
