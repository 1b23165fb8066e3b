import { SluiceError, type ErrorCode, type OrderObject } from '@sluice/client';
import { faultText } from '../../state/server.ts';

type Status = OrderObject['status'];

const stateWords: Readonly<Record<Status, string>> = {
  accepted: 'Stored, not sent yet.',
  simulated: 'The simulation passed. Nothing was sent.',
  submitted: 'Sent to the chain.',
  processed: 'In a block.',
  confirmed: 'The validators confirmed its block.',
  finalized: 'Done. It cannot be undone any more.',
  failed: 'It failed on the chain.',
  expired: 'It did not land, and can no longer land.',
  unknown: 'No node reports the state of this order yet. The server continues to ask.',
};

const paperWords: Readonly<Partial<Record<Status, string>>> = {
  simulated: 'Quoted, and checked against the balance of the wallet. Nothing was stored or sent.',
  finalized: 'Filled on paper, at its quote. Nothing was sent.',
};

export function stateText(status: Status, isPaper: boolean): string {
  return (isPaper ? paperWords[status] : undefined) ?? stateWords[status];
}

export const isFinal = (status: Status): boolean => ['finalized', 'failed', 'expired', 'simulated'].includes(status);

const errorWords: Readonly<Partial<Record<ErrorCode, string>>> = {
  SLIPPAGE_EXCEEDED: 'The price moved further than the slippage allows.',
  TRADING_HALTED: 'The operator has halted trading.',
  UPSTREAM_UNAVAILABLE: 'The nodes do not answer at present.',
  RATE_LIMIT: 'The rate limit of the key is used up. Try again later.',
  FORBIDDEN: 'The key may not do this.',
};

export const aboutRent = 'A wallet deposits rent for each account that a trade creates, and gets it back when the account is closed.';

/** An error in plain words, followed by the server's message. */
export function errorText({ code, message }: { readonly code: ErrorCode; readonly message: string }): string {
  const words = errorWords[code];
  return words === undefined || message.startsWith(words) ? message : `${words} ${message}`;
}

export function orderFault(error: unknown): string {
  const message = faultText(error);
  return error instanceof SluiceError ? errorText({ code: error.code as ErrorCode, message }) : message;
}
