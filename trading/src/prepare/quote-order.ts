import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import type { TokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds } from '@sluice/venues/seam/quoting.ts';
import { quoteOfOrder } from '../quote/answer.ts';
import { rawAmount } from '../quote/amounts.ts';
import { quoteOn, tooLittle, unixSeconds, wrongFields, type QuotedOrder, type QuoteRefusal } from '../quote/best-quote.ts';
import type { MarketRead, Markets } from '../quote/markets.ts';
import type { TokenMarket } from '@sluice/gateway/reads/pools/quoted-market.ts';
import type { TradeRequest } from './request.ts';
import type { LaneTip } from './surround.ts';
import type { HotState } from '../state/hot-state.ts';
import type { HotWallets, WalletRead } from '../state/hot-wallets.ts';
import { awaitOwnOrders, ownOrdersDeadlineMs, type OwnOrders } from '../state/own-orders.ts';

export interface PriceParts {
  readonly state: Pick<HotState, 'blockhashes' | 'fees' | 'rent'> & {
    readonly markets: Pick<Markets, 'read' | 'readAgreed'>;
    readonly wallets: Pick<HotWallets, 'read' | 'readAgreed'>;
  };
  /** Slots in which the orders of wallets landed. */
  readonly ownOrders: Pick<OwnOrders, 'landedIn' | 'mayHaveLanded'>;
  /** Price of SOL in USD; null if it is unknown. */
  readonly solUsd: () => number | null;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Tips for the lanes that require one. */
  readonly laneTips?: readonly LaneTip[];
}

/** The tips of an order while its message has room, the most important one first. */
export function requestedTips(request: TradeRequest, { laneTips = [] }: Pick<PriceParts, 'laneTips'>): readonly LaneTip[] {
  const { tip, blockEngineOnly = false } = request;
  const all = tip === undefined ? laneTips : [tip, ...laneTips];
  return blockEngineOnly ? all.filter(({ lane }) => lane === 'jito') : all;
}

/** The state that a quote depends on: a market and a wallet, read at about the same time. */
export interface TradeInputs {
  readonly market: MarketRead;
  readonly wallet: WalletRead;
  readonly baseAccount: TokenAccount | null;
  /** Whether the wallet has an associated account of wrapped SOL; null if no order of this kind depends on it. */
  readonly wrappedSolExists: boolean | null;
}

export interface PricedOrder {
  readonly inputs: TradeInputs;
  readonly quoted: QuotedOrder;
  readonly bounds: { readonly minOut: bigint; readonly maxIn: bigint };
}

interface Refused {
  readonly refusal: QuoteRefusal;
  /** The state behind the refusal may be false, or older than the wallet's last order. */
  readonly isDoubtful: boolean;
}

/**
 * Quotes on the state in memory. With `agreed`, quotes on state that two endpoints report, if there is such state. A refusal is used only if no
 * endpoint contradicts the state on which it is based, and if that state contains the wallet's last order. Rejects with an `RpcError`.
 */
export async function priceOrder(request: TradeRequest, parts: PriceParts, agreed: boolean): Promise<PricedOrder | QuoteRefusal> {
  const first = await priceOn(request, parts, agreed);
  const last = 'refusal' in first && first.isDoubtful && !agreed ? await priceOn(request, parts, true) : first;
  if (!('refusal' in last)) return last;
  const { refusal, isDoubtful } = last;
  if (!isDoubtful || refusal.error === 'UPSTREAM_UNAVAILABLE') return refusal;
  return unavailable(
    'The nodes contradict each other about the state that this order needs, or have not reached the last order of the wallet.',
  );
}

export function unavailable(message: string): QuoteRefusal {
  return { error: 'UPSTREAM_UNAVAILABLE', message };
}

async function priceOn(request: TradeRequest, parts: PriceParts, agreed: boolean): Promise<PricedOrder | Refused> {
  const { state, ownOrders } = parts;
  const { order, publicKey } = request;
  const isSell = order.side === 'sell';
  const own: OwnSlot = { slot: isSell ? ownOrders.landedIn(publicKey) : 0, deadlineMs: ownOrdersDeadlineMs() };
  let market = await readMarket(order.mint, state, own, agreed);
  const isUnsure = (read: MarketRead | WalletRead): boolean => read.slot < own.slot || (agreed ? read.isDisputed : read.soleSources !== 0);
  if (market.result.kind !== 'market') return { refusal: quotedRefusal(market.result.kind), isDoubtful: isUnsure(market) };
  const hasTips = requestedTips(request, parts).length > 0;
  const { wallet, baseAddress, wrappedAddress } = await readWallet(request, market.result.market, { state, own, agreed, hasTips });
  if (agreed && isSell && market.slot < wallet.slot) market = await state.markets.readAgreed(order.mint, wallet.slot);
  const wrapped = wallet.tokenAccounts.get(wrappedAddress);
  const wrappedSolExists = wrapped === undefined ? null : wrapped !== null;
  const inputs: TradeInputs = { market, wallet, baseAccount: wallet.tokenAccounts.get(baseAddress) ?? null, wrappedSolExists };
  const mayBeOld = (): boolean => market.slot < wallet.slot || (!agreed && ownOrders.mayHaveLanded(publicKey));
  // Only sales depend on the wallet's tokens; the pool must be at least as new as the wallet.
  const isDoubtful = isUnsure(market) || (isSell && (isUnsure(wallet) || mayBeOld()));
  const priced = partFault(request, wallet, own.slot) ?? priceAt(request, inputs, parts);
  return 'error' in priced ? { refusal: priced, isDoubtful } : priced;
}

/** For a part of the balance (`50%`): no simulation would show that the balance was wrong. */
function partFault({ order: { amount } }: TradeRequest, wallet: WalletRead, ownSlot: number): QuoteRefusal | null {
  if (amount.kind !== 'part') return null;
  if (wallet.isDisputed) return unavailable('The nodes contradict each other about the balance of the wallet.');
  return wallet.slot < ownSlot ? unavailable('No node reports the balance of the wallet after its last order yet.') : null;
}

function priceAt(request: TradeRequest, inputs: TradeInputs, { solUsd, clock }: PriceParts): PricedOrder | QuoteRefusal {
  const { market, baseAccount } = inputs;
  const quoted = quoteOn(request.order, market, { balance: baseAccount?.amount ?? 0n, solUsd: solUsd(), unixTimeS: unixSeconds(clock) });
  if ('error' in quoted) return balanceRefusal(request, inputs, quoted) ?? quoted;
  const bounds = boundsOf(request, quoted);
  return 'error' in bounds ? bounds : { inputs, quoted, bounds };
}

/** The slot in which the wallet's last order landed (0: none matters), and until when to wait for its state. */
interface OwnSlot {
  readonly slot: number;
  readonly deadlineMs: number;
}

function readMarket(
  mint: string,
  { markets }: PriceParts['state'],
  { slot, deadlineMs }: OwnSlot,
  agreed: boolean,
): MarketRead | Promise<MarketRead> {
  if (agreed) return markets.readAgreed(mint, slot);
  return slot > 0 ? awaitOwnOrders(() => markets.read(mint), slot, deadlineMs) : markets.read(mint);
}

interface WalletTerms {
  readonly state: PriceParts['state'];
  readonly own: OwnSlot;
  readonly agreed: boolean;
  readonly hasTips: boolean;
}

/** The market names the token programs, from which the token accounts follow. */
async function readWallet(
  { order: { mint, side, amount }, publicKey }: TradeRequest,
  { tokenProgram: baseProgram, pools }: TokenMarket,
  { state, own: { slot, deadlineMs }, agreed, hasTips }: WalletTerms,
): Promise<{ readonly wallet: WalletRead; readonly baseAddress: string; readonly wrappedAddress: string }> {
  const baseAddress = tokenAddress(publicKey, mint, baseProgram);
  const wrappedAddress = tokenAddress(publicKey, wrappedSolMint, tokenProgram);
  const mayWrap = hasTips && pools.some(({ pool: { quoteMint } }) => quoteMint === wrappedSolMint);
  // Accounts that pay for a purchase in a coin other than SOL.
  const paying = pools.flatMap(({ pool: { quoteMint }, quoteTokenProgram }) =>
    side === 'sell' || quoteMint === wrappedSolMint ? [] : [tokenAddress(publicKey, quoteMint, quoteTokenProgram)],
  );
  const accounts = [...new Set([baseAddress, ...paying, ...(mayWrap ? [wrappedAddress] : [])])];
  const read = (): WalletRead | Promise<WalletRead> => state.wallets.read(publicKey, accounts);
  const reading = slot > 0 ? awaitOwnOrders(read, slot, deadlineMs) : read();
  const wallet = reading instanceof Promise ? await reading : reading;
  const mustAgree = (agreed && side === 'sell') || (amount.kind === 'part' && wallet.soleSources !== 0);
  return { wallet: mustAgree ? await state.wallets.readAgreed(publicKey, accounts, slot) : wallet, baseAddress, wrappedAddress };
}

function quotedRefusal(kind: 'no_mint' | 'malformed'): QuoteRefusal {
  return kind === 'no_mint' ? { error: 'INVALID_MINT' } : unavailable('The state of the pool cannot be read.');
}

/** The tighter of the bounds by slippage and the bounds in the request. */
function boundsOf(request: TradeRequest, quoted: QuotedOrder): { minOut: bigint; maxIn: bigint } | QuoteRefusal {
  const { trade, quote } = quoted;
  const { minOut, maxIn } = slippageBounds(trade, quote, request.order.slippageBps);
  // For an exact amount to get, `maxIn` bounds the cost.
  const given = trade.exact === 'baseOut' ? quote.traderQuote : trade.amount;
  if (request.maxIn !== null && request.maxIn < given) return wrongFields({ maxIn: 'is less than the amount to give' });
  const out = trade.exact === 'baseIn' ? quote.traderQuote : quote.baseAmount;
  if (request.minOut !== null && request.minOut > out) {
    const details = { quoted: String(out), actual: String(out), bound: String(request.minOut) };
    return { error: 'SLIPPAGE_EXCEEDED', details: { ...details, quote: quoteOfOrder(request.order, quoted) } };
  }
  const most = trade.exact === 'baseOut' && request.maxIn !== null && request.maxIn < maxIn ? request.maxIn : maxIn;
  return { minOut: request.minOut !== null && request.minOut > minOut ? request.minOut : minOut, maxIn: most };
}

/** For a sale of more than the pool can trade and the wallet holds, the missing balance is reported. */
function balanceRefusal(
  { order: { side, amount, mint } }: TradeRequest,
  { market: { result }, baseAccount }: TradeInputs,
  { details }: QuoteRefusal,
): QuoteRefusal | null {
  const fields = details?.['fields'] as Readonly<Record<string, string>> | undefined;
  if (side !== 'sell' || amount.kind !== 'ui' || result.kind !== 'market' || fields?.['amount'] === undefined) return null;
  const { decimals } = result.market;
  const [raw, have] = [rawAmount(amount.value, decimals), baseAccount?.amount ?? 0n];
  return raw.ok && raw.raw > have ? tooLittle('tokens', have, raw.raw, decimals, mint) : null;
}
