/** The store does not answer, and the call may be repeated. The failed call took effect completely or not at all; which is unknown. */
export class StoreUnavailableError extends Error {
  constructor(cause: unknown) {
    super(reasonOf(cause), { cause });
  }
}

/** The message of an error. A connection to a server with several addresses fails with one error for each of them. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
