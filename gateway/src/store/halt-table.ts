/** The switch that stops all trading on this store. */
export interface StoredHalt {
  readonly halted: boolean;
  /** Whatever the operator said when it was last turned; null: nothing. */
  readonly reason: string | null;
  /** 0: never turned. */
  readonly changedAtMs: number;
}

export interface HaltTable {
  /** Rejects where the switch cannot be read: whoever asks counts that as halted. */
  read(): Promise<StoredHalt>;
  /** Durable when it resolves. False: it stood so already, and stays as it was. */
  set(halted: boolean, reason: string | null, atMs: number): Promise<boolean>;
}
