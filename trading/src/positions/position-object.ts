import { amountOf, averageCost, type Position } from '@sluice/followers/positions/position.ts';
import type { TokenWorth } from '@sluice/gateway/reads/tokens/token-prices.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import type { WalletPosition } from '@sluice/shared/wire/rest/wallets/positions.ts';

/** Lamports that may be negative, in SOL. */
function inSol(lamports: bigint): number {
  return lamports < 0n ? -toUi(-lamports, solDecimals) : toUi(lamports, solDecimals);
}

/** What one whole bought token cost on average, SOL. Null without bought tokens, or if the decimals are unknown. */
export function averageCostSol(position: Position): number | null {
  const lamports = averageCost(position);
  return lamports === null || position.decimals === null ? null : (lamports * 10 ** position.decimals) / 10 ** solDecimals;
}

/** A position as clients receive it. `worth`: null if nothing is known of the token. */
export function positionObject(mint: string, position: Position, worth: TokenWorth | null): WalletPosition {
  const amount = amountOf(position);
  const decimals = position.decimals ?? worth?.decimals ?? null;
  const uiAmount = decimals === null ? null : toUi(amount, decimals);
  const priceSol = worth?.priceSol ?? null;
  const valueSol = amount === 0n ? 0 : priceSol === null || uiAmount === null ? null : priceSol * uiAmount;
  const costSol = inSol(position.costLamports);
  const average = averageCostSol(position);
  return {
    mint,
    amount: String(amount),
    decimals,
    uiAmount,
    averageCostSol: average,
    costSol,
    valueSol,
    realizedSol: inSol(position.realizedLamports),
    unrealizedSol: valueSol === null ? null : valueSol - costSol,
    profitPct: priceSol === null || average === null || average === 0 ? null : (priceSol / average - 1) * 100,
    feesSol: inSol(position.feesLamports),
    buys: position.buys,
    sells: position.sells,
    openedAt: position.openedAtMs,
    unexplained: String(position.unexplained),
  };
}
