import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import { solDecimals, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { newOrderId } from '../../model/order-id.ts';
import type { TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import type { NewOrder, OrderFill } from '@sluice/gateway/store/order-model/order.ts';
import { tooLittle, type QuoteRefusal } from '../../quote/best-quote.ts';
import type { PaperAccount, PaperBalance, PaperMovement, PaperTable } from '@sluice/gateway/store/sql/tables/orders/paper.ts';
import type { OrderLedger } from '../../model/order-ledger.ts';
import { canPay, needOf, outlayOf, type Outlay } from '../../prepare/outlay.ts';
import { prepareTrade, type PreparedTrade, type PrepareParts } from '../../prepare/prepare.ts';
import { unavailable } from '../../prepare/quote-order.ts';
import { tokensFault } from '../../prepare/checked-trade.ts';
import type { TradeRequest } from '../../prepare/request.ts';
import type { WalletRead } from '../../state/hot-wallets.ts';
import { newOrderOf, type Admitted, rounded, tradeAnswer } from '../trade-answer.ts';
import { notStored, placedNow, type Outcome } from '../outcome.ts';

export interface PaperParts extends PrepareParts {
  readonly paper: Pick<PaperTable, 'balance'>;
  readonly ledger: Pick<OrderLedger, 'insert'>;
  readonly gatewayId: string;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Orders on paper do not land, so no state of the chain has to contain them. */
const noOwnOrders: PrepareParts['ownOrders'] = { landedIn: () => 0, mayHaveLanded: () => false };

/** Fills the order at its quote on live state, from the paper balance of its wallet. Signs and sends nothing. Rejects with an `RpcError`. */
export async function tradeOnPaper(admitted: Admitted, parts: PaperParts): Promise<Outcome> {
  const { request, use, genesisHash } = admitted;
  const { publicKey: wallet } = request;
  const balance = await parts.paper.balance({ wallet, genesisHash });
  const prepared = await prepareOnPaper(request, balance, parts);
  if ('error' in prepared) return prepared;
  const filled = await fillOnPaper(admitted, prepared, balance, parts);
  if ('error' in filled) return filled;
  if (request.dryRun) return placedNow(filled.answer(null));
  const { order, movement } = filled;
  const inserted = await parts.ledger.insert(order, { idempotency: use, spend: null, paper: movement, followedBy: parts.gatewayId });
  return inserted.kind === 'stored' ? placedNow(filled.answer(inserted.order)) : notStored(inserted, admitted.startedMs, order.terms);
}

/** Quotes on live state, for a wallet with this balance. Rejects with an `RpcError`. */
export function prepareOnPaper(request: TradeRequest, balance: PaperBalance, parts: PrepareParts): Promise<PreparedTrade | QuoteRefusal> {
  const read = walletOf(request.publicKey, balance);
  const wallets = { read, readAgreed: async (...asked: Parameters<typeof read>) => read(...asked) };
  return prepareTrade(request, { ...parts, state: { ...parts.state, wallets }, ownOrders: noOwnOrders });
}

/** A filled order that is not stored yet. */
export interface PaperFill {
  readonly order: NewOrder;
  readonly movement: PaperMovement;
  /** Null: a dry run. */
  readonly answer: (stored: Pick<NewOrder, 'id' | 'state'> | null) => TradeAnswer;
}

/** Fills a prepared order at its quote, if the balance can pay it. Rejects with an `RpcError`. */
export async function fillOnPaper(
  admitted: Admitted,
  prepared: PreparedTrade,
  balance: PaperBalance,
  parts: Pick<PaperParts, 'state' | 'clock'>,
): Promise<PaperFill | QuoteRefusal> {
  const { request, startedMs, genesisHash } = admitted;
  const { publicKey: wallet } = request;
  const paid = tokensFault(prepared) ?? (await pay(wallet, balance, prepared, parts.state));
  if ('error' in paid) return paid;
  const { quoteMs, buildMs } = prepared;
  const timing = { quoteMs, buildMs, totalMs: performance.now() - startedMs };
  const createdAtMs = parts.clock.wallMs();
  const order = newOrderOf(admitted, prepared, {
    id: newOrderId(createdAtMs),
    state: 'finalized',
    kind: 'paper',
    message: null,
    fill: fillOf(prepared, paid.outlay),
    timingJson: JSON.stringify(rounded(timing)),
    createdAtMs,
  });
  const { fee, all } = paid.outlay;
  const common = { signature: null, simulation: null, timing, paper: true } as const;
  return {
    order,
    movement: { wallet, genesisHash, lamports: -(fee + all), accounts: [...tokensOf(prepared), ...paid.opened] },
    answer: (stored) =>
      stored === null
        ? tradeAnswer(request, prepared, { ...common, orderId: null, status: 'simulated', dryRun: true })
        : tradeAnswer(request, prepared, { ...common, orderId: stored.id, status: stored.state }),
  };
}

/** The balance in the form of a wallet of the chain. */
function walletOf(
  owner: string,
  { lamports, accounts }: PaperBalance,
): (publicKey: string, tokenAccounts?: readonly string[]) => WalletRead {
  const tokenAccount = (address: string) => {
    const { token, amount } = accounts.get(address) ?? { token: null, amount: 0n };
    return token === null ? null : { mint: token.mint, owner, amount, frozen: false };
  };
  return (_publicKey, tokenAccounts = []) => ({
    slot: 0,
    askedAtMs: performance.now(),
    lamports,
    tokenAccounts: new Map(tokenAccounts.map((address) => [address, tokenAccount(address)])),
    unownedLamports: new Map(),
    soleSources: 0,
    isDisputed: false,
  });
}

interface Payment {
  readonly outlay: Outlay;
  /** Accounts of programs whose rent the order paid. */
  readonly opened: readonly PaperAccount[];
}

/** What the order takes from its wallet, exact to the lamport, or the refusal if the wallet has less. */
async function pay(
  wallet: string,
  { lamports, accounts }: PaperBalance,
  { outlay: terms, slot }: PreparedTrade,
  state: PrepareParts['state'],
): Promise<Payment | QuoteRefusal> {
  const { trade, wrapped } = terms.built;
  // The wallet's own accounts are on paper; those of programs may exist on the chain.
  const asked = trade.programAccounts.flatMap(({ address, grows }) => (grows !== null || accounts.has(address) ? [] : [address]));
  const read = asked.length === 0 ? null : await state.wallets.readAgreed(wallet, asked, slot);
  if (read?.isDisputed === true) return unavailable('The nodes contradict each other about the accounts of this order.');
  const onChain = new Set(asked.filter((address) => read?.unownedLamports.has(address) !== true));
  const lamportsAt = (address: string): bigint | null => {
    if (accounts.has(address) || onChain.has(address)) return null;
    return address === wrapped?.address ? 0n : (read?.unownedLamports.get(address) ?? 0n);
  };
  const outlay = outlayOf(terms, lamportsAt);
  const ownRent = terms.rent(0);
  if (!canPay(outlay, ownRent, lamports)) return tooLittle('lamports', lamports, needOf(outlay, ownRent), solDecimals);
  const opened = asked.flatMap((address) => (onChain.has(address) ? [] : [{ address, token: null, amount: 0n }]));
  return { outlay, opened };
}

/** How the order changes the token accounts of its wallet. SOL is wrapped only for the time of the trade. */
function tokensOf({ quoted, outlay: { built } }: PreparedTrade): readonly PaperAccount[] {
  const { market, quote, quoteTokenProgram } = quoted;
  const { baseMint, baseAccount, quoteMint, quoteAccount } = built.trade;
  const sign = quote.side === 'buy' ? 1n : -1n;
  const base = { address: baseAccount, token: { mint: baseMint, program: market.tokenProgram }, amount: sign * quote.baseAmount };
  if (quoteAccount === null || quoteMint === wrappedSolMint) return [base];
  return [base, { address: quoteAccount, token: { mint: quoteMint, program: quoteTokenProgram }, amount: -sign * quote.traderQuote }];
}

function fillOf({ quoted, slot }: PreparedTrade, { fee, all }: Outlay): OrderFill {
  const { side, baseAmount, quoteAmount, traderQuote, feeTotal } = quoted.quote;
  const inSol = quoted.pool.quoteMint === wrappedSolMint ? traderQuote : 0n;
  return {
    pool: quoted.venue.name,
    baseAmount,
    quoteAmount,
    traderQuote,
    venueFees: feeTotal,
    networkFee: fee,
    otherLamports: side === 'buy' ? all - inSol : all + inSol,
    slot,
    blockTime: null,
  };
}
