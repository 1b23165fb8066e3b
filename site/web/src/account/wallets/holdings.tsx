import type { Portfolio } from '@sluice/client';
import { sluice } from '../../state/server.ts';
import { many, price, short, sol, usd } from '../../format/price.ts';
import { nameOf } from '../../state/metadata/names.ts';
import { useLoaded } from '../../parts/hooks.ts';
import { TokenLink } from '../../parts/links.tsx';
import { AsOf, Fact, Fault, Reading } from '../../parts/parts.tsx';
import { Table, type Column } from '../../parts/table.tsx';

const refreshMs = 10_000;
const maxShown = 100;

type Holding = Portfolio['holdings'][number];

function worthText({ valueUsd, valueSol }: Pick<Holding, 'valueUsd' | 'valueSol'>): string {
  if (valueUsd !== null) return usd(valueUsd);
  return valueSol === null ? 'no price' : sol(valueSol);
}

function shareText({ sharePercent: percent }: Holding): string {
  if (percent === null) return '–';
  return percent > 0 && percent < 0.1 ? '<0.1 %' : `${percent.toFixed(1)} %`;
}

const columns: readonly Column<Holding>[] = [
  {
    head: 'Token',
    cell: ({ mint, symbol, name }) => <TokenLink mint={mint} symbol={symbol ?? nameOf(mint)?.symbol} name={name} withMint />,
  },
  { head: 'Amount', class: 'number', cell: ({ uiAmount }) => short(uiAmount) },
  { head: 'Price', class: 'number wide-only', cell: ({ priceUsd }) => (priceUsd === null ? '–' : `$${price(priceUsd)}`) },
  { head: 'Value', class: 'number', cell: worthText },
  { head: 'Share', class: 'number wide-only faint', cell: shareText },
];

/** What a wallet holds, valued. `sets`: how often its balance on paper was set here. */
export function Holdings({ publicKey, sets = 0 }: { readonly publicKey: string; readonly sets?: number }) {
  const { value: portfolio, fault, readAtMs } = useLoaded(() => sluice.portfolio(publicKey), `${publicKey} ${sets}`, refreshMs);
  if (portfolio === null) return <Reading fault={fault} isRead={false} />;
  const { sol: own, totals, holdings, omittedHoldings, paper } = portfolio;
  const shown = holdings.slice(0, maxShown);
  const hidden = holdings.length - shown.length + omittedHoldings;
  return (
    <>
      <dl class="facts big">
        <Fact name="Value">{totals.valueUsd === null ? sol(totals.valueSol) : usd(totals.valueUsd)}</Fact>
        <Fact name={paper === undefined ? 'SOL' : 'SOL on paper'}>{sol(own.uiAmount)}</Fact>
        {paper !== undefined && <Result paper={paper} unpriced={totals.unpriced} />}
        <Fact name="Tokens">{holdings.length + omittedHoldings}</Fact>
        {totals.unpriced > 0 && <Fact name="Without a price">{totals.unpriced}</Fact>}
        <Fact name="As of">
          <AsOf readAtMs={Math.min(readAtMs, portfolio.asOfMs)} />
        </Fact>
      </dl>
      <Fault text={fault} />
      {holdings.length > 0 && <Table columns={columns} rows={shown} keyOf={({ mint }) => mint} mintOf={({ mint }) => mint} />}
      {hidden > 0 && <p class="faint">{hidden} more tokens are not listed.</p>}
    </>
  );
}

/** What the trades of a paper wallet have gained or lost, with what it holds now at its value. */
function Result(props: { readonly paper: NonNullable<Portfolio['paper']>; readonly unpriced: number }) {
  const { resultSol, resultPct, startUiAmount } = props.paper;
  const sign = resultSol < 0 ? '−' : '+';
  return (
    <Fact name="Result" title={`Value now, less the ${startUiAmount} SOL that its owner put in. All fees are included.`}>
      {sign}
      {sol(Math.abs(resultSol))}
      {resultPct !== null && ` (${sign}${Math.abs(resultPct).toFixed(2)} %)`}
      {props.unpriced > 0 && <small> without {many(props.unpriced, 'token')} that no price is known for</small>}
    </Fact>
  );
}
