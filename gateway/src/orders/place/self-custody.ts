import { base64Of } from '@sluice/shared/solana/bytes.ts';
import {
  advancesNonce,
  decodeTransaction,
  signatureFromText,
  withoutSignatures,
  type DecodedTransaction,
} from '@sluice/shared/solana/transaction.ts';
import { verifySignature } from '@sluice/shared/solana/keypair.ts';
import { toUi } from '@sluice/shared/solana/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import {
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
  type BuyBody,
  type SellBody,
  type SendAnswer,
} from '@sluice/shared/wire/rest/trade.ts';
import type { Principal } from '../../auth/principal.ts';
import { bindEndpoint, type BoundEndpoint, type Call, type EndpointAnswer } from '../../http/endpoint.ts';
import { wrongFields, type QuoteRefusal } from '../../quote/quoted.ts';
import { ownerOf, type IdempotencyUse, type InsertOutcome, type NewOrder, type OrderTable } from '../../store/order-table.ts';
import { firstSend, perhapsStored } from './first-send.ts';
import { chainForOrder } from '../nodes/chain-identity.ts';
import { checkedTrade, unsignedWire } from '../prepare/checked-trade.ts';
import { readIdempotency } from './idempotency.ts';
import { KeyLocks } from './key-locks.ts';
import { fromOutside, refusedByHalt, tradingOff, type LightningParts } from './lightning.ts';
import { newOrderId } from '../model/order-id.ts';
import { orderObject } from '../ledger/order-object.ts';
import type { StoredOrder } from '../model/order.ts';
import type { PreparedTrade } from '../prepare/prepare.ts';
import { readTradeRequest, type TradeRequest } from '../prepare/request.ts';
import type { SimulatedTrade } from '../prepare/simulate-trade.ts';
import { termsOfTransaction } from './terms-of-transaction.ts';
import { rounded, termsJson, tradedQuote } from './trade-answer.ts';

type UnsignedAnswer = EndpointAnswer<typeof transactionBuyEndpoint>;
type SentAnswer = EndpointAnswer<typeof transactionSendEndpoint>;
export type SelfCustodyParts = Omit<LightningParts, 'signer' | 'wallets' | 'maxDayLamports' | 'laneTips' | 'orders'> & {
  readonly orders: Pick<OrderTable, 'lookUp' | 'bySignature'>;
};

/**
 * Blocks from the newest confirmed one that is known to the last that a caller's blockhash may be good for: its own 150, and as many as
 * the node that told it may be ahead.
 */
const longestLife = 150 + 64;
const onPaper = { ...tradingOff, message: 'This server trades on paper (TRADING=paper), and sends nothing.' };

/** `POST /transaction/buy` and `/sell`, whose transactions the caller signs, and `/transaction/send`, which takes them back. */
export function selfCustodyEndpoints(parts: SelfCustodyParts): BoundEndpoint[] {
  const locks = new KeyLocks();
  return [
    bindEndpoint(transactionBuyEndpoint, ({ body }) => unsigned('buy', body, parts)),
    bindEndpoint(transactionSellEndpoint, ({ body }) => unsigned('sell', body, parts)),
    bindEndpoint(transactionSendEndpoint, (call) => takeSigned(call, parts, locks)),
  ];
}

/** A transaction that only its wallet has to sign. `simulation` is null where there was none. */
export interface Unsigned {
  readonly prepared: PreparedTrade;
  readonly wire: Uint8Array;
  readonly simulation: Extract<SimulatedTrade, { kind: 'passed' }>['simulation'];
  /** Null where there was no simulation. */
  readonly simulateMs: number | null;
}

/** Quotes, builds, and simulates or checks. Rejects with an `RpcError`. */
export async function buildUnsigned(request: TradeRequest, parts: SelfCustodyParts): Promise<Unsigned | QuoteRefusal> {
  const checked = await checkedTrade(request, parts);
  if ('error' in checked) return checked;
  const { prepared, simulation, timing } = checked;
  return { prepared, wire: unsignedWire(prepared), simulation, simulateMs: timing.simulateMs ?? null };
}

async function unsigned(side: 'buy' | 'sell', body: BuyBody | SellBody, parts: SelfCustodyParts): Promise<UnsignedAnswer> {
  const startedMs = performance.now();
  const request = readTradeRequest(side, body, parts.venues);
  if ('error' in request) return request;
  try {
    const made = await buildUnsigned(request, parts);
    if ('error' in made) return made;
    const { prepared, wire, simulation, simulateMs } = made;
    const { built, blockhash, priorityFeeLamports, quoteMs, buildMs } = prepared;
    const timing = { totalMs: performance.now() - startedMs, quoteMs, buildMs, ...(simulateMs === null ? {} : { simulateMs }) };
    return {
      json: {
        transaction: base64Of(wire),
        ...termsJson(request, prepared),
        quote: tradedQuote(prepared),
        blockhash: blockhash.blockhash,
        lastValidBlockHeight: blockhash.lastValidBlockHeight,
        computeUnitLimit: built.computeUnitLimit,
        priorityFee: String(priorityFeeLamports),
        priorityFeeUi: toUi(priorityFeeLamports, solDecimals),
        simulation,
        timing: rounded(timing),
      },
    };
  } catch (error) {
    return fromOutside(error);
  }
}

interface Taken {
  readonly principal: Principal;
  readonly wire: Uint8Array;
  readonly transaction: DecodedTransaction;
  readonly use: IdempotencyUse | null;
  readonly skipSimulation: boolean;
  readonly startedMs: number;
}

async function takeSigned(
  { principal, body, request }: Call<typeof transactionSendEndpoint>,
  parts: SelfCustodyParts,
  locks: KeyLocks,
): Promise<SentAnswer> {
  const startedMs = performance.now();
  if (principal === null) return { error: 'UNAUTHENTICATED' };
  const wire = new Uint8Array(Buffer.from(body.transaction, 'base64'));
  const transaction = decodeTransaction(wire);
  if (transaction.kind === 'malformed') return wrongFields({ transaction: `is no transaction: ${transaction.reason}` });
  if (advancesNonce(transaction)) return wrongFields({ transaction: 'has a durable nonce: nobody could tell when it can land no more' });
  const fault = signatureFault(transaction);
  if (fault !== null) return wrongFields({ transaction: fault });
  const idempotency = readIdempotency(request.headers.get('idempotency-key'), transactionSendEndpoint.id, body);
  if (!idempotency.ok) return wrongFields({ 'Idempotency-Key': idempotency.fault });
  const { use } = idempotency;
  const lock = locks.take(ownerOf(principal), use);
  if (lock.kind === 'busy') return { error: 'IDEMPOTENCY_IN_PROGRESS', retryAfterSeconds: 1 };
  if (lock.kind === 'other') return { error: 'IDEMPOTENCY_MISMATCH' };
  try {
    return await sendSigned({ principal, wire, transaction, use, skipSimulation: body.skipSimulation === true, startedMs }, parts);
  } catch (error) {
    return fromOutside(error);
  } finally {
    lock.release();
  }
}

/** Every signature must be there, and fit: a message that nobody takes is worth no order. */
function signatureFault({ signatures, accountKeys, header, messageBytes }: DecodedTransaction): string | null {
  for (let index = 0; index < header.requiredSignatures; index++) {
    const signature = signatureFromText(signatures[index] ?? '');
    if (signature === null || !verifySignature(accountKeys[index]!, messageBytes, signature))
      return `lacks the signature of ${accountKeys[index]}`;
  }
  return null;
}

async function sendSigned(taken: Taken, parts: SelfCustodyParts): Promise<SentAnswer> {
  const { principal, wire, transaction, use, skipSimulation, startedMs } = taken;
  const { ledger, follower, state } = parts;
  if (parts.mode !== 'live') return parts.mode === 'off' ? tradingOff : onPaper;
  if (use !== null) {
    const known = await parts.orders.lookUp(ownerOf(principal), use, Date.now());
    if (known.kind !== 'fresh') return toldBefore(known, startedMs);
  }
  // One that has landed already would fail a simulation.
  const known = (await parts.orders.bySignature(transaction.signatures[0]!)).find((order) => ownerOf(order) === ownerOf(principal));
  if (known !== undefined) return toldBefore({ kind: 'known', order: known }, startedMs);
  const stopped = await refusedByHalt(parts.halt);
  if (stopped !== null) return stopped;
  const chain = chainForOrder(parts.chain);
  if ('error' in chain) return chain;
  if (!follower.hasRoom) return { error: 'UPSTREAM_UNAVAILABLE', message: 'Too many orders are open.', retryAfterSeconds: 1 };
  const beforeMs = performance.now();
  // A node that was shown the signatures, which were verified here, could land what it says will fail, and no order would know of it.
  const blank = withoutSignatures(wire, transaction);
  const [simulated, terms] = await Promise.all([
    skipSimulation ? null : parts.simulator.simulate({ wire: blank, minContextSlot: null, terms: null, expected: null, avoid: 0 }),
    termsOfTransaction(transaction, state),
  ]);
  if (simulated?.kind === 'unavailable')
    return { error: 'UPSTREAM_UNAVAILABLE', message: `It could not be simulated: ${simulated.reason}.` };
  if (simulated?.kind === 'failed')
    return { error: simulated.failure.code, message: simulated.failure.message, details: simulated.failure.details };
  const simulatedMs = performance.now();
  const height = state.blockHeight();
  const lastValidBlockHeight = height === null ? null : height.height + longestLife;
  const timing = skipSimulation ? {} : { simulateMs: simulatedMs - beforeMs };
  // The last look: from here on the order may be on its way.
  const stoppedMeanwhile = await refusedByHalt(parts.halt);
  if (stoppedMeanwhile !== null) return stoppedMeanwhile;
  const timingJson = JSON.stringify(rounded({ totalMs: simulatedMs - startedMs, ...timing }));
  const wanted = newOrder(taken, { genesisHash: chain.genesisHash, terms, lastValidBlockHeight, timingJson });
  const inserted = await ledger
    .insert(wanted, { idempotency: use, spend: null, followedBy: parts.gatewayId })
    .catch((error: unknown) => perhapsStored(error, wanted));
  if ('error' in inserted) return inserted;
  if (inserted.kind !== 'stored') return toldBefore(inserted, startedMs);
  const sentMs = performance.now();
  const signature = transaction.signatures[0]!;
  const order = await firstSend(inserted.order, wire, parts);
  const nowMs = performance.now();
  const took = { storeMs: sentMs - simulatedMs, sendMs: nowMs - sentMs, totalMs: nowMs - startedMs, ...timing };
  parts.stats.executed(took);
  const simulation = simulated?.kind !== 'passed' ? null : { unitsConsumed: simulated.unitsConsumed ?? 0, slot: simulated.slot };
  const json: SendAnswer = {
    orderId: order.id,
    status: order.state,
    signature,
    publicKey: transaction.accountKeys[0]!,
    lastValidBlockHeight,
    simulation,
    error: null,
    timing: rounded(took),
  };
  return { json };
}

function newOrder(
  { principal, wire, transaction }: Taken,
  known: Pick<NewOrder, 'genesisHash' | 'terms' | 'lastValidBlockHeight' | 'timingJson'>,
): NewOrder {
  return {
    id: newOrderId(Date.now()),
    kind: 'sent',
    keyId: principal.keyId,
    accountId: principal.accountId,
    state: 'submitted',
    quoteJson: null,
    signature: transaction.signatures[0]!,
    signedBytes: wire,
    blockhash: transaction.recentBlockhash,
    fill: null,
    error: null,
    ...known,
    createdAtMs: Date.now(),
  };
}

function toldBefore(known: Exclude<InsertOutcome, { kind: 'stored' }>, startedMs: number): SentAnswer {
  switch (known.kind) {
    case 'replay':
    case 'known':
      return { json: sentBefore(known.order, performance.now() - startedMs), headers: { 'Idempotency-Replayed': 'true' } };
    case 'in_progress':
      return { error: 'IDEMPOTENCY_IN_PROGRESS', retryAfterSeconds: 1 };
    case 'mismatch':
      return { error: 'IDEMPOTENCY_MISMATCH' };
    case 'over_day_limit':
      throw new Error('an order without a reservation is over its limit');
  }
}

/** An order of a transaction that was sent before, as it is now. */
function sentBefore(order: StoredOrder, totalMs: number): SendAnswer {
  const { orderId, status, signature, lastValidBlockHeight, error, timing } = orderObject(order);
  const decoded = decodeTransaction(order.signedBytes ?? new Uint8Array(0));
  if (signature === null || decoded.kind === 'malformed') throw new Error(`order ${order.id} has no transaction`);
  const [publicKey = ''] = decoded.accountKeys;
  return { orderId, status, signature, publicKey, lastValidBlockHeight, simulation: null, error, timing: rounded(timing ?? { totalMs }) };
}
