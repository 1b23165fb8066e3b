import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { venueByProgram } from '@sluice/venues/registry.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import type { OrderFill, OrderTerms } from '@sluice/gateway/store/order-model/order.ts';
import type { Trade } from '../../signer/checks/trade-instruction.ts';
import { countOf, lamportsOf, linesOf } from '../../nodes/answer-forms.ts';
import { ownTradesIn, type OwnTrades } from '../../nodes/own-trades.ts';
import { maxTokenBalances, tokenChange } from '../../nodes/simulate/simulated-amounts.ts';

/**
 * What a landed transaction did for the order. `failed`: it landed and failed, with the runtime's error and log. `other`: it succeeded, but
 * contains no trade of these terms. `unusable`: the answer is malformed, belongs to another transaction, or is incomplete; another node may
 * give a better one.
 */
export type FillReading =
  | { readonly kind: 'fill'; readonly fill: OrderFill; readonly terms: OrderTerms; readonly balancesAgree: boolean }
  | { readonly kind: 'failed'; readonly err: unknown; readonly logs: readonly string[]; readonly slot: number }
  | { readonly kind: 'other'; readonly slot: number }
  | { readonly kind: 'unusable'; readonly reason: string };

/** A mint stores its decimals in one byte. */
const maxDecimals = 255;

interface Meta {
  readonly fee: bigint;
  /** Lamports of the wallet before and after the transaction. */
  readonly lamports: { readonly before: bigint; readonly after: bigint };
  readonly value: Readonly<Record<string, unknown>>;
}

function unusable(reason: string): FillReading {
  return { kind: 'unusable', reason };
}

function readMeta(answer: unknown, view: TransactionView, wallet: string): Meta | null {
  const value = isRecord(answer) ? answer['meta'] : null;
  if (!isRecord(value)) return null;
  const { fee, preBalances, postBalances } = value;
  const at = view.accountKeys.indexOf(wallet);
  const paid = lamportsOf(fee);
  if (paid === null || at < 0 || !Array.isArray(preBalances) || !Array.isArray(postBalances)) return null;
  const before = lamportsOf(preBalances[at]);
  const after = lamportsOf(postBalances[at]);
  return before === null || after === null ? null : { fee: paid, lamports: { before, after }, value };
}

function fillOf(trades: OwnTrades, terms: OrderTerms, view: TransactionView, meta: Meta, slot: number): FillReading {
  const { publicKey, side, mint, quoteMint } = terms;
  const { venue, baseAmount, quoteAmount, fees } = trades;
  const traderQuote = side === 'buy' ? quoteAmount + fees : quoteAmount - fees;
  const wrapped = tokenChange(meta.value, publicKey, wrappedSolMint);
  const base = tokenChange(meta.value, publicKey, mint);
  if (typeof wrapped !== 'bigint' || typeof base !== 'bigint') return unusable('the token balances are not of the documented form');
  const networkFee = view.feePayer === publicKey ? meta.fee : 0n;
  // Wrapped SOL counts as the wallet's SOL. What the wallet lost beyond the trade and the fee is rent and tips.
  const left = meta.lamports.before - meta.lamports.after - wrapped;
  const traded = quoteMint !== wrappedSolMint ? 0n : side === 'buy' ? traderQuote : -traderQuote;
  const fill: OrderFill = {
    pool: venue.name,
    baseAmount,
    quoteAmount,
    traderQuote,
    venueFees: fees,
    networkFee,
    otherLamports: left - networkFee - traded,
    slot,
    blockTime: view.blockTime,
  };
  return { kind: 'fill', fill, terms, balancesAgree: base === (side === 'buy' ? baseAmount : -baseAmount) };
}

/** The decimals of `mint` in a list of balances. Null if the list has none, or is not of the documented form. */
function decimalsIn(list: unknown, mint: string): number | null {
  if (!Array.isArray(list) || list.length > maxTokenBalances) return null;
  for (const item of list as readonly unknown[]) {
    if (!isRecord(item) || item['mint'] !== mint || !isRecord(item['uiTokenAmount'])) continue;
    const { decimals } = item['uiTokenAmount'];
    return typeof decimals === 'number' && Number.isInteger(decimals) && decimals >= 0 && decimals <= maxDecimals ? decimals : null;
  }
  return null;
}

/** The terms of a trade whose coins were not read before it was sent. Null if the answer does not show their decimals. */
function termsFrom({ side, programId, pool, baseMint, quoteMint }: Trade, publicKey: string, answer: unknown): OrderTerms | null {
  const meta = isRecord(answer) && isRecord(answer['meta']) ? answer['meta'] : {};
  const decimalsOf = (mint: string): number | null =>
    mint === wrappedSolMint ? solDecimals : (decimalsIn(meta['postTokenBalances'], mint) ?? decimalsIn(meta['preTokenBalances'], mint));
  const [baseDecimals, quoteDecimals, venue] = [decimalsOf(baseMint), decimalsOf(quoteMint), venueByProgram.get(programId)];
  if (baseDecimals === null || quoteDecimals === null || venue === undefined) return null;
  return { side, mint: baseMint, pool: venue.name, poolAddress: pool, quoteMint, baseDecimals, quoteDecimals, publicKey };
}

/**
 * Reads an answer of `getTransaction`, in any encoding, for `signature`. `known`: the terms of the order. `trade`: what the transaction trades; it is
 * used if the terms are not known. Amounts come from the venue's own event and are compared with the token balances; lamports come from the balances.
 * Uses no I/O and no clock. Accepts anything that a node may answer.
 */
export function readFill(answer: unknown, signature: string, known: OrderTerms | null, trade: Trade | null = null): FillReading {
  const view = readTransaction(answer);
  if (view.kind === 'malformed') return unusable(view.reason);
  if (view.signature !== signature) return unusable('the answer is for another transaction');
  const slot = countOf(view.slot);
  if (slot === null) return unusable('the answer has no slot');
  if (view.err !== null) return { kind: 'failed', err: view.err, logs: linesOf(view.logs) ?? [], slot };
  if (known === null && trade === null) return { kind: 'other', slot };
  const terms = known ?? termsFrom(trade!, view.feePayer ?? '', answer);
  if (terms === null) return unusable('the decimals of the coins are missing');
  const trades = ownTradesIn(view, { ...terms, trader: terms.publicKey });
  if (typeof trades === 'string') return unusable(trades);
  if (trades === null) return { kind: 'other', slot };
  const meta = readMeta(answer, view, terms.publicKey);
  if (meta === null) return unusable('fees or balances are not of the documented form');
  return fillOf(trades, terms, view, meta, slot);
}
