/** What a client subscribes to. `keys` says which keys narrow it; a topic is made from a channel and one key. */
export const channels = {
  newTokens: { keys: [] },
  migrations: { keys: [] },
  trades: { keys: ['mints', 'accounts'], all: true },
  prices: { keys: ['mints'] },
} as const satisfies Record<string, { readonly keys: readonly ('mints' | 'accounts')[]; readonly all?: boolean }>;

export type Channel = keyof typeof channels;
export const channelNames = Object.keys(channels) as Channel[];

export const newTokensTopic = 'newTokens';
export const migrationsTopic = 'migrations';
export const allTradesTopic = 'trades';
export const tradesTopic = (mint: string): string => `trades:${mint}`;
export const accountTradesTopic = (account: string): string => `trades:@${account}`;
export const pricesTopic = (mint: string): string => `prices:${mint}`;
