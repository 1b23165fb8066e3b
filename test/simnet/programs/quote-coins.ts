import { wallet } from '../market/wallets.ts';

/** A coin that is neither SOL nor USDC, against which curves may be made; of SPL Token. */
export const otherQuoteCoin = {
  mint: wallet('simnet', 'other quote coin').publicKey,
  decimals: 8,
  /** Raw, of a new curve. */
  initialVirtual: 50_000n * 10n ** 8n,
} as const;
