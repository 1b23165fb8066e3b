import type { ErrorCode } from '@sluice/shared/wire/errors.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import type { EndpointAnswer } from '../../http/endpoint.ts';
import type { PaperBalance } from '../../store/sql/tables/orders/paper.ts';

type Refused = Extract<EndpointAnswer<EndpointSpec>, { readonly error: ErrorCode }>;

/** Reads a paper balance. Null: it is no paper wallet that the caller may use. */
export type PaperBalanceOf = (caller: { readonly accountId: string | null }, publicKey: string) => Promise<PaperBalance | Refused | null>;

/** Where the result of a paper wallet begins, in the form that clients receive. */
export function shownStart({ startLamports, startedAtMs }: Pick<PaperBalance, 'startLamports' | 'startedAtMs'>) {
  return { startAmount: String(startLamports), startUiAmount: toUi(startLamports, solDecimals), startedAtMs };
}
