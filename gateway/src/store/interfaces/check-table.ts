/** Values by which machines that share a store check whether their files agree too, for example the pepper of the API keys. */
export interface CheckTable {
  get(name: string): Promise<Uint8Array | null>;
  /** Stores the value if there is none. Returns whether the stored value equals this one. */
  agree(name: string, value: Uint8Array): Promise<boolean>;
  /** False: no such value. */
  remove(name: string): Promise<boolean>;
}
