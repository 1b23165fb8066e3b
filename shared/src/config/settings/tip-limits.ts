/** Lowest tip that a Jito block engine accepts, lamports. */
export const leastJitoTip = 1_000n;
/** Lowest tip of a Helius Sender, and of a Sender whose address contains `swqos_only=true`: it uses staked connections only. */
const leastSenderTip = 1_000_000n;
const leastStakedSenderTip = 5_000n;
/** 0.1 SOL. A higher tip is treated as a mistake. */
export const mostTip = 100_000_000n;

/** Lowest tip that the Sender at this address accepts, lamports. */
export function leastTipOfSender(url: string): bigint {
  return URL.canParse(url) && new URL(url).searchParams.get('swqos_only') === 'true' ? leastStakedSenderTip : leastSenderTip;
}
