import type { Portfolio } from '@sluice/client';
import { sluice } from '../../state/server.ts';
import { many, price, short, sol, usd } from '../../format/price.ts';
import { nameOf } from '../../state/metadata/names.ts';
import { useLoaded } from '../../parts/hooks.ts';
import { openToken, TokenLink } from '../../parts/links.tsx';
import { AsOf, Empty, Fact, Fault } from '../../parts/parts.tsx';

const refreshMs = 10_000;
/** Holdings that one list shows. */
const maxShown = 100;

/** What a wallet holds, valued. `sets`: how often its balance on paper was set here. */
export function Holdings({ publicKey, sets = 0 }: { readonly publicKey: string; readonly sets?: number }) {
  const { value: portfolio, fault, readAtMs } = useLoaded(() => sluice.portfolio(publicKey), `${publicKey} ${sets}`, refreshMs);
  if (portfolio === null) return fault === null ? <Empty>Loading …</Empty> : <Fault text={fault} />;
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
      {holdings.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Token</th>
              <th class="number">Amount</th>
              <th class="number wide-only">Price</th>
              <th class="number">Value</th>
              <th class="number wide-only">Share</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={one.mint} class="opens" onClick={(event) => openToken(event, one.mint)}>
                <td>
                  <TokenLink mint={one.mint} symbol={one.symbol ?? nameOf(one.mint)?.symbol} name={one.name} withMint />
                </td>
                <td class="number">{short(one.uiAmount)}</td>
                <td class="number wide-only">{one.priceUsd === null ? '–' : `$${price(one.priceUsd)}`}</td>
                <td class="number">
                  {one.valueUsd === null ? (one.valueSol === null ? 'no price' : sol(one.valueSol)) : usd(one.valueUsd)}
                </td>
                <td class="number wide-only faint">{one.sharePercent === null ? '–' : shareText(one.sharePercent)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
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

function shareText(percent: number): string {
  return percent > 0 && percent < 0.1 ? '<0.1 %' : `${percent.toFixed(1)} %`;
}
