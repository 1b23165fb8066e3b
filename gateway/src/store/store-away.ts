/** The store does not answer: whoever asked may ask again. What a call was doing is done wholly or not at all, and it is not known which. */
export class StoreAwayError extends Error {
  constructor(cause: unknown) {
    super(reasonOf(cause), { cause });
  }
}

/** What is wrong, in words; a server that has several addresses fails on each of them. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
