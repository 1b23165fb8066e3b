/** Why a signing process does not sign. `refused`: its policy or the limits of the wallet do not allow this message. */
export type SignRefusal =
  | { readonly ok: false; readonly reason: 'refused'; readonly rule: string; readonly message: string }
  | { readonly ok: false; readonly reason: 'unknown_wallet' | 'halted' | 'unavailable' };

export interface Signature {
  readonly ok: true;
  readonly signature: Uint8Array;
  /**
   * Resolves once the signer's audit line of this signature is on the disk. Nothing may be sent before, because a loss of power would
   * otherwise leave a signature without an audit line. Rejects with a `StoreUnavailableError` if the disk fails.
   */
  readonly audited: () => Promise<void>;
}

export type SignOutcome = Signature | SignRefusal;
export type SignVerdict = { readonly ok: true } | SignRefusal;

export interface SignRequest {
  readonly orderId: string;
  readonly publicKey: string;
  /** The complete message to sign. */
  readonly message: Uint8Array;
  /**
   * Bytes of the pool's account, if the instruction does not name the coins of the pool (`coinsIn` of its form). They only name the coins for which the wallet's
   * own accounts are checked, so false bytes lead to a refusal.
   */
  readonly poolAccount?: Uint8Array;
}

/**
 * Signs with custodial wallets. Today this is a process of its own; it may become a KMS or an HSM. It decides from the decoded message, and
 * believes nothing that the caller says about it. Methods never reject.
 */
export interface OrderSigner {
  sign(request: SignRequest): Promise<SignOutcome>;
  /** The decision that `sign` would make now. Signs nothing and counts nothing against a limit. */
  judge(request: SignRequest): Promise<SignVerdict>;
  close(): Promise<void>;
}
