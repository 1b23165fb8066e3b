import type { Commitment } from '@sluice/shared/wire/events/events.ts';
import type { Chain } from '../chain.ts';
import type { BlockHistory } from './block-history.ts';
import type { Fields, Params } from './params.ts';
import { answer, fault, rpcCodes, type RpcFault, type RpcResult } from './rpc-fault.ts';

/**
 * `solana-core` of getVersion and `apiVersion` of every context. No real node has this version, so this node cannot be mistaken for a real
 * one.
 */
export const simnetVersion = '4.3.0-simnet';

/** Slots of an epoch, as on mainnet. */
export const slotsPerEpoch = 432_000;

/** What the methods work on. */
export interface RpcContext {
  readonly chain: Chain;
  readonly blocks: BlockHistory;
  /** Null if healthy, otherwise how many slots behind this node claims to be. */
  readonly slotsBehind: () => number | null;
  /** Called with the signature of every transaction that `sendTransaction` accepted. */
  readonly onReceived: (signature: string) => void;
  /** A method threw: this is a bug, and is answered with -32603. */
  readonly onBug: (method: string, error: unknown) => void;
}

export type RpcMethod = (context: RpcContext, params: Params) => RpcResult;

export function slotAt(chain: Chain, commitment: Commitment): number {
  if (commitment === 'processed') return chain.slot;
  return commitment === 'confirmed' ? chain.confirmedSlot : chain.finalizedSlot;
}

/** Height of the newest block at a commitment. If no such block is stored: the newest height minus the slots between. */
export function blockHeightAt(context: RpcContext, commitment: Commitment): number {
  const { chain, blocks } = context;
  if (commitment === 'processed') return chain.blockHeight;
  const slot = slotAt(chain, commitment);
  return blocks.newestUpTo(slot)?.blockHeight ?? Math.max(0, chain.blockHeight - (chain.slot - slot));
}

/** Refuses with -32016 if the bank at `commitment` is older than the caller's `minContextSlot`. */
export function contextFault(context: RpcContext, fields: Fields, commitment: Commitment): RpcFault | null {
  const minSlot = fields.uint('minContextSlot');
  const slot = slotAt(context.chain, commitment);
  if (minSlot === null || minSlot <= slot) return fields.params.fault;
  return fields.params.fault ?? fault(rpcCodes.minContextSlot, 'Minimum context slot has not been reached', { contextSlot: slot });
}

export function withContext(context: RpcContext, commitment: Commitment, value: unknown): RpcResult {
  return answer({ context: { apiVersion: simnetVersion, slot: slotAt(context.chain, commitment) }, value });
}

/** The error of a node that is behind the cluster. */
export function healthFault(context: RpcContext): RpcFault | null {
  const behind = context.slotsBehind();
  return behind === null ? null : fault(rpcCodes.nodeUnhealthy, `Node is behind by ${behind} slots`, { numSlotsBehind: behind });
}
