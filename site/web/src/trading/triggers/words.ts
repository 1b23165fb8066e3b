import { coins, price, short, shortUsd, signed } from '../../format/price.ts';
import { dateTime, shortAddress } from '../../format/text.ts';
import type { Condition, Metric, Trigger } from './trigger.ts';

const metricNames: Readonly<Record<Metric, string>> = {
  priceSol: 'Price',
  priceUsd: 'Price',
  marketCapSol: 'Market cap',
  marketCapUsd: 'Market cap',
  curveProgress: 'Bonding curve',
};

/** A value of a metric, with its unit. */
export function metricText(metric: Metric, value: number): string {
  if (metric === 'priceSol') return `${price(value)} SOL`;
  if (metric === 'priceUsd') return `$${price(value)}`;
  if (metric === 'marketCapSol') return `${short(value)} SOL`;
  return metric === 'marketCapUsd' ? shortUsd(value) : `${value} %`;
}

/** What `amountText` reads of a trigger, or of a body that arms one. */
interface Amount {
  readonly amount: number | string;
  readonly side: 'buy' | 'sell';
  readonly maxIn?: string | null;
}

/** What a trigger buys or sells. `decimals`: of the token. `quote`: the symbol of the coin that a buy spends. */
export function amountText({ amount, side, maxIn = null }: Amount, decimals: number | null = null, quote = 'SOL'): string {
  if (typeof amount === 'number') return side === 'buy' ? `${coins(amount)} ${quote}` : short(amount);
  const part = amount.replace('%', ' %');
  if (maxIn === null) return part;
  return decimals === null ? `${part}, limited` : `up to ${short(Number(maxIn) / 10 ** decimals)}`;
}

/** What a trigger waits for. */
export function conditionText({ when, side }: Pick<Trigger, 'when' | 'side'>): string {
  if ('metric' in when) return `${metricNames[when.metric]} ${sign(when.op)} ${metricText(when.metric, when.value)}`;
  if ('position' in when) return `Profit ${sign(when.op)} ${signed(when.value)}`;
  if ('trailing' in when) {
    const { metric, percent } = when.trailing;
    return side === 'sell'
      ? `${metricNames[metric]} ${percent} % below its highest`
      : `${metricNames[metric]} ${percent} % above its lowest`;
  }
  if ('at' in when) return `At ${dateTime(when.at)}`;
  if ('every' in when) return `Every ${when.every}, ${when.times} times`;
  if ('event' in when) return 'The token leaves its bonding curve';
  return 'filled' in when ? `Order ${when.filled} is filled` : followText(when);
}

function followText({ account, side, minSol = 0, times = 1 }: Extract<Condition, { account: string }>): string {
  const least = minSol > 0 ? ` for at least ${minSol} SOL` : '';
  return `${shortAddress(account)} ${side}s${least}${times > 1 ? `, ${times} times` : ''}`;
}

const sign = (op: '>=' | '<='): string => (op === '>=' ? '≥' : '≤');

const statusTexts: Readonly<Record<Trigger['status'], string>> = {
  waiting: 'Waits until the order before it has filled.',
  armed: 'Waits for its condition.',
  firing: 'Its condition holds. Its order is being placed.',
  fired: 'Its order has filled.',
  cancelled: 'Cancelled. It places no order.',
  expired: 'Its time is over. It places no order.',
  failed: 'Its order was refused, or has failed. It tries no more.',
};

const reasons: Readonly<Record<string, string>> = {
  gap: 'Trades may be missing. It waits for the next price.',
  stale_price: 'The price of SOL in USD is old. It waits for a newer one.',
  shallow_pool: 'The pool is too shallow for it.',
  hold: 'The condition holds, but not long enough yet.',
  unconfirmed: 'The condition holds, but the trade is not confirmed yet.',
  position_unknown: 'What the position has cost is not known.',
  oco_sibling_firing: 'Another trigger of its group is firing.',
  late_trade: 'The trade of the followed wallet was known too late to buy after it.',
};

/** Why a trigger has not fired, in words. A reason of a newer server is shown as it is. */
export const reasonText = (waitingFor: string): string => reasons[waitingFor] ?? `It waits: ${waitingFor.replaceAll('_', ' ')}.`;

export const statusText = (status: Trigger['status']): string => statusTexts[status];
export const isOpen = ({ status }: Pick<Trigger, 'status'>): boolean => status === 'waiting' || status === 'armed' || status === 'firing';
