import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { ownTradesIn, type TradeTerms } from '../own-trades.ts';
import type { TradedAmounts } from '../../quote/drift.ts';

/** Most token balances in an answer. A transaction locks at most 128 accounts, so an honest answer has no more before and after. */
export const maxTokenBalances = 256;

/** The quoted trade, which the simulation of its message must result in. Raw amounts. */
export interface ExpectedTrade extends TradedAmounts, TradeTerms {
  /** Logs do not show all of a trade: inner instructions show the event, or what a coin withheld. */
  readonly isHidden: boolean;
}

/** What the trade gives, by the events of the transaction; null if they are missing. `contradicted`: by the token balances of the same answer. */
export function simulatedAmounts(
  value: Readonly<Record<string, unknown>>,
  wire: Uint8Array,
  expected: ExpectedTrade,
): TradedAmounts | 'contradicted' | null {
  const { logs, innerInstructions, preTokenBalances, postTokenBalances } = value;
  // Without inner instructions, logged events of the trade itself are still known: it is no inner one.
  const meta = { logMessages: logs, innerInstructions: innerInstructions ?? [], preTokenBalances, postTokenBalances };
  const view = readTransaction({ transaction: [base64Of(wire), 'base64'], meta });
  if (view.kind === 'malformed') return 'contradicted';
  const trades = ownTradesIn(view, expected);
  if (trades === null || typeof trades === 'string') return null;
  const { baseAmount, quoteAmount, fees } = trades;
  const change = tokenChange(value, expected.trader, expected.mint);
  const isBuy = expected.side === 'buy';
  if (change !== null && change !== (isBuy ? baseAmount : -baseAmount)) return 'contradicted';
  return { baseAmount, traderQuote: isBuy ? quoteAmount + fees : quoteAmount - fees };
}

/** The change of the raw tokens that the wallet owns. Null without the lists of balances; `malformed` if one cannot be read. */
export function tokenChange(value: Readonly<Record<string, unknown>>, owner: string, mint: string): bigint | 'malformed' | null {
  const lists = [value['preTokenBalances'], value['postTokenBalances']];
  if (lists.some((list) => list === null || list === undefined)) return null;
  const [before, after] = lists.map((list) => tokensIn(list, owner, mint));
  return before == null || after == null ? 'malformed' : after - before;
}

function tokensIn(list: unknown, owner: string, mint: string): bigint | null {
  if (!Array.isArray(list) || list.length > maxTokenBalances) return null;
  let sum = 0n;
  for (const item of list as readonly unknown[]) {
    if (!isRecord(item) || !isRecord(item['uiTokenAmount'])) return null;
    if (item['owner'] !== owner || item['mint'] !== mint) continue;
    const { amount } = item['uiTokenAmount'];
    if (typeof amount !== 'string' || !/^\d{1,20}$/.test(amount)) return null;
    sum += BigInt(amount);
  }
  return sum;
}
