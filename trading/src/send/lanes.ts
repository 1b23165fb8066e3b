import { createRpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { PaidLane } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { createTippedLanes } from '../prepare/tips.ts';
import { createHash } from 'node:crypto';
import { Lane, type LaneAnswer, type SentBundle, type SentMessage } from './lane.ts';
import type { SendNode } from '../nodes/nodes.ts';
import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';

/** `accepted` by at least one lane; `refused` by all, because its bytes are invalid; `unanswered`: the message may land or not. */
export interface FirstRound {
  readonly kind: LaneAnswer;
  /** The lane that accepted it first; null if none did. */
  readonly by: string | null;
}

class NotAccepted extends Error {}

/** Sends a message once on each lane that may have it. Resolves when one has accepted it, or all have answered. Never rejects. */
export async function firstRound(signature: string, wire: Uint8Array, lanes: Lanes, blockEngineOnly = false): Promise<FirstRound> {
  const message: SentMessage = { signature, wireBase64: base64Of(wire) };
  const answers = lanes.firstLanes(wire, blockEngineOnly).map(async (lane) => ({ lane, answer: await lane.send(message) }));
  const accepted = answers.map(async (one) => {
    const { lane, answer } = await one;
    return answer === 'accepted' ? lane.name : Promise.reject(new NotAccepted());
  });
  try {
    return { kind: 'accepted', by: await Promise.any(accepted) };
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    const all = await Promise.all(answers);
    const refused = all.length > 0 && all.every(({ answer }) => answer === 'refused');
    return { kind: refused ? 'refused' : 'unanswered', by: null };
  }
}

/** A signed transaction of a bundle. */
export interface BundledMessage {
  readonly signature: string;
  readonly wire: Uint8Array;
}

/** The id of a bundle at every block engine: the SHA-256 of its signatures. */
export function bundleIdOf(bundle: readonly Pick<BundledMessage, 'signature'>[]): string {
  return createHash('sha256')
    .update(bundle.map(({ signature }) => signature).join(','))
    .digest('hex');
}

/** Sends a bundle once to the block engine. Never rejects. */
export async function firstRoundOfBundle(bundle: readonly BundledMessage[], { bundles }: Pick<Lanes, 'bundles'>): Promise<FirstRound> {
  if (bundles === null) return { kind: 'unanswered', by: null };
  const sent: SentBundle = { signature: bundleIdOf(bundle), bundle: bundle.map(({ wire }) => base64Of(wire)) };
  const kind = await bundles.send(sent);
  return { kind, by: kind === 'accepted' ? bundles.name : null };
}

/** The address of `sendBundle` of the block engine whose `sendTransaction` has this address. */
function bundleUrlOf(url: string): string {
  const address = new URL(url);
  address.pathname = address.pathname.replace(/\/transactions\/?$/, '/bundles');
  address.searchParams.delete('bundleOnly');
  return address.href;
}

/** Time for an answer to one send. */
const timeoutMs = 2_500;

export interface LanesOptions {
  readonly nodes: readonly SendNode[];
  /** Addresses of `sendTransaction` of a Jito block engine and of a Helius Sender. Both accept only messages that pay them a tip. */
  readonly jitoUrl: string | null;
  readonly senderUrl: string | null;
  /** Whether messages may be sent now. Repeated sends continue once they may, while the message can still land. */
  readonly maySend: () => boolean;
  readonly signal: AbortSignal;
}

export type Lanes = ReturnType<typeof createLanes>;

/** All ways to send messages. */
export function createLanes({ nodes, jitoUrl, senderUrl, maySend, signal }: LanesOptions) {
  const tippedLanes = createTippedLanes({ senderUrl });
  const free = nodes.map(({ name, rpc }) => new Lane({ name, rpc, maySend, signal }));
  const laneOf = (name: PaidLane, url: string | null) =>
    url === null ? [] : [{ name, lane: new Lane({ name, rpc: createRpc([url], { timeoutMs }), maySend, signal }) }];
  const paid = [...laneOf('sender', senderUrl), ...laneOf('jito', jitoUrl)];
  const tipped = (wire: Uint8Array): typeof paid => {
    if (paid.length === 0) return paid;
    const names = tippedLanes(wire);
    return paid.filter(({ name }) => names.has(name));
  };
  const lanesOf = (accepting: typeof paid): Lane[] => accepting.map(({ lane }) => lane);
  const blockEngine = (wire: Uint8Array): Lane[] => lanesOf(tipped(wire).filter(({ name }) => name === 'jito'));
  const bundles =
    jitoUrl === null ? null : new Lane({ name: 'jito-bundles', rpc: createRpc([bundleUrlOf(jitoUrl)], { timeoutMs }), maySend, signal });
  return {
    all: [...free, ...lanesOf(paid), ...(bundles === null ? [] : [bundles])],
    /** The lane of bundles. Null: no block engine is set. */
    bundles,
    /** The lanes for the first send of a message. With `blockEngineOnly`, no other lane gets it. */
    firstLanes(wire: Uint8Array, blockEngineOnly = false): readonly Lane[] {
      if (blockEngineOnly) return blockEngine(wire);
      const accepting = tipped(wire);
      for (const one of paid) if (!accepting.includes(one)) one.lane.passOver();
      return [...free, ...lanesOf(accepting)];
    },
    /**
     * The lanes for repeated sends, and for an order that was loaded from the store and may not have been sent. Without the block engine, which accepts one
     * request a second from a caller: a repeated send would displace the first send of the next order. With `blockEngineOnly`, it is the only lane.
     */
    resendLanes: (wire: Uint8Array, blockEngineOnly = false): readonly Lane[] =>
      blockEngineOnly ? blockEngine(wire) : [...free, ...lanesOf(tipped(wire).filter(({ name }) => name !== 'jito'))],
  };
}
