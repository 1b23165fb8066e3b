import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { decodeData } from '@sluice/venues/seam/decode-data.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { TradedAmounts } from '../../quote/drift.ts';

/** Most token balances in an answer. A transaction locks at most 128 accounts, so an honest answer has no more before and after. */
export const maxTokenBalances = 256;

/** The quoted trade, which the simulation of its message must result in. Raw amounts. */
export interface ExpectedTrade extends TradedAmounts {
  readonly trader: string;
  readonly side: 'buy' | 'sell';
  readonly mint: string;
  readonly poolAddress: string;
}

/** What the trade gives, by the events in the log; null if they are missing. `contradicted`: by the token balances of the same answer. */
export function simulatedAmounts(
  value: Readonly<Record<string, unknown>>,
  logs: readonly string[],
  expected: ExpectedTrade,
): TradedAmounts | 'contradicted' | null {
  let [baseAmount, traderQuote, found] = [0n, 0n, false];
  const log = readLogs(
    logs,
    (programId, _path, data) => {
      const venue = venueByProgram.get(programId);
      const event = venue === undefined ? undefined : decodeData(venue, data).events[0];
      if (event?.type !== 'trade') return;
      const { trader, side, pool, baseAmount: base, quoteAmount, feeTotal } = event;
      if (trader !== expected.trader || side !== expected.side || pool !== expected.poolAddress) return;
      found = true;
      baseAmount += base;
      traderQuote += side === 'buy' ? quoteAmount + feeTotal : quoteAmount - feeTotal;
    },
    (programId) => venueByProgram.has(programId),
  );
  if (!found || log.truncated || log.malformed !== null) return null;
  const change = tokenChange(value, expected.trader, expected.mint);
  const expectedChange = expected.side === 'buy' ? baseAmount : -baseAmount;
  return change !== null && change !== expectedChange ? 'contradicted' : { baseAmount, traderQuote };
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
