import { SluiceError } from '@sluice/client';
import { faultText } from '../state/server.ts';
import { errorText } from '../orders/words.ts';

export type Side = 'buy' | 'sell';

/** The amount for a side: quote coins for a buy; tokens or a percentage for a sell. Null: the text is no such amount. */
export function amountFor(side: Side, text: string): number | string | null {
  const trimmed = text.trim();
  if (side === 'sell' && /^\d{1,3}(\.\d{1,4})?%$/.test(trimmed)) return trimmed;
  return /^\d+(\.\d+)?$/.test(trimmed) && Number(trimmed) > 0 ? Number(trimmed) : null;
}

/** Why an order or a quote was refused, in plain words. */
export function orderFault(error: unknown): string {
  return error instanceof SluiceError && 'code' in error
    ? errorText({ code: error.code as never, message: faultText(error) })
    : faultText(error);
}
