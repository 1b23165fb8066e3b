/** Why a signing process gives no signature. `refused`: its policy or the wallet does not allow this message. */
export type SignRefusal =
  | { readonly ok: false; readonly reason: 'refused'; readonly rule: string; readonly message: string }
  | { readonly ok: false; readonly reason: 'unknown_wallet' | 'halted' | 'unavailable' };

export interface Signature {
  readonly ok: true;
  readonly signature: Uint8Array;
  /**
   * Resolves once the disk has what the signer's log says of it: nothing may leave before, so that no signature is out of which a loss of
   * power left no trace. Rejects with a `StoreAwayError` where the disk fails.
   */
  readonly audited: () => Promise<void>;
}

export type SignOutcome = Signature | SignRefusal;
export type SignVerdict = { readonly ok: true } | SignRefusal;

export interface SignRequest {
  readonly orderId: string;
  readonly publicKey: string;
  /** The final message, every byte of it. */
  readonly message: Uint8Array;
}

/**
 * Signs with custodial wallets; a process of its own today, a KMS or an HSM tomorrow. It decodes the message itself and believes
 * nothing that it is told beside it. Never rejects.
 */
export interface OrderSigner {
  sign(request: SignRequest): Promise<SignOutcome>;
  /** What `sign` would say now. Nothing is signed, or counted against a limit. */
  judge(request: SignRequest): Promise<SignVerdict>;
  close(): Promise<void>;
}
