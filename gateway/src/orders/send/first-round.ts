import { base64Of } from '@sluice/shared/solana/bytes.ts';
import type { LaneAnswer, SentMessage } from './lane.ts';
import type { Lanes } from './lanes.ts';

/**
 * What the first round came to. `accepted`: at least one lane took the message. `refused`: every lane answered that its bytes are
 * at fault. `unanswered`: neither; it may land, or not.
 */
export interface FirstRound {
  readonly kind: LaneAnswer;
  /** The lane that took it first; null where none did. */
  readonly by: string | null;
}

class NotAccepted extends Error {}

/** Sends a message by all lanes at once, each once. Resolves with the first lane that took it, or when all have answered; never rejects. */
export async function firstRound(signature: string, wire: Uint8Array, lanes: Lanes): Promise<FirstRound> {
  const message: SentMessage = { signature, wireBase64: base64Of(wire) };
  const answers = lanes.first(wire).map(async (lane) => ({ lane, answer: await lane.send(message) }));
  const accepted = answers.map(async (one) => {
    const { lane, answer } = await one;
    return answer === 'accepted' ? lane.name : Promise.reject(new NotAccepted());
  });
  try {
    return { kind: 'accepted', by: await Promise.any(accepted) };
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    const told = await Promise.all(answers);
    const refused = told.length > 0 && told.every(({ answer }) => answer === 'refused');
    return { kind: refused ? 'refused' : 'unanswered', by: null };
  }
}
