import type { Outcome, Refusal } from '../place/outcome.ts';

interface Answered<Json> {
  readonly json: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The HTTP answer of an outcome. */
export function answerOf<Answer, Json>(outcome: Outcome<Answer>, jsonOf: (answer: Answer) => Json): Answered<Json> | Refusal {
  if ('error' in outcome) return outcome;
  const json = jsonOf(outcome.answer);
  return outcome.isReplay ? { json, headers: { 'Idempotency-Replayed': 'true' } } : { json };
}
