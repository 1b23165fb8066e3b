import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { assembleTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { BatchAnswer } from '@sluice/shared/wire/rest/trading/batch.ts';
import { wrongFields } from '../../quote/best-quote.ts';
import { keyOfOrder, ownerOf } from '@sluice/gateway/store/order-model/order.ts';
import type { IdempotencyUse, Owner, SignedMessage, StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { InsertAllOutcome, OrderToInsert } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { BundleSimulator } from '../../nodes/simulate/bundle-simulator.ts';
import { newOrderId } from '../../model/order-id.ts';
import { chainForOrder } from '../../nodes/chain-identity.ts';
import type { TradeRequest } from '../../prepare/request.ts';
import { bundleIdOf } from '../../send/lanes.ts';
import { refusedByHalt, storeRefuses, tooManyOpen, tradingOff } from '../admission/admission.ts';
import { firstSendOfBundle, unansweredInsert, type SendBundle } from '../first-send.ts';
import { overDayLimit, placedNow, type Outcome, type Refusal } from '../outcome.ts';
import { noSuchWallet, refusedBySigner, type PlaceParts } from '../place-order.ts';
import { newOrderOf, replayedTrade, rounded, tradeAnswer } from '../trade-answer.ts';
import { inBundle, insertionOf, notAllStored, type AdmittedBundle } from './bundle-orders.ts';
import { bundleOnPaper } from './paper-bundle.ts';
import { checkedBundle, ofOrder, type CheckedOrder } from './prepare-bundle.ts';

export interface BundleParts extends PlaceParts {
  readonly bundleSimulator: Pick<BundleSimulator, 'simulate'>;
  readonly sendBundle: SendBundle;
  /** Whether bundles can be sent. */
  readonly hasBlockEngine: boolean;
}

const noBlockEngine = wrongFields({ bundle: 'is not possible: this server has no block engine. Its operator sets JITO_URL.' });

/** Places all orders, or none. Rejects with an `RpcError` or a `StoreUnavailableError`. */
export async function placeBundle(
  owner: Owner,
  requests: readonly TradeRequest[],
  use: IdempotencyUse | null,
  parts: BundleParts,
): Promise<Outcome<BatchAnswer>> {
  const startedMs = performance.now();
  if (parts.mode === 'off') return tradingOff;
  if (!parts.hasBlockEngine) return noBlockEngine;
  const known = use === null ? null : await knownBundle(owner, requests.length, use, startedMs, parts);
  if (known !== null) return known;
  const chain = chainForOrder(parts.chain);
  if ('error' in chain) return chain;
  const refused = await refusedByHalt(parts.halt);
  if (refused !== null) return refused;
  for (const [index, { publicKey }] of requests.entries()) {
    if (!(await parts.wallets.mayUse(owner, publicKey))) return ofOrder(index, noSuchWallet(publicKey, parts.mode));
  }
  if (!parts.follower.hasRoom) return tooManyOpen;
  const admitted: AdmittedBundle = { owner, requests, use, genesisHash: chain.genesisHash, startedMs };
  if (parts.mode === 'paper') return bundleOnPaper(admitted, parts);
  const isDryRun = requests.every(({ dryRun }) => dryRun);
  if (!isDryRun) parts.storeGate.prepare();
  const checked = await checkedBundle(requests, parts);
  if ('error' in checked) return checked;
  const judged = (await overLimits(checked, parts)) ?? (await judgeAll(checked, parts));
  if (judged !== null) return judged;
  return isDryRun ? placedNow({ results: checked.map((one) => dryAnswer(one, startedMs)) }) : signAndSend(admitted, checked, parts);
}

/** The answer if an earlier request with the key placed the bundle. All of its orders were stored at once. */
async function knownBundle(
  owner: Owner,
  count: number,
  use: IdempotencyUse,
  startedMs: number,
  { orders }: BundleParts,
): Promise<Outcome<BatchAnswer> | null> {
  const results: BatchAnswer['results'] = [];
  for (let index = 0; index < count; index++) {
    const found = await orders.lookUp(ownerOf(owner), keyOfOrder(use, index));
    const answer = found.kind === 'replay' ? replayedTrade(found.order, performance.now() - startedMs) : null;
    if (found.kind === 'fresh' && results.length === 0) return null;
    if (answer === null) return { error: 'IDEMPOTENCY_MISMATCH' };
    results.push(answer);
  }
  return { answer: { results }, isReplay: true };
}

/** The daily limit of each wallet counts all of its orders. It is checked again when they are stored. */
async function overLimits(checked: readonly CheckedOrder[], { orders, maxDayLamports, clock }: BundleParts): Promise<Refusal | null> {
  const spent = new Map<string, bigint>();
  for (const [index, { request, prepared }] of checked.entries()) {
    const { publicKey } = request;
    const before = spent.get(publicKey) ?? (await orders.spentLamports(publicKey, clock.wallMs()));
    if (before + prepared.lamportsNeeded > maxDayLamports)
      return ofOrder(index, overDayLimit({ spentLamports: before, limitLamports: maxDayLamports }));
    spent.set(publicKey, before + prepared.lamportsNeeded);
  }
  return null;
}

/** Asks for the signer's decision about each order before the first is signed: a signature that is not used counts towards the signer's limits. */
async function judgeAll(checked: readonly CheckedOrder[], { signer, clock }: BundleParts): Promise<Refusal | null> {
  for (const [index, one] of checked.entries()) {
    const verdict = await signer.judge(toSign(one, newOrderId(clock.wallMs())));
    if (!verdict.ok) return ofOrder(index, refusedBySigner(verdict));
  }
  return null;
}

function toSign({ request, prepared }: CheckedOrder, orderId: string) {
  const { message, trade } = prepared.built;
  return { orderId, publicKey: request.publicKey, message, poolAccount: trade.poolAccount };
}

function dryAnswer({ request, prepared, simulation }: CheckedOrder, startedMs: number): BatchAnswer['results'][number] {
  const { quoteMs, buildMs } = prepared;
  const outcome = { orderId: null, status: 'simulated', signature: null, simulation, dryRun: true } as const;
  return tradeAnswer(request, prepared, { ...outcome, timing: { quoteMs, buildMs, totalMs: performance.now() - startedMs } });
}

interface SignedOrder extends CheckedOrder {
  readonly orderId: string;
  readonly message: SignedMessage;
  readonly audited: () => Promise<unknown>;
}

/** Signs all, stores all in one transaction while the signer's audit lines reach the disk, and then sends the bundle. */
async function signAndSend(admitted: AdmittedBundle, checked: readonly CheckedOrder[], parts: BundleParts): Promise<Outcome<BatchAnswer>> {
  if (!(await parts.storeGate.mayStore())) return storeRefuses;
  const signed: SignedOrder[] = [];
  for (const [index, one] of checked.entries()) {
    const orderId = newOrderId(parts.clock.wallMs());
    const outcome = await parts.signer.sign(toSign(one, orderId));
    // No signature has left this process.
    if (!outcome.ok) return ofOrder(index, refusedBySigner(outcome));
    const { built, blockhash } = one.prepared;
    const signedBytes = assembleTransaction(built.message, [outcome.signature]);
    const message = { signature: encodeBase58(outcome.signature), signedBytes, ...blockhashOf(blockhash) };
    signed.push({ ...one, orderId, message, audited: outcome.audited });
  }
  // The last check of the halt: after it the orders may be sent.
  const stopped = await refusedByHalt(parts.halt);
  if (stopped !== null) return stopped;
  const stored = await storeAll(admitted, signed, parts);
  return 'error' in stored ? stored : sendStored(admitted, signed, stored.orders, parts);
}

function blockhashOf({ blockhash, lastValidBlockHeight }: CheckedOrder['prepared']['blockhash']) {
  return { blockhash, lastValidBlockHeight };
}

async function storeAll(
  admitted: AdmittedBundle,
  signed: readonly SignedOrder[],
  parts: BundleParts,
): Promise<Extract<InsertAllOutcome, { kind: 'stored' }> | Refusal> {
  const { startedMs, use } = admitted;
  const id = bundleIdOf(signed.map(({ message }) => message));
  const createdAtMs = parts.clock.wallMs();
  const inserts = signed.map(({ request, prepared, orderId, message }, index): OrderToInsert => {
    const timingJson = JSON.stringify(rounded({ totalMs: performance.now() - startedMs }));
    const fields = { id: orderId, state: 'submitted', kind: 'lightning', message, fill: null, timingJson, createdAtMs } as const;
    const order = inBundle(newOrderOf({ ...admitted, request }, prepared, fields), { id, index, count: signed.length });
    const spend = { wallet: request.publicKey, lamports: prepared.lamportsNeeded, dayLimitLamports: parts.maxDayLamports };
    return [order, insertionOf(use, index, parts, { spend })];
  });
  const insertion = parts.storeGate.store(() => parts.ledger.insertAll(inserts));
  const inserted = await Promise.all([insertion, ...signed.map((one) => one.audited())]).then(
    ([outcome]) => outcome,
    (error: unknown) => unansweredInsert(error, inserts[0]![0]),
  );
  if ('error' in inserted) return inserted;
  return inserted.kind === 'stored' ? inserted : notAllStored(inserted, inserts, startedMs);
}

async function sendStored(
  { startedMs }: AdmittedBundle,
  signed: readonly SignedOrder[],
  stored: readonly StoredOrder[],
  parts: BundleParts,
): Promise<Outcome<BatchAnswer>> {
  const sent = await firstSendOfBundle(
    stored,
    signed.map(({ message }) => message.signedBytes),
    startedMs,
    parts,
  );
  const results = signed.map(({ request, prepared, simulation, message }, at) => {
    const { id: orderId, state: status, terms } = sent[at]!;
    const { quoteMs, buildMs } = prepared;
    const timing = { quoteMs, buildMs, totalMs: performance.now() - startedMs };
    parts.stats.executed(timing);
    const { signature, lastValidBlockHeight } = message;
    const bundleId = terms?.bundle?.id;
    const answer = tradeAnswer(request, prepared, { orderId, status, signature, simulation, timing, lastValidBlockHeight });
    return bundleId === undefined ? answer : { ...answer, bundleId };
  });
  return placedNow({ results });
}
