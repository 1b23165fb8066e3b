import { createRpc } from '@sluice/shared/solana/rpc.ts';
import { createTippedLanes, type PaidLane } from '../prepare/tips.ts';
import { createLane, type Lane } from './lane.ts';
import type { SendNode } from '../nodes/nodes.ts';

/** Time for an answer to a message sent. */
const timeoutMs = 2_500;

export interface LaneOptions {
  readonly nodes: readonly SendNode[];
  /** Addresses of a Jito block engine's and a Helius Sender's `sendTransaction`; both take only what carries a tip of theirs. */
  readonly jitoUrl: string | null;
  readonly senderUrl: string | null;
  /** Whether messages may leave now. What is sent again and again leaves when it may again, if it can still land. */
  readonly mayLeave: () => boolean;
  readonly signal: AbortSignal;
}

/** All ways that messages leave by. */
export interface Lanes {
  readonly all: readonly Lane[];
  /** By which a message goes at first. */
  first(wire: Uint8Array): readonly Lane[];
  /**
   * By which it goes again, also where an order is taken up and nobody knows whether it was sent. A block engine takes one request a
   * second of a caller: repeated sends would keep out the next order's first one.
   */
  again(wire: Uint8Array): readonly Lane[];
}

export function createLanes({ nodes, jitoUrl, senderUrl, mayLeave, signal }: LaneOptions): Lanes {
  const tippedLanes = createTippedLanes({ senderUrl });
  const free = nodes.map(({ name, rpc }) => createLane({ name, rpc, mayLeave, signal }));
  const laneOf = (name: PaidLane, url: string | null) =>
    url === null ? [] : [{ name, lane: createLane({ name, rpc: createRpc([url], { timeoutMs }), mayLeave, signal }) }];
  const paid = [...laneOf('sender', senderUrl), ...laneOf('jito', jitoUrl)];
  const tipped = (wire: Uint8Array): typeof paid => {
    if (paid.length === 0) return paid;
    const names = tippedLanes(wire);
    return paid.filter(({ name }) => names.has(name));
  };
  return {
    all: [...free, ...paid.map(({ lane }) => lane)],
    first(wire) {
      const taken = tipped(wire);
      for (const one of paid) if (!taken.includes(one)) one.lane.passOver();
      return [...free, ...taken.map(({ lane }) => lane)];
    },
    again: (wire) => [
      ...free,
      ...tipped(wire)
        .filter(({ name }) => name !== 'jito')
        .map(({ lane }) => lane),
    ],
  };
}
