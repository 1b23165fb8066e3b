import { countVotes, largestGroup, majorityOf, type Verdict, type Vote } from './votes.ts';

export interface Question<T> {
  /** The endpoints that may be asked, by number. The first ones are asked first. */
  readonly endpoints: readonly number[];
  /** Asks one endpoint. Returns null if there is no usable answer. */
  readonly ask: (endpoint: number) => Promise<T | null>;
  /** Whether both answers can be true. */
  readonly agree: (one: T, other: T) => boolean;
  /** If no answer arrives for this long, one more endpoint is asked. */
  readonly hedgeAfterMs: number;
  /** How long to wait for the others after the first answer; then they are treated as silent. */
  readonly othersWithinMs: number;
  /** How long to wait in all. */
  readonly answersWithinMs?: number;
}

/**
 * Asks as many endpoints as must agree, all at once, and one more whenever an answer fails, contradicts the others, or is slow. Resolves as
 * soon as more than half of all endpoints agree, when all have answered or failed, or when the waiting time is over. Rejects only if `ask`
 * does.
 */
export async function askUntilAgreed<T>(question: Question<T>): Promise<Verdict<T>> {
  const { endpoints, agree, hedgeAfterMs, othersWithinMs, answersWithinMs = Number.POSITIVE_INFINITY } = question;
  const askedAtMs = performance.now();
  const votes: Vote<T>[] = [];
  const enough = majorityOf(endpoints.length);
  let asked = 0;
  let waiting = 0;
  return await new Promise<Verdict<T>>((resolve, reject) => {
    let hedge: NodeJS.Timeout | undefined;
    let late: NodeJS.Timeout | undefined;
    const settle = (stillMay: number): void => {
      const verdict = countVotes(votes, { endpoints: endpoints.length, waiting: stillMay }, agree);
      if (verdict.kind === 'waiting') return;
      clearTimeout(hedge);
      clearTimeout(late);
      resolve(verdict);
    };
    const askOne = async (endpoint: number): Promise<void> => {
      asked++;
      waiting++;
      const value = await question.ask(endpoint);
      waiting--;
      if (value !== null) {
        votes.push({ endpoint, value });
        late ??= setTimeout(settle, Math.min(othersWithinMs, Math.max(0, askedAtMs + answersWithinMs - performance.now())), 0);
      }
      while (asked < endpoints.length && largestGroup(votes, agree).length + waiting < enough) askNext();
      settle(waiting + endpoints.length - asked);
    };
    const askNext = (): void => {
      clearTimeout(hedge);
      const endpoint = endpoints[asked];
      if (endpoint === undefined) return;
      askOne(endpoint).catch(reject);
      if (asked >= enough && asked < endpoints.length) hedge = setTimeout(askNext, hedgeAfterMs);
    };
    if (endpoints.length === 0) settle(0);
    while (asked < Math.min(enough, endpoints.length)) askNext();
  });
}
