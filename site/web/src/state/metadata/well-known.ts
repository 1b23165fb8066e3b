import { shapeOf } from './look-alikes.ts';

interface Coin {
  readonly symbol: string;
  /** The first one is shown. */
  readonly names: readonly string[];
  /** All mints that may have the symbol or one of the names. */
  readonly mints: readonly string[];
}

/** Coins that others imitate. */
const coins: readonly Coin[] = [
  { symbol: 'SOL', names: ['Wrapped SOL', 'Solana', 'Wrapped Solana'], mints: ['So11111111111111111111111111111111111111112'] },
  { symbol: 'WSOL', names: ['Wrapped SOL'], mints: ['So11111111111111111111111111111111111111112'] },
  { symbol: 'USDC', names: ['USD Coin', 'Circle USD'], mints: ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'] },
  { symbol: 'USDT', names: ['Tether', 'Tether USD', 'USD Tether'], mints: ['Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB'] },
  { symbol: 'PYUSD', names: ['PayPal USD'], mints: ['2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo'] },
  { symbol: 'USDS', names: ['USDS'], mints: ['USDSwr9ApdHk5bvJKMjzff41FfuX8bSxdKcR81vTwcA'] },
  { symbol: 'USDG', names: ['Global Dollar'], mints: ['2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH'] },
  {
    symbol: 'USD1',
    names: ['World Liberty Financial USD', 'World Liberty Financial'],
    mints: ['USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB'],
  },
  { symbol: 'EURC', names: ['EURC', 'Euro Coin'], mints: ['HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr'] },
  { symbol: 'JitoSOL', names: ['Jito Staked SOL'], mints: ['J1toso1uCk3RLmjorhTtrVwY9HJ7X8V9yYac6Y7kGCPn'] },
  { symbol: 'mSOL', names: ['Marinade staked SOL'], mints: ['mSoLzYCxHdYgdzU16g5QSh3i5K3z3KZK7ytfqcJm7So'] },
  {
    symbol: 'ETH',
    names: ['Wrapped Ether (Wormhole)', 'Ether', 'Ethereum', 'Wrapped Ether', 'Wrapped Ethereum', 'Ether (Portal)'],
    mints: ['7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs'],
  },
  { symbol: 'WETH', names: ['Wrapped Ether (Wormhole)'], mints: ['7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs'] },
  {
    symbol: 'WBTC',
    names: ['Wrapped BTC (Wormhole)', 'Wrapped BTC', 'Wrapped Bitcoin', 'Wrapped BTC (Portal)'],
    mints: ['3NZ9JMVBmGAqocybic2c7LQCJScmgsAZ6vQqTDzcqmJh'],
  },
  { symbol: 'cbBTC', names: ['Coinbase Wrapped BTC'], mints: ['cbbtcf3aa214zXHbiAZQwf4122FBYbraNdFqgw4iMij'] },
  {
    symbol: 'BTC',
    names: ['Bitcoin'],
    mints: ['cbbtcf3aa214zXHbiAZQwf4122FBYbraNdFqgw4iMij', '3NZ9JMVBmGAqocybic2c7LQCJScmgsAZ6vQqTDzcqmJh'],
  },
  { symbol: 'JUP', names: ['Jupiter'], mints: ['JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN'] },
  { symbol: 'BONK', names: ['Bonk'], mints: ['DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'] },
  { symbol: 'WIF', names: ['dogwifhat'], mints: ['EKpQGSJtjMFqKZ9KQanSqYXRcF8fBopzLHYxdM65zcjm'] },
  { symbol: 'RAY', names: ['Raydium'], mints: ['4k3Dyjzvzp8eMZWUXbBCjEvwSkkk59S5iCNLY3QrkX6R'] },
  { symbol: 'PYTH', names: ['Pyth Network', 'Pyth'], mints: ['HZ1JovNiVvGrGNiiYvEozEVgZ58xaU3RKwX8eACQBCt3'] },
  { symbol: 'TRUMP', names: ['OFFICIAL TRUMP', 'Official Trump Coin'], mints: ['6p6xgHyF7AeE6TZkSmFsko444wqoP15icUSqi2jfGiPN'] },
];
const byShape = new Map(coins.flatMap((coin) => [coin.symbol, ...coin.names].map((text) => [shapeOf(text), coin])));

/** Names of well-known coins by mint, for lists and the search. The first symbol of a mint is its name. */
export const wellKnownNames: ReadonlyMap<string, { readonly symbol: string; readonly name: string }> = new Map(
  coins
    .filter(({ mints: [mint] }, at) => coins.findIndex(({ mints }) => mints[0] === mint) === at)
    .map(({ mints: [mint], symbol, names: [name] }) => [mint!, { symbol, name: name! }]),
);

/** The symbol of the well-known coin for which this token may be taken although it is another one; null if there is none. */
export function imitatedBy(mint: string, texts: readonly (string | null | undefined)[]): string | null {
  for (const text of texts) {
    if (text === null || text === undefined) continue;
    for (const read of overrides.test(text) ? [text, Array.from(text).toReversed().join('')] : [text]) {
      const coin = byShape.get(shapeOf(read));
      if (coin !== undefined && !coin.mints.includes(mint)) return coin.symbol;
    }
  }
  return null;
}

/** Characters that turn a text around. */
const overrides = /[\u202B\u202E\u2067\u200F]/;
