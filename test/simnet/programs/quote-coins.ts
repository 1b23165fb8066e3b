import { wallet } from '../runtime/wallets.ts';

/** A coin of SPL Token, neither SOL nor USDC, that curves may use as quote coin. */
export const otherQuoteCoin = {
  mint: wallet('simnet', 'other quote coin').publicKey,
  decimals: 8,
  /** Raw units, of a new curve. */
  initialVirtual: 50_000n * 10n ** 8n,
} as const;
