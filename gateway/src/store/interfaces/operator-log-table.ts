/** A command by which the operator read or opened the wallets or orders of an account. */
export interface OperatorLine {
  readonly atMs: number;
  /** The operating system's user. */
  readonly user: string;
  readonly command: string;
  /** The account whose wallets or orders were read. */
  readonly subject: string;
}

/** Maximum number of lines stored. The oldest are deleted first. */
export const maxOperatorLines = 100_000;

export interface OperatorLogTable {
  /** Durable when it resolves. */
  add(line: OperatorLine): Promise<void>;
  /** Newest first. */
  newest(count: number): Promise<readonly OperatorLine[]>;
}
