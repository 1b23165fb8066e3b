import type { ErrorCode } from '@sluice/shared/errors/codes.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import { encodeBase58 } from '@sluice/shared/solana/base58.ts';
import { RpcError } from '@sluice/shared/solana/rpc.ts';
import { assembleTransaction } from '@sluice/shared/solana/transaction.ts';
import type { Venue } from '@sluice/shared/venues/venue.ts';
import { tradeBuyEndpoint, tradeSellEndpoint, type BuyBody, type OrderTiming, type SellBody } from '@sluice/shared/wire/rest/trade.ts';
import type { Principal } from '../../auth/principal.ts';
import { bindEndpoint, type BoundEndpoint } from '../../http/endpoint.ts';
import type { HttpRequest } from '../../transport/transport.ts';
import { wrongFields } from '../../quote/quoted.ts';
import { ownerOf, type OrderTable } from '../../store/order-table.ts';
import { StoreAwayError } from '../../store/store-away.ts';
import type { MessageBuilder } from '../prepare/message-builder.ts';
import { chainForOrder, type ChainIdentity } from '../nodes/chain-identity.ts';
import type { LaneTip } from '../prepare/surround.ts';
import { checkedTrade, type CheckedTrade } from '../prepare/checked-trade.ts';
import { firstSend, perhapsStored, type SendFirst } from './first-send.ts';
import type { Halt } from '../../store/halt.ts';
import { readIdempotency } from './idempotency.ts';
import { KeyLocks } from './key-locks.ts';
import type { OrderLedger } from '../ledger/order-ledger.ts';
import { newOrderId } from '../model/order-id.ts';
import type { SignedMessage } from '../model/order.ts';
import type { OrderStats } from '../ledger/order-stats.ts';
import { tradeOnPaper } from './paper.ts';
import { readTradeRequest, type TradeRequest } from '../prepare/request.ts';
import type { OrderFollower } from '../follow/order-follower.ts';
import type { Simulator } from '../simulate/simulator.ts';
import type { OrderSigner, Signature, SignRefusal } from '../model/order-signer.ts';
import type { HotState } from '../state/hot-state.ts';
import type { OwnOrders } from '../state/own-orders.ts';
import { rounded, tradeAnswer } from './trade-answer.ts';
import { orderOf, overDayLimit, toldBefore, type Admitted, type Refusal, type TradeReply } from './trade-order.ts';
import type { WalletAccess } from './wallet-access.ts';

export interface LightningParts {
  readonly mode: 'off' | 'paper' | 'live';
  readonly venues: readonly Venue[];
  readonly chain: Pick<ChainIdentity, 'standing'>;
  readonly state: HotState;
  readonly ownOrders: OwnOrders;
  readonly builder: MessageBuilder;
  /** What custodial orders pay for lanes that want a tip. */
  readonly laneTips: readonly LaneTip[];
  readonly simulator: Pick<Simulator, 'simulate'>;
  readonly signer: OrderSigner;
  readonly halt: Pick<Halt, 'standing'>;
  readonly wallets: WalletAccess;
  readonly orders: Pick<OrderTable, 'lookUp' | 'spentLamports'>;
  readonly ledger: OrderLedger;
  readonly sendFirst: SendFirst;
  readonly follower: Pick<OrderFollower, 'follow' | 'hasRoom'>;
  readonly gatewayId: string;
  readonly stats: Pick<OrderStats, 'executed'>;
  readonly maxDayLamports: bigint;
  readonly log: Logger;
}

interface Signed extends CheckedTrade, Pick<Signature, 'audited'> {
  readonly orderId: string;
  readonly message: SignedMessage;
  readonly timing: CheckedTrade['timing'] & Pick<OrderTiming, 'signMs'>;
}

export const tradingOff: Refusal = {
  error: 'TRADING_HALTED',
  message: 'This server does not trade (TRADING is off).',
  retryAfterSeconds: 60,
};
const halted: Refusal = { error: 'TRADING_HALTED', retryAfterSeconds: 1 };
const haltUnknown: Refusal = { ...halted, message: 'Nobody can tell whether trading is halted: the store does not answer in time.' };

/** Null: trading goes on. */
export async function refusedByHalt(halt: LightningParts['halt']): Promise<Refusal | null> {
  const standing = await halt.standing();
  return standing === 'running' ? null : standing === 'halted' ? halted : haltUnknown;
}

/** A call that wants a trade. `body` is what an `Idempotency-Key` holds together with; `endpoint` is where the key counts. */
export interface TradeCall {
  readonly principal: Principal | null;
  readonly request: HttpRequest;
  readonly endpoint: string;
  readonly body: unknown;
}

/** Quotes, builds, signs, simulates, stores and sends. `read` is asked only where the key of the call is not known yet. */
export type Lightning = (call: TradeCall, dryRun: boolean, read: () => Promise<TradeRequest | Refusal>) => Promise<TradeReply>;

export function createLightning(parts: LightningParts): Lightning {
  const locks = new KeyLocks();
  return async ({ principal, request, endpoint, body }, isDryRun, read) => {
    const startedMs = performance.now();
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    const idempotency = readIdempotency(request.headers.get('idempotency-key'), endpoint, body);
    if (!idempotency.ok) return wrongFields({ 'Idempotency-Key': idempotency.fault });
    // A dry run spends nothing, and makes no order that could be told again.
    const use = isDryRun ? null : idempotency.use;
    const lock = locks.take(ownerOf(principal), use);
    if (lock.kind === 'busy') return { error: 'IDEMPOTENCY_IN_PROGRESS', retryAfterSeconds: 1 };
    if (lock.kind === 'other') return { error: 'IDEMPOTENCY_MISMATCH' };
    try {
      if (parts.mode === 'off') return tradingOff;
      if (use !== null) {
        const known = await parts.orders.lookUp(ownerOf(principal), use, Date.now());
        if (known.kind !== 'fresh') return toldBefore(known, startedMs);
      }
      const chain = chainForOrder(parts.chain);
      if ('error' in chain) return chain;
      const { genesisHash } = chain;
      const wanted = await read();
      return 'error' in wanted ? wanted : await trade({ principal, request: wanted, use, genesisHash, startedMs }, parts);
    } catch (error) {
      return fromOutside(error);
    } finally {
      lock.release();
    }
  };
}

/** `POST /trade/buy` and `/trade/sell`: quoted, built, signed, simulated, stored and sent on one request. */
export function lightningEndpoints(lightning: Lightning, venues: readonly Venue[]): BoundEndpoint[] {
  const handler =
    (side: 'buy' | 'sell', endpoint: string) =>
    async ({ principal, body, request }: Pick<TradeCall, 'principal' | 'request'> & { body: BuyBody | SellBody }): Promise<TradeReply> => {
      const read = readTradeRequest(side, body, venues);
      return 'error' in read ? read : lightning({ principal, request, endpoint, body }, read.dryRun, async () => read);
    };
  return [
    bindEndpoint(tradeBuyEndpoint, handler('buy', tradeBuyEndpoint.id)),
    bindEndpoint(tradeSellEndpoint, handler('sell', tradeSellEndpoint.id)),
  ];
}

/** What others did not answer; anything else is a fault of ours. */
export function fromOutside(error: unknown): { readonly error: ErrorCode; readonly message: string; readonly retryAfterSeconds: number } {
  const message = error instanceof RpcError ? 'No node of the chain answers.' : 'The store does not answer.';
  if (error instanceof RpcError || error instanceof StoreAwayError) return { error: 'UPSTREAM_UNAVAILABLE', message, retryAfterSeconds: 1 };
  throw error;
}

async function trade(admitted: Admitted, parts: LightningParts): Promise<TradeReply> {
  const { principal, request } = admitted;
  const stopped = await refusedByHalt(parts.halt);
  if (stopped !== null) return stopped;
  if (!(await parts.wallets.mayUse(principal, request.publicKey))) {
    return {
      error: 'FORBIDDEN',
      message: 'There is no such custodial wallet that this key may use.',
      details: { publicKey: request.publicKey },
    };
  }
  if (!parts.follower.hasRoom) return { error: 'UPSTREAM_UNAVAILABLE', message: 'Too many orders are open.', retryAfterSeconds: 1 };
  if (parts.mode === 'paper') return tradeOnPaper(admitted, parts);
  const checked = await checkedTrade(request, parts);
  if ('error' in checked) return checked;
  if (request.dryRun) return dryRun(admitted, checked, parts);
  const signed = await sign(admitted, checked, parts);
  return 'error' in signed ? signed : send(admitted, signed, parts);
}

/** Tells what would be refused of the order later, too: by the signing process, and by what the store counts of the wallet's day. */
async function dryRun(
  { request, startedMs }: Admitted,
  { prepared, simulation, timing }: CheckedTrade,
  { signer, orders, maxDayLamports }: LightningParts,
): Promise<TradeReply> {
  const { publicKey } = request;
  const nowMs = Date.now();
  const verdict = await signer.judge({ orderId: newOrderId(nowMs), publicKey, message: prepared.built.message });
  if (!verdict.ok) return refusedBySigner(verdict);
  const spentLamports = await orders.spentLamports(publicKey, nowMs);
  if (spentLamports + prepared.lamportsNeeded > maxDayLamports) return overDayLimit({ spentLamports, limitLamports: maxDayLamports });
  const told = { orderId: null, status: 'simulated', signature: null, simulation, dryRun: true } as const;
  return { json: tradeAnswer(request, prepared, { ...told, timing: { totalMs: performance.now() - startedMs, ...timing } }) };
}

/** Signs the message that passed. Nothing is stored, shown to a node or sent yet. */
async function sign({ request }: Admitted, passed: CheckedTrade, parts: LightningParts): Promise<Signed | Refusal> {
  const orderId = newOrderId(Date.now());
  const { built, blockhash } = passed.prepared;
  const beforeMs = performance.now();
  const outcome = await parts.signer.sign({ orderId, publicKey: request.publicKey, message: built.message });
  if (!outcome.ok) return refusedBySigner(outcome);
  const { prepared, simulation, timing } = passed;
  return {
    prepared,
    simulation,
    orderId,
    audited: outcome.audited,
    message: {
      signature: encodeBase58(outcome.signature),
      signedBytes: assembleTransaction(built.message, [outcome.signature]),
      blockhash: blockhash.blockhash,
      lastValidBlockHeight: blockhash.lastValidBlockHeight,
    },
    timing: { signMs: performance.now() - beforeMs, ...timing },
  };
}

function refusedBySigner(outcome: SignRefusal): Refusal {
  switch (outcome.reason) {
    case 'refused':
      return { error: 'FORBIDDEN', message: outcome.message, details: { rule: outcome.rule } };
    case 'unknown_wallet':
      return { error: 'FORBIDDEN', message: 'The keystore does not open this wallet.' };
    case 'halted':
      return halted;
    case 'unavailable':
      return { error: 'UPSTREAM_UNAVAILABLE', message: 'The signing process does not answer.', retryAfterSeconds: 1 };
  }
}

/** The order is stored with its bytes as one that is being sent, durably, while the signer's log becomes so; then it is sent. */
async function send(admitted: Admitted, signed: Signed, parts: LightningParts): Promise<TradeReply> {
  const { ledger } = parts;
  const { startedMs, request } = admitted;
  // The last look: from here on the order may be on its way.
  const stopped = await refusedByHalt(parts.halt);
  if (stopped !== null) return stopped;
  const beforeMs = performance.now();
  const { orderId: id, message } = signed;
  const timingJson = JSON.stringify(rounded({ totalMs: beforeMs - startedMs, ...signed.timing }));
  const order = orderOf(admitted, signed.prepared, { id, state: 'submitted', kind: 'lightning', message, fill: null, timingJson });
  const stored = ledger.insert(order, {
    idempotency: admitted.use,
    spend: { wallet: request.publicKey, lamports: signed.prepared.lamportsNeeded, dayLimitLamports: parts.maxDayLamports },
    followedBy: parts.gatewayId,
  });
  const inserted = await Promise.all([stored, signed.audited()]).then(
    ([outcome]) => outcome,
    (error: unknown) => perhapsStored(error, order),
  );
  if ('error' in inserted) return inserted;
  // Another order has this very message: so many alike on one blockhash that they are not told apart any more. Of two only one could land.
  if (inserted.kind === 'known') {
    const alike = 'This wallet has as many orders under way as can be told apart that are alike to the last byte: ask again in a second.';
    return { error: 'RATE_LIMIT', message: alike, retryAfterSeconds: 1 };
  }
  if (inserted.kind !== 'stored') return toldBefore(inserted, admitted.startedMs);
  const storedMs = performance.now();
  const { signature, lastValidBlockHeight } = message;
  const sent = await firstSend(inserted.order, message.signedBytes, parts);
  const nowMs = performance.now();
  const timing = { storeMs: storedMs - beforeMs, sendMs: nowMs - storedMs, totalMs: nowMs - startedMs, ...signed.timing };
  parts.stats.executed(timing);
  return {
    json: tradeAnswer(request, signed.prepared, {
      orderId: sent.id,
      status: sent.state,
      signature,
      simulation: signed.simulation,
      timing,
      lastValidBlockHeight,
    }),
  };
}
