import { isCandleInterval, type CandleInterval } from '../values/intervals.ts';

/**
 * The channels that a client can subscribe to. `keys` lists what a client can follow on it: mints, accounts or programs. A channel and one of these make a
 * topic. With `own`, the topic is made from the API key of the subscriber, so only its connections can follow it.
 */
export const channels = {
  newTokens: { keys: [] },
  migrations: { keys: [] },
  trades: { keys: ['mints', 'accounts'], all: true },
  prices: { keys: ['mints'] },
  candles: { keys: ['mints'], interval: true },
  pools: { keys: ['mints'], all: true },
  programs: { keys: ['programs'] },
  orders: { keys: [], own: true },
} as const satisfies Record<
  string,
  {
    readonly keys: readonly ('mints' | 'accounts' | 'programs')[];
    readonly all?: boolean;
    readonly interval?: boolean;
    readonly own?: boolean;
  }
>;

export type Channel = keyof typeof channels;
export const channelNames = Object.keys(channels) as Channel[];

export const newTokensTopic = 'newTokens';
export const migrationsTopic = 'migrations';
export const allTradesTopic = 'trades';
export const tradesTopic = (mint: string): string => `trades:${mint}`;
export const accountTradesTopic = (account: string): string => `trades:@${account}`;
export const pricesTopic = (mint: string): string => `prices:${mint}`;
export const allPoolsTopic = 'pools';
export const poolsTopic = (mint: string): string => `pools:${mint}`;
export const candlesTopic = (mint: string, interval: CandleInterval): string => `candles:${mint}:${interval}`;
export const programsTopic = (program: string): string => `programs:${program}`;

/** Events of orders of one API key. */
export const ordersPrefix = 'orders:';
export const ordersTopic = (keyId: string): string => `${ordersPrefix}${keyId}`;

/** Mint and interval of a topic of the channel `candles`; null for any other. */
export function readCandlesTopic(topic: string): { readonly mint: string; readonly interval: CandleInterval } | null {
  const [channel, mint, interval, ...more] = topic.split(':');
  if (channel !== 'candles' || mint === undefined || more.length > 0) return null;
  return isCandleInterval(interval) ? { mint, interval } : null;
}
