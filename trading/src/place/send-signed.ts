import { advancesNonce, decodeTransaction, signatureFromText, withoutSignatures } from '@sluice/shared/solana/transaction/transaction.ts';
import type { DecodedTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import type { SendAnswer } from '@sluice/shared/wire/rest/trading/trade.ts';
import { wrongFields } from '../quote/best-quote.ts';
import type { InsertOutcome, OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import { orderObject } from '../model/order-object.ts';
import { endStates, ownerOf } from '@sluice/gateway/store/order-model/order.ts';
import type { IdempotencyUse, NewOrder, OpenOrder, Owner, StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import { newOrderId } from '../model/order-id.ts';
import { chainForOrder } from '../nodes/chain-identity.ts';
import { KeyLocks, refusedByHalt, tooManyOpen, tradingOff } from './admission/admission.ts';
import { firstSend, unansweredInsert } from './first-send.ts';
import { placedNow, type Outcome } from './outcome.ts';
import type { PlaceParts } from './place-order.ts';
import { termsOfTransaction } from './terms-of-transaction.ts';
import { rounded } from './trade-answer.ts';

export type SendSignedParts = Omit<
  PlaceParts,
  'signer' | 'wallets' | 'maxDayLamports' | 'storeGate' | 'laneTips' | 'ownOrders' | 'builder' | 'orders' | 'paper'
> & { readonly orders: Pick<OrderTable, 'lookUp' | 'bySignature'> };

/** Longest life of a caller's blockhash after our newest confirmed block: 150 blocks, and those by which the caller's node may be ahead. */
const longestLife = 150 + 64;
const onPaper = { ...tradingOff, message: 'This server trades on paper (TRADING=paper), and sends nothing.' };

/** A transaction of a caller, with all its signatures. */
export interface SignedTransaction {
  readonly wire: Uint8Array;
  readonly skipSimulation: boolean;
}

/** Simulates, stores and sends a transaction that its wallet signed. Never throws for an error of a node or of the store. */
export type SendSigned = (owner: Owner, signed: SignedTransaction, idempotency: IdempotencyUse | null) => Promise<Outcome<SendAnswer>>;

interface SentTransaction extends SignedTransaction {
  readonly owner: Owner;
  readonly transaction: DecodedTransaction;
  readonly use: IdempotencyUse | null;
  readonly startedMs: number;
}

export function createSendSigned(parts: SendSignedParts): SendSigned {
  const locks = new KeyLocks();
  return async (owner, { wire, skipSimulation }, use) => {
    const startedMs = performance.now();
    const transaction = decodeTransaction(wire);
    if (transaction.kind === 'malformed') return wrongFields({ transaction: `is not a transaction: ${transaction.reason}` });
    if (advancesNonce(transaction)) return wrongFields({ transaction: 'has a durable nonce, so its expiry is unknown' });
    const fault = signatureFault(transaction);
    if (fault !== null) return wrongFields({ transaction: fault });
    return locks.run(owner, use, () => send({ owner, wire, transaction, use, skipSimulation, startedMs }, parts));
  };
}

/** Null if the transaction carries every required signature and all are valid. */
function signatureFault({ signatures, accountKeys, header, messageBytes }: DecodedTransaction): string | null {
  for (let index = 0; index < header.requiredSignatures; index++) {
    const signature = signatureFromText(signatures[index] ?? '');
    if (signature === null || !verifySignature(accountKeys[index]!, messageBytes, signature))
      return `lacks the signature of ${accountKeys[index]}`;
  }
  return null;
}

async function send(sent: SentTransaction, parts: SendSignedParts): Promise<Outcome<SendAnswer>> {
  const { owner, wire, transaction, use, skipSimulation, startedMs } = sent;
  const { ledger, follower, state } = parts;
  if (parts.mode !== 'live') return parts.mode === 'off' ? tradingOff : onPaper;
  if (use !== null) {
    const known = await parts.orders.lookUp(ownerOf(owner), use);
    if (known.kind !== 'fresh') return knownBefore(known, startedMs, parts);
  }
  // Looked up first, because a transaction that has landed already fails in a simulation.
  const known = (await parts.orders.bySignature(transaction.signatures[0]!)).find((order) => ownerOf(order) === ownerOf(owner));
  if (known !== undefined) return knownBefore({ kind: 'known', order: known }, startedMs, parts);
  const stopped = await refusedByHalt(parts.halt);
  if (stopped !== null) return stopped;
  const chain = chainForOrder(parts.chain);
  if ('error' in chain) return chain;
  if (!follower.hasRoom) return tooManyOpen;
  const lastValid = state.blockhashes.lastValidBlockHeightOf(transaction.recentBlockhash);
  const { height } = state.blockhashes;
  // Otherwise a node decides, which simulates it.
  if (skipSimulation && lastValid !== null && height !== null && height > lastValid) return { error: 'TRANSACTION_EXPIRED' };
  const beforeMs = performance.now();
  // A node that gets the signatures could land a transaction that it reports as failing, and no order would record it.
  const blank = withoutSignatures(wire, transaction);
  const [simulated, terms] = await Promise.all([
    skipSimulation ? null : parts.simulator.simulate({ wire: blank, minContextSlot: null, terms: null, expected: null, avoid: 0 }),
    termsOfTransaction(transaction, state),
  ]);
  if (simulated?.kind === 'unavailable')
    return { error: 'UPSTREAM_UNAVAILABLE', message: `The transaction could not be simulated: ${simulated.reason}.` };
  if (simulated?.kind === 'failed')
    return { error: simulated.failure.code, message: simulated.failure.message, details: simulated.failure.details };
  const simulatedMs = performance.now();
  const lastValidBlockHeight = lastValid ?? (height === null ? null : height + longestLife);
  const timing = skipSimulation ? {} : { simulateMs: simulatedMs - beforeMs };
  // The last check of the halt: after it the order may be sent.
  const stoppedMeanwhile = await refusedByHalt(parts.halt);
  if (stoppedMeanwhile !== null) return stoppedMeanwhile;
  const createdAtMs = parts.clock.wallMs();
  const signature = transaction.signatures[0]!;
  const unstored: NewOrder = {
    id: newOrderId(createdAtMs),
    kind: 'sent',
    keyId: owner.keyId,
    accountId: owner.accountId,
    state: 'submitted',
    genesisHash: chain.genesisHash,
    terms,
    quoteJson: null,
    signature,
    signedBytes: wire,
    blockhash: transaction.recentBlockhash,
    lastValidBlockHeight,
    timingJson: JSON.stringify(rounded({ totalMs: simulatedMs - startedMs, ...timing })),
    fill: null,
    error: null,
    createdAtMs,
  };
  const inserted = await ledger
    .insert(unstored, { idempotency: use, spend: null, followedBy: parts.gatewayId })
    .catch((error: unknown) => unansweredInsert(error, unstored));
  if ('error' in inserted) return inserted;
  if (inserted.kind !== 'stored') return knownBefore(inserted, startedMs, parts);
  const sentMs = performance.now();
  const order = await firstSend(inserted.order, wire, startedMs, parts);
  const nowMs = performance.now();
  const took = { storeMs: sentMs - simulatedMs, sendMs: nowMs - sentMs, totalMs: nowMs - startedMs, ...timing };
  parts.stats.executed(took);
  const simulation = simulated?.kind !== 'passed' ? null : { unitsConsumed: simulated.unitsConsumed ?? 0, slot: simulated.slot };
  return placedNow({
    orderId: order.id,
    status: order.state,
    signature,
    publicKey: transaction.accountKeys[0]!,
    lastValidBlockHeight,
    expiresInSeconds: expiresInSeconds(order, parts),
    simulation,
    error: null,
    timing: rounded(took),
  });
}

function knownBefore(
  known: Exclude<InsertOutcome, { kind: 'stored' }>,
  startedMs: number,
  parts: Pick<SendSignedParts, 'state'>,
): Outcome<SendAnswer> {
  switch (known.kind) {
    case 'replay':
    case 'known':
      return { answer: sentBefore(known.order, performance.now() - startedMs, parts), isReplay: true };
    case 'mismatch':
      return { error: 'IDEMPOTENCY_MISMATCH' };
    case 'over_day_limit':
    case 'short':
    case 'full':
    case 'fenced':
      throw new Error('an order without a reservation, a paper balance or a trigger was refused for one');
  }
}

/** The current answer for an order whose transaction was sent before. */
function sentBefore(order: StoredOrder, totalMs: number, parts: Pick<SendSignedParts, 'state'>): SendAnswer {
  const { orderId, status, signature, lastValidBlockHeight, error, timing } = orderObject(order);
  const decoded = decodeTransaction(order.signedBytes ?? new Uint8Array(0));
  if (signature === null || decoded.kind === 'malformed') throw new Error(`order ${order.id} has no transaction`);
  const [publicKey = ''] = decoded.accountKeys;
  return {
    orderId,
    status,
    signature,
    publicKey,
    lastValidBlockHeight,
    expiresInSeconds: expiresInSeconds(order, parts),
    simulation: null,
    error,
    timing: rounded(timing ?? { totalMs }),
  };
}

/** Whole seconds in which the order can still land; null if it has ended, or if that is unknown. */
function expiresInSeconds({ state, lastValidBlockHeight }: OpenOrder, parts: Pick<SendSignedParts, 'state'>): number | null {
  return endStates.has(state) || lastValidBlockHeight === null ? null : parts.state.blockhashes.secondsUntilAfter(lastValidBlockHeight);
}
