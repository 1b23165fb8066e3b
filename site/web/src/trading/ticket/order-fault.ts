import { SluiceError } from '@sluice/client';
import { errorText } from '../orders/words.ts';
import { faultText } from '../../state/server.ts';

/** Why an order or a quote was refused, in plain words. */
export function orderFault(error: unknown): string {
  return error instanceof SluiceError && 'code' in error
    ? errorText({ code: error.code as never, message: faultText(error) })
    : faultText(error);
}
