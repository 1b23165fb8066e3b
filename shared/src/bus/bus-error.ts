import { busLimits } from './bus.ts';

/**
 * Why a call of the bus failed:
 *
 * - `UNAVAILABLE`: Redis does not answer, or it returned an error that is not temporary.
 * - `INCOMPATIBLE`: the log in Redis has another version of the format, or Redis is too old.
 * - `QUEUE_FULL`: too many entries wait to be stored. Nothing of the call was accepted.
 * - `INVALID`: an entry or a status exceeds `busLimits`. Nothing of the call was accepted.
 * - `FENCED`: the publisher's term of its lease is over. The refused entries are not stored.
 * - `CLOSED`: the bus was closed before the entries were stored.
 */
export type BusErrorCode = 'UNAVAILABLE' | 'INCOMPATIBLE' | 'QUEUE_FULL' | 'INVALID' | 'FENCED' | 'CLOSED';

export class BusError extends Error {
  readonly code: BusErrorCode;
  /** How many entries of the failed call are stored nevertheless, counted from its first: earlier batches of a long call. */
  readonly stored: number;

  constructor(code: BusErrorCode, message: string, cause?: unknown, stored = 0) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BusError';
    this.code = code;
    this.stored = stored;
  }
}

/** The error of a call whose first `stored` entries were stored. */
export function partlyStored(error: BusError, stored: number): BusError {
  return stored === 0 ? error : new BusError(error.code, error.message, error, stored);
}

export function closedError(): BusError {
  return new BusError('CLOSED', 'The bus is closed.');
}

export function tooManyStatuses(): BusError {
  return new BusError('INVALID', `There are ${busLimits.maxStatuses} statuses already, the most at one time.`);
}

export function fencedError(name: string): BusError {
  return new BusError('FENCED', `The lease ${name} is no longer held.`);
}

/**
 * A command that failed. `kind`: `link` (no answer, so it is unknown whether Redis executed it), `temporary` (refused for a temporary reason)
 * or `refused` (refused, and it would be refused again). `word` is the first word of the error reply.
 */
export class RedisFault extends BusError {
  readonly kind: 'link' | 'temporary' | 'refused';
  readonly word: string;

  constructor(kind: RedisFault['kind'], word: string, cause: Error) {
    super('UNAVAILABLE', `Redis: ${cause.message}`, cause);
    this.kind = kind;
    this.word = word;
  }
}
