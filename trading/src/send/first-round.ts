import { base64Of } from '@sluice/shared/solana/encoding/bytes.ts';
import type { LaneAnswer, SentMessage } from './lane.ts';
import type { Lanes } from './lanes.ts';

/**
 * The result of the first round. `accepted`: at least one lane accepted the message. `refused`: every lane answered that its bytes are
 * invalid. `unanswered`: neither, so the message may land or not.
 */
export interface FirstRound {
  readonly kind: LaneAnswer;
  /** The lane that accepted it first; null if none did. */
  readonly by: string | null;
}

class NotAccepted extends Error {}

/**
 * Sends a message once on each lane that may have it, on all at the same time. Resolves when the first lane accepts it, or when all have answered.
 * Never rejects.
 */
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
