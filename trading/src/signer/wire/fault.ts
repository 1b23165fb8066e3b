import type { SignerFault } from './protocol.ts';

/** An error from which the signing process cannot recover. It reports the error to its gateway and ends. */
export class Fault extends Error {
  readonly fault: SignerFault;

  constructor(fault: SignerFault, what: string) {
    super(what);
    this.fault = fault;
  }
}
