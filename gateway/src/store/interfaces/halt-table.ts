/** The halt switch: it stops all trading on this store. */
export interface StoredHalt {
  readonly halted: boolean;
  /** The operator's reason for the last change. Null: none given. */
  readonly reason: string | null;
  /** 0: never changed. */
  readonly changedAtMs: number;
}

export interface HaltTable {
  /** Rejects if the switch cannot be read; the caller must then treat trading as halted. */
  read(): Promise<StoredHalt>;
  /** Durable when it resolves. False: the switch was in this state already, and nothing changed. */
  set(halted: boolean, reason: string | null, atMs: number): Promise<boolean>;
}
