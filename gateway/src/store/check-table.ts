/** Values by which machines that share a store find out whether they also share what lies beside it, a pepper say. */
export interface CheckTable {
  get(name: string): Promise<Uint8Array | null>;
  /** Stores the value where there is none yet. Returns whether it is this value that is stored. */
  agree(name: string, value: Uint8Array): Promise<boolean>;
  /** False: there was none. */
  remove(name: string): Promise<boolean>;
}
