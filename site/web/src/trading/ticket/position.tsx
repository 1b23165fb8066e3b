import { price, signed, sol } from '../../format/price.ts';
import type { profitOf, WalletPosition } from '../../parts/positions.ts';

/** What the tokens in the wallet have cost, and what they have gained. */
export function PositionLine({ position, profit }: { readonly position: WalletPosition; readonly profit: ReturnType<typeof profitOf> }) {
  const { averageCostSol, unexplained, amount } = position;
  if (amount === '0') return null;
  return (
    <p class="hint position">
      <span>Average cost {averageCostSol === null ? 'unknown' : `${price(averageCostSol)} SOL`}</span>
      {profit !== null && (
        <span>
          , profit{' '}
          <b class={profit.sol < 0 ? 'sell' : 'buy'}>
            {profit.sol < 0 ? '−' : '+'}
            {sol(Math.abs(profit.sol))}
            {profit.percent !== null && ` (${signed(profit.percent)})`}
          </b>
        </span>
      )}
      {unexplained !== '0' && `. Of the tokens, ${partOf(unexplained, amount)} came without a trade, and cost nothing`}.
    </p>
  );
}

/** Two amounts in the same raw unit. */
function partOf(part: string, whole: string): string {
  const percent = (Number(part) / Number(whole)) * 100;
  return percent < 0.1 ? 'less than 0.1 %' : `${percent.toFixed(1)} %`;
}
