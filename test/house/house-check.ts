/** A house rule that a program can check. Returns every violation; an empty list means that the rule holds. */
export interface HouseCheck {
  readonly name: string;
  run(root: string): Promise<readonly string[]>;
  /** A figure to print below the result. */
  note?(root: string): Promise<string>;
}
