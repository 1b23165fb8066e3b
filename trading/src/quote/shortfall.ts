import { errorTable } from '@sluice/shared/runtime/errors/codes.ts';
import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { decimalText } from '@sluice/shared/solana/encoding/amounts.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';

/** A balance that is too low. `have` and `need` are raw units of the coin that the trader gives; null if unknown. */
export interface Shortfall {
  /** `lamports`: of the wallet itself. `tokens`: of its token account, also for wrapped SOL. */
  readonly unit: 'tokens' | 'lamports';
  /** Of the tokens; null if it is unknown. */
  readonly mint: string | null;
  readonly have: bigint | null;
  readonly need: bigint | null;
  readonly decimals: number | null;
}

/** The message and the details of an `INSUFFICIENT_BALANCE`. Both name the coin. */
export function describeShortfall({ unit, mint: ofTokens, have, need, decimals }: Shortfall) {
  const mint = unit === 'lamports' ? wrappedSolMint : ofTokens;
  const symbol = mint === null ? null : (quoteCoins.get(mint)?.symbol ?? null);
  const coin = symbol ?? (mint === null ? 'tokens' : `tokens of ${mint}`);
  const { message } = errorTable.INSUFFICIENT_BALANCE;
  const text = (raw: bigint | null): string | null => (raw === null ? null : String(raw));
  return {
    message:
      have === null || need === null || decimals === null
        ? message
        : `${message.slice(0, -1)}: needs ${decimalText(need, decimals)} ${coin}, has ${decimalText(have, decimals)}.`,
    details: { unit, mint, symbol, have: text(have), need: text(need), decimals },
  };
}
