import type { SignerFault } from './protocol.ts';

/** What the signing process cannot mend: it tells its gateway, and ends. */
export class Fault extends Error {
  readonly fault: SignerFault;

  constructor(fault: SignerFault, what: string) {
    super(what);
    this.fault = fault;
  }
}
