import { inSol, quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { buyLimits } from '@sluice/shared/wire/rest/quote.ts';

/**
 * Why a buy may not spend this many whole quote coins; null if it may. If the value of the coin in SOL is unknown, the limits count its whole
 * coins: one USDC is worth less than one SOL. `solUsd`: the price of SOL in USD, null if it is unknown.
 */
export function spendFault(coins: number, quoteMint: string, solUsd: number | null): string | null {
  const { min, max } = buyLimits;
  const worth = inSol(coins, quoteMint, solUsd);
  const counted = worth ?? coins;
  if (counted >= min && counted <= max) return null;
  const coin = quoteCoins.get(quoteMint);
  if (coin === undefined) return `must be ${min} to ${max} coins of ${quoteMint}, because their value in SOL is unknown`;
  if (worth === null) return `must be ${min} to ${max} ${coin.symbol}, because the price of SOL is unknown at present`;
  if (coin.unit === 'sol') return `must be ${min} to ${max} ${coin.symbol}`;
  const inCoins = (sol: number): string => String(Number((sol * (coins / worth)).toPrecision(4)));
  return `must be worth ${min} to ${max} SOL, at present about ${inCoins(min)} to ${inCoins(max)} ${coin.symbol}`;
}
