/** Pages of public explorers. A simulated chain has none. */
export const explorerTx = (signature: string): string => `https://solscan.io/tx/${signature}`;
export const explorerAccount = (address: string): string => `https://solscan.io/account/${address}`;

export function tokenExplorers(mint: string): readonly (readonly [string, string])[] {
  return [
    ['Solscan', `https://solscan.io/token/${mint}`],
    ['Solana Explorer', `https://explorer.solana.com/address/${mint}`],
    ['Birdeye', `https://birdeye.so/token/${mint}?chain=solana`],
    ['DEX Screener', `https://dexscreener.com/solana/${mint}`],
  ];
}
