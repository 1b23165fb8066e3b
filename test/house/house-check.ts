/** A rule of the house that a program can see. Gives every place where it is broken; none means that it holds. */
export interface HouseCheck {
  readonly name: string;
  run(root: string): Promise<readonly string[]>;
}
