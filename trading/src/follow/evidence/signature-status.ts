import { commitments, type Commitment } from '@sluice/shared/wire/events/events.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { contextOf, countOf } from '../../nodes/answer-forms.ts';

/** The slot in which a node has a transaction, and its commitment. */
export interface SignatureStatus {
  readonly slot: number;
  readonly commitment: Commitment;
  /** The runtime's error; null if the transaction succeeded. */
  readonly err: unknown;
}

export interface StatusesRead {
  /** The node had processed its fork up to this slot. */
  readonly contextSlot: number;
  /** In the order of the request; null if the node does not know the transaction. */
  readonly statuses: readonly (SignatureStatus | null)[];
}

function statusOf(value: unknown, contextSlot: number): SignatureStatus | null {
  if (!isRecord(value) || value['err'] === undefined) return null;
  const slot = countOf(value['slot']);
  const commitment = commitments.find((name) => name === value['confirmationStatus']);
  if (slot === null || slot > contextSlot || commitment === undefined) return null;
  return { slot, commitment, err: value['err'] };
}

/** Reads an answer of `getSignatureStatuses`. Null if any part of it is not of the documented form. */
export function readStatuses(answer: unknown, count: number, newestSlot: number): StatusesRead | null {
  const context = contextOf(answer, newestSlot);
  if (context === null || !Array.isArray(context.value) || context.value.length !== count) return null;
  const statuses: (SignatureStatus | null)[] = [];
  for (const item of context.value as readonly unknown[]) {
    const status = item === null ? null : statusOf(item, context.slot);
    if (item !== null && status === null) return null;
    statuses.push(status);
  }
  return { contextSlot: context.slot, statuses };
}

/** The newest finalized block of a node. */
export interface FinalizedPoint {
  readonly slot: number;
  readonly blockHeight: number;
}

/** Reads an answer of `getEpochInfo`. Null if it is not of the documented form, or cannot be true. */
export function readFinalizedPoint(answer: unknown, newestSlot: number): FinalizedPoint | null {
  if (!isRecord(answer)) return null;
  const slot = countOf(answer['absoluteSlot']);
  const blockHeight = countOf(answer['blockHeight']);
  if (slot === null || blockHeight === null || slot > newestSlot || blockHeight > slot) return null;
  return { slot, blockHeight };
}
