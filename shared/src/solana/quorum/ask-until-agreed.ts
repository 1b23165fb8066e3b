import { countVotes, largestGroup, majorityOf, type Verdict, type Vote } from './votes.ts';

export interface Question<T> {
  /** The endpoints that may be asked, by number; the first ones are asked first. */
  readonly endpoints: readonly number[];
  /** Asks one endpoint; null where it gives no usable answer. */
  readonly ask: (endpoint: number) => Promise<T | null>;
  /** Whether both can be true. */
  readonly agree: (one: T, other: T) => boolean;
  /** One more endpoint is asked where nothing was answered for so long. */
  readonly hedgeAfterMs: number;
  /** After the first answer the others are waited for no longer than this; then they count as silent. */
  readonly othersWithinMs: number;
  /** Nor longer than this after the question. */
  readonly answersWithinMs?: number;
}

/**
 * Asks as many endpoints as have to agree, all at once, and one more where an answer fails, contradicts the others, or is slow. Resolves as
 * soon as more than half of all agree, when all have answered or failed, or when the time for the slow ones is over. Rejects only where `ask` does.
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
