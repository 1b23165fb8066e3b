import type { Exit } from '../triggers/exits.ts';
import type { TriggerBody } from '../triggers/trigger.ts';
import type { OrderWish } from './confirm-order.tsx';

/** The clock of a browser may be fast or slow by this much. The server fires at once at a time of the last hour. */
const clockErrorMs = 30 * 60_000;

/**
 * The buy and its exits in one request: a trigger whose time has come, with the exits as its children. The server has all of them or none, so that
 * nothing that happens to this page leaves a bought coin without its exits. A refused buy is not repeated: the bound is that of the quote on the screen.
 */
export function buyWithExits({ amount, body, exits, askedAtMs }: OrderWish): TriggerBody {
  const { publicKey, mint, slippage, priorityFee, minOut } = body;
  const terms = { publicKey, mint, slippage, ...(priorityFee !== undefined && { priorityFee }) };
  const sale = (exit: Exit): TriggerBody => ({ ...terms, side: 'sell', ...exit });
  const buy = { ...terms, side: 'buy', amount, ...(minOut !== undefined && { minOut }) } as const;
  // The name is that of the interface, and the value is no function.
  // oxlint-disable-next-line unicorn/no-thenable
  return { ...buy, when: { at: askedAtMs - clockErrorMs }, retries: 0, then: exits.map(sale) };
}
