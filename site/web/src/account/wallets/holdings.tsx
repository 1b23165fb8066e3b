import type { Portfolio } from '@sluice/client';
import { sluice } from '../../state/server.ts';
import { many, price, short, signed, sol, usd } from '../../format/price.ts';
import { nameOf } from '../../state/metadata/names.ts';
import { useLoaded } from '../../parts/hooks.ts';
import { TokenLink } from '../../parts/links.tsx';
import { usePositions, type WalletPosition } from '../../parts/positions.ts';
import { AsOf, Fact, Fault, Reading } from '../../parts/parts.tsx';
import { Table, type Column } from '../../parts/table.tsx';

const refreshMs = 10_000;
const maxShown = 100;
const noPositions: ReadonlyMap<string, WalletPosition> = new Map();

type Holding = Portfolio['holdings'][number];

function worthText({ valueUsd, valueSol }: Pick<Holding, 'valueUsd' | 'valueSol'>): string {
  if (valueUsd !== null) return usd(valueUsd);
  return valueSol === null ? 'no price' : sol(valueSol);
}

function shareText({ sharePercent: percent }: Holding): string {
  if (percent === null) return '–';
  return percent > 0 && percent < 0.1 ? '<0.1 %' : `${percent.toFixed(1)} %`;
}

type ByMint = ReadonlyMap<string, WalletPosition>;

/** `positions`: null for a wallet of somebody else. */
const columnsWith = (positions: ByMint | null): readonly Column<Holding>[] => [
  {
    head: 'Token',
    cell: ({ mint, symbol, name }) => <TokenLink mint={mint} symbol={symbol ?? nameOf(mint)?.symbol} name={name} withMint />,
  },
  { head: 'Amount', class: 'number', cell: ({ uiAmount }) => short(uiAmount) },
  { head: 'Price', class: 'number wide-only', cell: ({ priceUsd }) => (priceUsd === null ? '–' : `$${price(priceUsd)}`) },
  ...(positions === null ? [] : positionColumns(positions)),
  { head: 'Value', class: 'number', cell: worthText, ...(positions !== null && { second: 'Profit' }) },
  { head: 'Share', class: 'number wide-only faint', cell: shareText },
];

function positionColumns(positions: ByMint): readonly Column<Holding>[] {
  return [
    {
      head: 'Average cost',
      class: 'number wide-only',
      hint: 'SOL for one token, of those that were bought',
      cell: ({ mint }) => price(positions.get(mint)?.averageCostSol),
    },
    {
      head: 'Profit',
      class: 'number wide-only',
      hint: 'What is not sold yet, against its cost',
      cell: ({ mint }) => <Gain of={positions.get(mint)} />,
    },
  ];
}

function Gain({ of }: { readonly of: WalletPosition | undefined }) {
  if (of === undefined || of.unrealizedSol === null) return <>–</>;
  const { unrealizedSol, profitPct } = of;
  return (
    <span class={unrealizedSol < 0 ? 'sell' : 'buy'}>
      {unrealizedSol < 0 ? '−' : '+'}
      {sol(Math.abs(unrealizedSol))}
      {profitPct !== null && <small> {signed(profitPct)}</small>}
    </span>
  );
}

interface HoldingsProps {
  readonly publicKey: string;
  /** Its cost is known. */
  readonly isOwn: boolean;
  /** How often its balance on paper was set here. */
  readonly sets?: number;
}

/** What a wallet holds, valued. */
export function Holdings({ publicKey, isOwn, sets = 0 }: HoldingsProps) {
  const { positions, fault: positionsFault } = usePositions(isOwn ? [publicKey] : []);
  const columns = columnsWith(isOwn ? (positions?.get(publicKey) ?? noPositions) : null);
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
      <Fault text={fault ?? positionsFault} />
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
