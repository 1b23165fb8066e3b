import type { Outcome, Refusal } from '../../place/outcome.ts';

interface Answered<Json> {
  readonly json: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The HTTP answer of an outcome. */
export function answerOf<Json>(outcome: Outcome<Json>): Answered<Json> | Refusal {
  if ('error' in outcome) return outcome;
  const { answer: json, isReplay } = outcome;
  return isReplay ? { json, headers: { 'Idempotency-Replayed': 'true' } } : { json };
}
