import { wrongFields } from '../quote/best-quote.ts';
import { endStates, ownerOf, type IdempotencyUse, type Owner } from '@sluice/gateway/store/order-model/order.ts';
import type { OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';
import type { TriggerTable } from '@sluice/gateway/store/sql/tables/triggers/triggers.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import { noProgress, type NewTrigger, type StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { WalletAccess } from '@sluice/gateway/accounts/wallet-access.ts';
import { newTriggerId } from '../model/order-id.ts';
import { chainForOrder, type ChainIdentity } from '../nodes/chain-identity.ts';
import { tradingOff } from '../place/admission/admission.ts';
import { placedNow, type Placed, type Refusal } from '../place/outcome.ts';
import type { ArmRequest, CancelRequest, RequestedTrigger, TriggerDesk } from './api/trigger-desk.ts';
import type { TriggerEngine } from './engine/engine.ts';
import { initialProgress } from './life/life.ts';

export interface TriggerDeskParts {
  readonly engine: Pick<TriggerEngine, 'term' | 'take' | 'lookFor'>;
  readonly table: Pick<TriggerTable, 'lookUp' | 'insert' | 'cancel' | 'byId'>;
  readonly orders: Pick<OrderTable, 'byId'>;
  readonly wallets: Pick<WalletAccess, 'mayUse'>;
  readonly chain: Pick<ChainIdentity, 'status'>;
  readonly mode: 'off' | 'paper' | 'live';
  readonly nowMs: () => number;
}

const notRunning: Refusal = {
  error: 'UPSTREAM_UNAVAILABLE',
  message: 'The stored triggers are not loaded yet.',
  retryAfterSeconds: 1,
};

/** Arms and cancels triggers on the gateway that has the trading role. */
export function createTriggerDesk(parts: TriggerDeskParts): TriggerDesk {
  return {
    arm: (owner, request) => arm(owner, request, parts),
    cancel: (owner, which) => cancel(owner, which, parts),
  };
}

async function arm(
  owner: Owner,
  { trigger, use, maxArmed }: ArmRequest,
  parts: TriggerDeskParts,
): Promise<Placed<StoredTrigger> | Refusal> {
  const { engine, table, nowMs } = parts;
  const known = use === null ? null : await replayOf(owner, use, table);
  if (known !== null) return known;
  if (parts.mode === 'off') return tradingOff;
  const chain = chainForOrder(parts.chain);
  if ('error' in chain) return chain;
  const { term } = engine;
  if (term === null) return notRunning;
  const refused = await refusalOf(owner, trigger, parts);
  if (refused !== null) return refused;
  const triggers = newTriggers(owner, trigger, { paper: parts.mode === 'paper', genesisHash: chain.genesisHash, createdAtMs: nowMs() });
  const ids = triggers.map(({ id }) => id);
  const outcome = await table.insert(term, triggers, { idempotency: use, maxArmed }).catch((error: unknown) => {
    if (error instanceof StoreUnavailableError) engine.lookFor(ids);
    throw error;
  });
  switch (outcome.kind) {
    case 'stored':
      engine.take(outcome.triggers);
      return placedNow(outcome.triggers[0]!);
    case 'replay':
      return { answer: outcome.trigger, isReplay: true };
    case 'mismatch':
      return { error: 'IDEMPOTENCY_MISMATCH' };
    case 'over_limit':
      return {
        error: 'FORBIDDEN',
        message: `The plan allows ${maxArmed} triggers that have not ended; ${outcome.armed} have not.`,
        details: { limit: maxArmed, armed: outcome.armed },
      };
    case 'fenced':
      return notRunning;
  }
}

async function replayOf(
  owner: Owner,
  use: IdempotencyUse,
  table: TriggerDeskParts['table'],
): Promise<Placed<StoredTrigger> | Refusal | null> {
  const known = await table.lookUp(ownerOf(owner), use);
  if (known.kind === 'fresh') return null;
  return known.kind === 'mismatch' ? { error: 'IDEMPOTENCY_MISMATCH' } : { answer: known.trigger, isReplay: true };
}

/** Why one of these triggers could never place an order, as far as that is known now. */
async function refusalOf(owner: Owner, { terms, children }: RequestedTrigger, parts: TriggerDeskParts): Promise<Refusal | null> {
  const { publicKey } = terms.order;
  if (!(await parts.wallets.mayUse(owner, publicKey)))
    return { error: 'FORBIDDEN', message: 'There is no such custodial wallet that this key may use.', details: { publicKey } };
  const { when } = terms;
  if (when.kind === 'filled') {
    const order = await parts.orders.byId(when.orderId);
    if (order === null || ownerOf(order) !== ownerOf(owner))
      return wrongFields({ 'when.filled': 'is not the id of an order of this owner' });
    if (endStates.has(order.state) && order.state !== 'finalized')
      return wrongFields({ 'when.filled': `is an order that has ended as \`${order.state}\`` });
  }
  for (const child of children) {
    const refused = await refusalOf(owner, child, parts);
    if (refused !== null) return refused;
  }
  return null;
}

/** The trigger at the top first, each before its children. Their ids ascend in this order. */
function newTriggers(
  { keyId, accountId }: Owner,
  top: RequestedTrigger,
  common: Pick<NewTrigger, 'paper' | 'genesisHash' | 'createdAtMs'>,
): readonly NewTrigger[] {
  const { createdAtMs } = common;
  const ids = Array.from({ length: sizeOf(top) }, () => newTriggerId(createdAtMs)).toSorted();
  const made: NewTrigger[] = [];
  const add = ({ terms, children }: RequestedTrigger, parentId: string | null): string => {
    const id = ids.shift()!;
    const at = made.length;
    const isArmed = parentId === null;
    const of = { keyId, accountId, ...common, parentId, orderId: null, error: null, waitingFor: null, late: false } as const;
    const progress = isArmed ? initialProgress(terms, createdAtMs) : noProgress;
    made.push({ id, ...of, state: isArmed ? 'armed' : 'waiting', terms: { ...terms, childIds: [] }, progress });
    const childIds = children.map((child) => add(child, id));
    made[at] = { ...made[at]!, terms: { ...terms, childIds } };
    return id;
  };
  add(top, null);
  return made;
}

function sizeOf({ children }: RequestedTrigger): number {
  return children.reduce((sum, child) => sum + sizeOf(child), 1);
}

async function cancel(
  owner: Owner,
  which: CancelRequest,
  { engine, table, nowMs }: TriggerDeskParts,
): Promise<readonly StoredTrigger[] | Refusal> {
  const { term } = engine;
  if (term === null) return notRunning;
  if ('id' in which) {
    const trigger = await table.byId(which.id);
    if (trigger === null || ownerOf(trigger) !== ownerOf(owner)) return { error: 'NOT_FOUND', message: 'There is no such trigger.' };
  }
  const changed = await table.cancel(term, 'id' in which ? { ids: [which.id] } : { owner: ownerOf(owner), ...which }, nowMs());
  if (changed === 'fenced') return notRunning;
  engine.take(changed);
  return changed;
}
