/**
 * What a bus says when it does not take something:
 *
 * - `UNAVAILABLE`: Redis does not answer, or refused in a way that does not pass by itself;
 * - `INCOMPATIBLE`: the log in Redis was written in another version of the format, or Redis is too old;
 * - `QUEUE_FULL`: more is waiting to be stored than the bound allows; nothing of the call was taken;
 * - `INVALID`: an entry or status beyond `busLimits`; nothing of the call was taken;
 * - `FENCED`: the lease that the publisher is bound to is lost; what was refused with it is not stored;
 * - `CLOSED`: closed before it was stored.
 */
export type BusErrorCode = 'UNAVAILABLE' | 'INCOMPATIBLE' | 'QUEUE_FULL' | 'INVALID' | 'FENCED' | 'CLOSED';

export class BusError extends Error {
  readonly code: BusErrorCode;
  /** Entries of the refused call, from its first, that are stored all the same: earlier batches of a long call. */
  readonly stored: number;

  constructor(code: BusErrorCode, message: string, cause?: unknown, stored = 0) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BusError';
    this.code = code;
    this.stored = stored;
  }
}

/** The error of a call of which some was stored. */
export function partlyStored(error: BusError, stored: number): BusError {
  return stored === 0 ? error : new BusError(error.code, error.message, error, stored);
}

export function closedError(): BusError {
  return new BusError('CLOSED', 'The bus is closed.');
}

export function fencedError(name: string): BusError {
  return new BusError('FENCED', `The lease ${name} is not held any more.`);
}

/**
 * A command that Redis did not carry out. `kind`: `link` (no answer; whether it was carried out is unknown), `passing`
 * (refused, and may pass later) or `refused` (refused, and will be again). `word` is the first word of the error reply.
 */
export class RedisFault extends BusError {
  readonly kind: 'link' | 'passing' | 'refused';
  readonly word: string;

  constructor(kind: RedisFault['kind'], word: string, cause: Error) {
    super('UNAVAILABLE', `Redis: ${cause.message}`, cause);
    this.kind = kind;
    this.word = word;
  }
}
