import {
  armTriggerEndpoint,
  cancelTriggerEndpoint,
  cancelTriggersEndpoint,
  triggerEndpoint,
  triggerPageEndpoint,
  triggerPageLimits,
} from '@sluice/shared/wire/rest/trading/triggers.ts';
import { bindEndpoint, type BoundEndpoint, type EndpointHandler } from '@sluice/gateway/http/endpoint.ts';
import { ownerOf, type Owner } from '@sluice/gateway/store/order-model/order.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { StoredTrigger } from '@sluice/gateway/store/trigger-model/trigger.ts';
import type { Venue } from '@sluice/venues/seam/venue.ts';
import { answerOnce, readIdempotency } from './idempotency.ts';
import { orderEndpoint, type OrderAnswer, type OrderCall, type OrderEndpoint } from '../order-call.ts';
import { isTriggerId } from '../../model/order-id.ts';
import { orRefusal } from '../../place/admission/admission.ts';
import type { Refusal } from '../../place/outcome.ts';
import { readTrigger } from '../../triggers/api/read-trigger.ts';
import type { TriggerDesk } from '../../triggers/api/trigger-desk.ts';
import { triggerObject } from '../../model/trigger-object.ts';

export interface TriggerParts {
  readonly desk: TriggerDesk;
  readonly triggers: Pick<Store['triggers'], 'byId' | 'lookUp'>;
  readonly venues: readonly Venue[];
  /** Whether orders are on paper. */
  readonly paper: boolean;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

const notFound: Refusal = { error: 'NOT_FOUND', message: 'There is no such trigger.' };

/** `POST` and `DELETE /trade/triggers`, for the gateway that holds the trading role. */
export function triggerEndpoints(parts: TriggerParts): OrderEndpoint[] {
  return [
    orderEndpoint(armTriggerEndpoint, (call) => arm(call, parts)),
    orderEndpoint(cancelTriggerEndpoint, (call) => cancelOne(call, parts)),
    orderEndpoint(cancelTriggersEndpoint, (call) => cancelAll(call, parts)),
  ];
}

async function arm(
  call: OrderCall<typeof armTriggerEndpoint>,
  { desk, triggers, venues, nowMs }: TriggerParts,
): Promise<OrderAnswer<typeof armTriggerEndpoint>> {
  const { owner, body, idempotencyKey, maxTriggers } = call;
  return orRefusal(async () => {
    const read = readTrigger(body, { nowMs: nowMs(), venues });
    const idempotency = readIdempotency(idempotencyKey, armTriggerEndpoint.id, body);
    if ('error' in read && owner !== null && idempotency.ok && idempotency.use !== null) {
      // A time in the body may have passed since the request was sent first.
      const found = await triggers.lookUp(ownerOf(owner), idempotency.use);
      if (found.kind === 'replay') return { json: triggerObject(found.trigger), headers: { 'Idempotency-Replayed': 'true' } };
    }
    return answerOnce(call, armTriggerEndpoint, read, async (by, trigger, use) => {
      const outcome = await desk.arm(by, { trigger, use, maxArmed: maxTriggers });
      return 'error' in outcome ? outcome : { ...outcome, answer: triggerObject(outcome.answer) };
    });
  });
}

async function cancelOne(
  { owner, params: { id } }: OrderCall<typeof cancelTriggerEndpoint>,
  { desk, triggers, paper }: TriggerParts,
): Promise<OrderAnswer<typeof cancelTriggerEndpoint>> {
  if (owner === null) return { error: 'UNAUTHENTICATED' };
  return orRefusal(async () => {
    const before = await ownTrigger(triggers, { id, owner, paper });
    if (before === null) return notFound;
    const cancelled = await desk.cancel(owner, { id });
    if ('error' in cancelled) return cancelled;
    const after = cancelled.find((trigger) => trigger.id === id) ?? (await triggers.byId(id)) ?? before;
    return { json: triggerObject(after) };
  });
}

async function cancelAll(
  { owner, query }: OrderCall<typeof cancelTriggersEndpoint>,
  { desk }: TriggerParts,
): Promise<OrderAnswer<typeof cancelTriggersEndpoint>> {
  if (owner === null) return { error: 'UNAUTHENTICATED' };
  return orRefusal(async () => {
    const changed = await desk.cancel(owner, query);
    if ('error' in changed) return changed;
    const cancelled = changed.filter(({ state }) => state === 'cancelled').length;
    return { json: { cancelled, firing: changed.length - cancelled } };
  });
}

export interface TriggerReads {
  /** Null if the gateway has no store: then there are no triggers. */
  readonly triggers: Pick<Store['triggers'], 'byId' | 'page'> | null;
  readonly paper: boolean;
}

/** `GET /trade/triggers` and `/trade/triggers/{id}`: the triggers of the caller, from the store. */
export function triggerReadEndpoints(parts: TriggerReads): BoundEndpoint[] {
  return [bindEndpoint(triggerEndpoint, readOne(parts)), bindEndpoint(triggerPageEndpoint, listTriggers(parts))];
}

function readOne({ triggers, paper }: TriggerReads): EndpointHandler<typeof triggerEndpoint> {
  return async ({ principal, params: { id } }) => {
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    return orRefusal(async () => {
      const trigger = triggers === null ? null : await ownTrigger(triggers, { id, owner: principal, paper });
      return trigger === null ? notFound : { json: triggerObject(trigger) };
    });
  };
}

function listTriggers({ triggers, paper }: TriggerReads): EndpointHandler<typeof triggerPageEndpoint> {
  return async ({ principal, query }) => {
    if (principal === null) return { error: 'UNAUTHENTICATED' };
    const { before = null, status: state = null, mint = null, publicKey = null, limit = triggerPageLimits.default } = query;
    return orRefusal(async () => {
      // Reads one trigger more than the page has, to know whether another page follows.
      const page = { owner: ownerOf(principal), paper, state, mint, publicKey, before, limit: limit + 1 };
      const found = (await triggers?.page(page)) ?? [];
      const shown = found.slice(0, limit);
      return { json: { triggers: shown.map(triggerObject), next: found.length > limit ? (shown.at(-1)?.id ?? null) : null } };
    });
  };
}

/** A caller must not learn that a trigger of another owner exists. */
async function ownTrigger(
  triggers: Pick<Store['triggers'], 'byId'>,
  { id, owner, paper }: { readonly id: string; readonly owner: Owner; readonly paper: boolean },
): Promise<StoredTrigger | null> {
  const trigger = isTriggerId(id) ? await triggers.byId(id) : null;
  return trigger !== null && ownerOf(trigger) === ownerOf(owner) && trigger.paper === paper ? trigger : null;
}
