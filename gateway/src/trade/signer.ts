/** What a signing process answers. `refused`: its policy or the wallet does not allow this message. */
export type SignOutcome =
  | { readonly ok: true; readonly signature: Uint8Array }
  | { readonly ok: false; readonly reason: 'refused'; readonly rule: string; readonly message: string }
  | { readonly ok: false; readonly reason: 'unknown_wallet' | 'halted' | 'unavailable' };

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
  close(): Promise<void>;
}
