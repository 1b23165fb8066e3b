/** A command of the operator that read, or opened, somebody's wallets or orders. */
export interface OperatorLine {
  readonly atMs: number;
  /** Of the system. */
  readonly user: string;
  readonly command: string;
  /** Whose wallets or orders. */
  readonly subject: string;
}

/** Lines that are stored; the oldest go first. */
export const maxOperatorLines = 100_000;

export interface OperatorLogTable {
  /** Durable when it resolves. */
  add(line: OperatorLine): Promise<void>;
  /** Newest first. */
  newest(count: number): Promise<readonly OperatorLine[]>;
}
