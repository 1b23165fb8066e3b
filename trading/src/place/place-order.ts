import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { assembleTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { OrderTiming } from '@sluice/shared/wire/rest/trading/trade.ts';
import { wrongFields } from '../quote/best-quote.ts';
import type { Halt } from '@sluice/gateway/store/halt/halt.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { PaperTable } from '@sluice/gateway/store/sql/tables/orders/paper.ts';
import type { ThreadedFollower } from '../follow/thread/threaded-follower.ts';
import type { OrderLedger } from '../model/order-ledger.ts';
import type { OrderStats } from '../model/order-stats.ts';
import { ownerOf, type IdempotencyUse, type Owner, type SignedMessage } from '@sluice/gateway/store/order-model/order.ts';
import { newOrderId } from '../model/order-id.ts';
import type { Signature, SigningProcess, SignRefusal } from '../signer/client/client.ts';
import { chainForOrder, type ChainIdentity } from '../nodes/chain-identity.ts';
import { checkedTrade, type CheckedTrade } from '../prepare/checked-trade.ts';
import type { MessageBuilder } from '../prepare/message-builder.ts';
import type { TradeRequest } from '../prepare/request.ts';
import type { LaneTip } from '../prepare/surround.ts';
import type { Simulator } from '../nodes/simulate/simulator.ts';
import type { HotState } from '../state/hot-state.ts';
import type { OwnOrders } from '../state/own-orders.ts';
import { halted, KeyLocks, refusedByHalt, storeRefuses, tooManyOpen, tradingOff } from './admission/admission.ts';
import { newOrderOf, type Admitted, rounded, tradeAnswer } from './trade-answer.ts';
import { firstSend, unansweredInsert, type SendFirst } from './first-send.ts';
import { notStored, overDayLimit, placedNow, type Outcome, type Refusal } from './outcome.ts';
import { tradeOnPaper } from './paper/paper.ts';
import type { StoreGate } from './store-gate.ts';
import type { WalletAccess } from '@sluice/gateway/accounts/wallet-access.ts';

export interface PlaceParts {
  readonly mode: 'off' | 'paper' | 'live';
  readonly chain: Pick<ChainIdentity, 'status'>;
  readonly state: HotState;
  readonly ownOrders: OwnOrders;
  readonly solUsd: () => number | null;
  readonly builder: MessageBuilder;
  /** Tips that custodial orders pay to the lanes that require one. */
  readonly laneTips: readonly LaneTip[];
  readonly simulator: Pick<Simulator, 'simulate'>;
  /** Number of RPC endpoints. */
  readonly endpoints: number;
  readonly signer: Pick<SigningProcess, 'sign' | 'judge'>;
  readonly halt: Pick<Halt, 'status'>;
  readonly wallets: WalletAccess;
  readonly orders: Pick<OrderTable, 'lookUp' | 'spentLamports'>;
  readonly paper: Pick<PaperTable, 'balance'>;
  readonly ledger: OrderLedger;
  readonly storeGate: StoreGate;
  readonly sendFirst: SendFirst;
  readonly follower: Pick<ThreadedFollower, 'follow' | 'hasRoom'>;
  readonly gatewayId: string;
  readonly stats: Pick<OrderStats, 'executed'>;
  readonly maxDayLamports: bigint;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Logger;
}

const noSuchPaperWallet =
  'There is no such paper wallet that this key may use. Live wallets do not trade on paper (TRADING=paper): `POST /paper/wallets` makes a paper wallet.';

export function noSuchWallet(publicKey: string, mode: PlaceParts['mode']): Refusal {
  const message = mode === 'paper' ? noSuchPaperWallet : 'There is no such custodial wallet that this key may use.';
  return { error: 'FORBIDDEN', message, details: { publicKey } };
}

/** Another order has the same message, and only one of the two could land. */
export const tooManyAlike: Refusal = {
  error: 'RATE_LIMIT',
  message: 'This wallet already has the most identical orders that one blockhash allows. Try again in a second.',
  retryAfterSeconds: 1,
};

interface Signed extends CheckedTrade, Pick<Signature, 'audited'> {
  readonly orderId: string;
  readonly message: SignedMessage;
  readonly timing: CheckedTrade['timing'] & Pick<OrderTiming, 'signMs'>;
}

/** A trade with the default wallet of the owner's key. */
export interface DefaultWalletRequest {
  readonly publicKey: null;
  readonly dryRun: boolean;
  /** The trade of this wallet. */
  of(publicKey: string): TradeRequest;
}

/** Places one order. Never throws for an error of a node or of the store. A dry run makes no order, and ignores the `Idempotency-Key`. */
export type PlaceOrder = (
  owner: Owner,
  request: TradeRequest | DefaultWalletRequest,
  idempotency: IdempotencyUse | null,
) => Promise<Outcome>;

export function createPlaceOrder(parts: PlaceParts): PlaceOrder {
  const locks = new KeyLocks();
  return (owner, request, idempotency) => {
    const startedMs = performance.now();
    const use = request.dryRun ? null : idempotency;
    return locks.run(owner, use, () => place(owner, request, use, startedMs, parts));
  };
}

async function place(
  owner: Owner,
  request: TradeRequest | DefaultWalletRequest,
  use: IdempotencyUse | null,
  startedMs: number,
  parts: PlaceParts,
): Promise<Outcome> {
  if (parts.mode === 'off') return tradingOff;
  if (use !== null) {
    const known = await parts.orders.lookUp(ownerOf(owner), use);
    if (known.kind !== 'fresh') return notStored(known, startedMs);
  }
  const chain = chainForOrder(parts.chain);
  if ('error' in chain) return chain;
  const publicKey = request.publicKey ?? (await parts.wallets.defaultOf(owner));
  if (publicKey === null) {
    return wrongFields({
      publicKey: `is required, because the account of this key has no ${parts.mode === 'paper' ? 'paper' : 'custodial'} wallet`,
    });
  }
  const trade = request.publicKey === null ? request.of(publicKey) : request;
  return admit({ owner, request: trade, use, genesisHash: chain.genesisHash, startedMs }, parts);
}

async function admit(admitted: Admitted, parts: PlaceParts): Promise<Outcome> {
  const { owner, request } = admitted;
  const refused = await refusedByHalt(parts.halt);
  if (refused !== null) return refused;
  if (!(await parts.wallets.mayUse(owner, request.publicKey))) {
    return noSuchWallet(request.publicKey, parts.mode);
  }
  if (!parts.follower.hasRoom) return tooManyOpen;
  if (parts.mode === 'paper') return tradeOnPaper(admitted, parts);
  // Its probe runs while the order is quoted and simulated.
  if (!request.dryRun) parts.storeGate.prepare();
  const checked = await checkedTrade(request, parts);
  if ('error' in checked) return checked;
  if (request.dryRun) return dryRun(admitted, checked, parts);
  const signed = await sign(admitted, checked, parts);
  return 'error' in signed ? signed : send(admitted, signed, parts);
}

/** Also returns what the signing process and the wallet's daily limit would refuse. */
async function dryRun(
  { request, startedMs }: Admitted,
  { prepared, simulation, timing }: CheckedTrade,
  { signer, orders, maxDayLamports, clock }: PlaceParts,
): Promise<Outcome> {
  const { publicKey } = request;
  const nowMs = clock.wallMs();
  const { message, trade } = prepared.built;
  const verdict = await signer.judge({ orderId: newOrderId(nowMs), publicKey, message, poolAccount: trade.poolAccount });
  if (!verdict.ok) return refusedBySigner(verdict);
  const spentLamports = await orders.spentLamports(publicKey, nowMs);
  if (spentLamports + prepared.lamportsNeeded > maxDayLamports) return overDayLimit({ spentLamports, limitLamports: maxDayLamports });
  const outcome = { orderId: null, status: 'simulated', signature: null, simulation, dryRun: true } as const;
  return placedNow(tradeAnswer(request, prepared, { ...outcome, timing: { totalMs: performance.now() - startedMs, ...timing } }));
}

/** Signs the checked message, if the store accepts orders. Nothing was stored or sent yet, and no node has seen the signature. */
async function sign({ request }: Admitted, passed: CheckedTrade, parts: PlaceParts): Promise<Signed | Refusal> {
  const mayStore = parts.storeGate.mayStore();
  if (!(typeof mayStore === 'boolean' ? mayStore : await mayStore)) return storeRefuses;
  const orderId = newOrderId(parts.clock.wallMs());
  const { built, blockhash } = passed.prepared;
  const beforeMs = performance.now();
  const outcome = await parts.signer.sign({
    orderId,
    publicKey: request.publicKey,
    message: built.message,
    poolAccount: built.trade.poolAccount,
  });
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

export function refusedBySigner(outcome: SignRefusal): Refusal {
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

/** Stores the order with its bytes as `submitted` while the signer's audit line reaches the disk, and then sends it. */
async function send(admitted: Admitted, signed: Signed, parts: PlaceParts): Promise<Outcome> {
  const { ledger } = parts;
  const { startedMs, request } = admitted;
  // The last check of the halt: after it the order may be sent.
  const stopped = await refusedByHalt(parts.halt);
  if (stopped !== null) return stopped;
  const beforeMs = performance.now();
  const { orderId: id, message } = signed;
  const timingJson = JSON.stringify(rounded({ totalMs: beforeMs - startedMs, ...signed.timing }));
  const createdAtMs = parts.clock.wallMs();
  const fields = { id, state: 'submitted', kind: 'lightning', message, fill: null, timingJson, createdAtMs } as const;
  const order = newOrderOf(admitted, signed.prepared, fields);
  const insertion = {
    idempotency: admitted.use,
    spend: { wallet: request.publicKey, lamports: signed.prepared.lamportsNeeded, dayLimitLamports: parts.maxDayLamports },
    followedBy: parts.gatewayId,
  };
  const stored = parts.storeGate.store(() => ledger.insert(order, insertion));
  const inserted = await Promise.all([stored, signed.audited()]).then(
    ([outcome]) => outcome,
    (error: unknown) => unansweredInsert(error, order),
  );
  if ('error' in inserted) return inserted;
  if (inserted.kind === 'known') return tooManyAlike;
  if (inserted.kind !== 'stored') return notStored(inserted, startedMs);
  const storedMs = performance.now();
  const { signature, lastValidBlockHeight } = message;
  const sent = await firstSend(inserted.order, message.signedBytes, startedMs, parts);
  const nowMs = performance.now();
  const timing = { storeMs: storedMs - beforeMs, sendMs: nowMs - storedMs, totalMs: nowMs - startedMs, ...signed.timing };
  parts.stats.executed(timing);
  const { simulation, prepared } = signed;
  return placedNow(
    tradeAnswer(request, prepared, { orderId: sent.id, status: sent.state, signature, simulation, timing, lastValidBlockHeight }),
  );
}
