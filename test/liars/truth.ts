import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { assembleMarket, planMarket } from '@sluice/gateway/reads/pools/quoted-market.ts';
import { venues } from '@sluice/venues/registry.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { TradeEvent } from '@sluice/shared/wire/events/events.ts';
import type { QuoteObject } from '@sluice/shared/wire/rest/trading/quote.ts';
import type { OrderObject, TradeAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import type { ChainAccount } from '../simnet/chain.ts';
import { curveOf } from '../simnet/programs/addresses.ts';
import { effectOf } from '../support/chain/trading-world.ts';
import type { LiarsWorld } from './world.ts';
import { atAnyTime } from '../support/chain/quote-moment.ts';

/** An order as its client received it, in an answer or on the stream. */
export type PublishedOrder = Pick<OrderObject, 'orderId' | 'status' | 'signature' | 'fill' | 'lastValidBlockHeight' | 'error'>;

interface Curves {
  readonly atMs: number;
  readonly accounts: ReadonlyMap<string, ChainAccount>;
}

/** A quote may be based on prices up to this long before its request: honest endpoints are late, and so is a busy machine. */
const oldestMs = 3_000;
const retainedMs = 30_000;
/** How far it may differ from a true quote within that time: what the curve did between two blocks. */
const toleranceBps = 50n;
const basisPoints = 10_000n;

/** Compares what the product reports with what happened on the chain. Every fault is a line. */
export class Judge {
  readonly faults: string[] = [];
  /** Name of the current lie; each fault names it. */
  lie = 'no lie';
  readonly orders = new Map<string, PublishedOrder>();
  #curves: Curves[] = [];
  readonly #world: LiarsWorld;
  readonly #stop: () => void;
  readonly #minOuts = new Map<string, TradeAnswer>();
  readonly #said = new Set<string>();

  constructor(world: LiarsWorld) {
    this.#world = world;
    const note = (): void => {
      const atMs = performance.now();
      const accounts = new Map(world.coins.map(({ mint }) => [curveOf(mint), world.chain.account(curveOf(mint))!]));
      this.#curves.push({ atMs, accounts });
      if (this.#curves[0]!.atMs < atMs - 2 * retainedMs) this.#curves = this.#curves.filter((one) => one.atMs > atMs - retainedMs);
    };
    note();
    this.#stop = world.chain.listen({ onFrozen: note });
  }

  fault(text: string): void {
    if (this.#said.has(text)) return;
    this.#said.add(text);
    this.faults.push(`${text} (during: ${this.lie})`);
  }

  /** An order that was accepted. */
  answered(answer: TradeAnswer, body: { readonly slippage: number }, beganAtMs: number): void {
    const { orderId } = answer;
    if (orderId === null) return this.fault('an accepted order has no id');
    this.#minOuts.set(orderId, answer);
    this.checkOrder({ ...answer, orderId, fill: null });
    this.quoted(answer, body.slippage, beganAtMs, orderId);
  }

  /** A quote. Its minimum must be what the slippage leaves of a true quote of that time. */
  quoted(
    { side, mint, quote }: { side: 'buy' | 'sell'; mint: string; quote: QuoteObject },
    slippage: number,
    sinceMs: number,
    what: string,
  ): void {
    const amount = BigInt(quote.inAmount);
    const outs = this.#curves
      .filter((one) => one.atMs >= sinceMs - oldestMs)
      .map(({ accounts }) => this.#trueOut(accounts, mint, side, amount))
      .filter((out) => out !== null);
    if (outs.length === 0) return this.fault(`${what}: a ${side} is quoted, and no true curve allows a quote`);
    const least = outs.reduce((a, b) => (a < b ? a : b));
    const most = outs.reduce((a, b) => (a > b ? a : b));
    const bound = (least * (basisPoints - BigInt(Math.round(slippage * 100))) * (basisPoints - toleranceBps)) / basisPoints ** 2n;
    if (BigInt(quote.minOut) < bound) this.fault(`${what}: minOut of a ${side} is ${quote.minOut}, by true quotes at least ${bound}`);
    const highest = (most * (basisPoints + toleranceBps)) / basisPoints;
    if (BigInt(quote.outAmount) > highest)
      this.fault(`${what}: outAmount of a ${side} is ${quote.outAmount}, by true quotes at most ${highest}`);
  }

  #trueOut(accounts: ReadonlyMap<string, ChainAccount>, mint: string, side: 'buy' | 'sell', amount: bigint): bigint | null {
    const plan = planMarket(mint, [...quoteCoins.keys()], venues);
    const assembled = assembleMarket(plan, (address) => accounts.get(address) ?? this.#world.chain.account(address));
    if (assembled.kind !== 'market') throw new Error(JSON.stringify(assembled));
    const outcome = assembled.market.pools[0]!.pool.quote({ exact: side === 'buy' ? 'quoteIn' : 'baseIn', amount }, atAnyTime);
    // Before it was bought nobody could sell it.
    if (!outcome.ok) return null;
    return side === 'buy' ? outcome.quote.baseAmount : outcome.quote.traderQuote;
  }

  /** What is reported about an order must be true now: the chain is in this process, and never behind what is reported. */
  checkOrder(order: PublishedOrder): void {
    const { orderId, status, signature, lastValidBlockHeight } = order;
    this.orders.set(orderId, order);
    const { chain } = this.#world;
    const record = chain.transaction(signature ?? '');
    const fault = (why: string): void => this.fault(`${orderId} is reported as ${status}, and ${why}`);
    switch (status) {
      case 'processed':
      case 'confirmed':
      case 'finalized': {
        if (record === null) return fault('it did not land');
        if (record.err !== null && status !== 'processed') return fault(`it failed: ${JSON.stringify(record.err)}`);
        const reached = { processed: chain.slot, confirmed: chain.confirmedSlot, finalized: chain.finalizedSlot }[status];
        if (record.slot > reached) fault(`its slot ${record.slot} has not reached it: ${reached}`);
        break;
      }
      case 'failed':
        if (record === null || record.err === null) fault(record === null ? 'it did not land' : 'it landed and succeeded');
        break;
      case 'expired':
        if (record !== null) fault('it landed');
        else if (chain.blockHeight <= (lastValidBlockHeight ?? Infinity))
          fault(`it can land until ${lastValidBlockHeight}, now ${chain.blockHeight}`);
        break;
    }
    if (order.fill !== null) this.#filled(order as OrderObject);
  }

  /** A trade of a confirmed slot, as a subscriber received it. */
  traded({ signature, trader, mint, side, baseAmount }: TradeEvent): void {
    const { chain } = this.#world;
    const record = chain.transaction(signature ?? '');
    if (record === null || record.err !== null) return this.fault(`a trade of ${signature} is confirmed, and it did not happen`);
    if (trader === null) return this.fault(`a confirmed trade of ${signature} has no trader`);
    const { tokens } = effectOf(chain, record, { publicKey: trader, mint, quoteMint: wrappedSolMint });
    if (tokens !== (side === 'buy' ? 1n : -1n) * BigInt(baseAmount))
      this.fault(`a confirmed ${side} of ${signature} has ${baseAmount} tokens, and it was ${tokens}`);
  }

  #filled({ orderId, signature, publicKey, mint, quoteMint, side, fill }: OrderObject): void {
    const record = this.#world.chain.transaction(signature ?? '');
    if (fill === null || record === null || record.err !== null)
      return this.fault(`${orderId} is reported with a fill, and nothing was filled`);
    const effect = effectOf(this.#world.chain, record, { publicKey: publicKey!, mint: mint!, quoteMint: quoteMint ?? wrappedSolMint });
    const sign = side === 'buy' ? 1n : -1n;
    const reported = { tokens: sign * BigInt(fill.baseAmount), fee: BigInt(fill.networkFee) };
    const paid = sign * BigInt(fill.traderQuoteAmount) + BigInt(fill.networkFee) + BigInt(fill.otherLamports);
    if (reported.tokens !== effect.tokens || reported.fee !== effect.fee || -paid !== effect.lamports)
      this.fault(
        `${orderId} is reported with a fill of ${reported.tokens} tokens for ${paid}, and it was ${effect.tokens} for ${-effect.lamports}`,
      );
    const answer = this.#minOuts.get(orderId);
    if (answer === undefined) return;
    const { minOut, maxIn } = answer.quote;
    const [given, gotten] = side === 'buy' ? [fill.traderQuoteAmount, fill.baseAmount] : [fill.baseAmount, fill.traderQuoteAmount];
    if (BigInt(gotten) < BigInt(minOut)) this.fault(`${orderId} got ${gotten}, and its bound was ${minOut}`);
    if (BigInt(given) > BigInt(maxIn)) this.fault(`${orderId} gave ${given}, and its bound was ${maxIn}`);
  }

  /**
   * After the end: every order ended as reported, and every message that any endpoint received belongs to one order. `triggered`: those that
   * triggers placed.
   */
  end(stored: readonly PublishedOrder[], triggered: readonly PublishedOrder[]): void {
    this.#stop();
    const { chain, endpoints, wallets, armedWallets } = this.#world;
    const all = [...stored, ...triggered];
    for (const order of all) this.checkOrder(order);
    const signatures = all.map(({ signature }) => signature);
    if (new Set(signatures).size !== signatures.length) this.fault('two orders have one message');
    const known = new Set(signatures);
    for (const sent of new Set(endpoints.flatMap((endpoint) => [...endpoint.sent])))
      if (!known.has(sent)) this.fault(`${sent} was sent, and no order has it`);
    for (const payer of [...wallets, ...armedWallets])
      for (const { accountKeys, signature } of chain.signaturesFor(payer))
        if (accountKeys[0] === payer && !known.has(signature)) this.fault(`${signature} landed, and no order has it`);
    const ids = new Set(stored.map(({ orderId }) => orderId));
    if (ids.size !== this.#minOuts.size || [...this.#minOuts.keys()].some((id) => !ids.has(id)))
      this.fault(`${this.#minOuts.size} orders were answered, and ${ids.size} are stored`);
  }
}
