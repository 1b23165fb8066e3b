/**
 * What a bus says when it does not take something:
 *
 * - `UNAVAILABLE`: Redis does not answer, or refused in a way that does not pass by itself;
 * - `INCOMPATIBLE`: the log in Redis was written in another version of the format, or Redis is too old;
 * - `QUEUE_FULL`: more is waiting to be stored than the bound allows; nothing of the call was taken;
 * - `INVALID`: an entry or status beyond `busLimits`; nothing of the call was taken;
 * - `CLOSED`: closed before it was stored.
 */
export type BusErrorCode = 'UNAVAILABLE' | 'INCOMPATIBLE' | 'QUEUE_FULL' | 'INVALID' | 'CLOSED';

export class BusError extends Error {
  readonly code: BusErrorCode;

  constructor(code: BusErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BusError';
    this.code = code;
  }
}
